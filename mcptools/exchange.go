package mcptools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// An exchange describes a command that is one operation at the relay: P are its parameters, R is the
// response that answers it.
type exchange[P any, R wire.Response] struct {
	prefix string // of its inscriptions
	// check looks for faults that the types of the parameters leave. Nil: there are none.
	check func(P) error
	// request is what the log shows of the request.
	request func(Standing, P) map[string]any
	// operation makes the request.
	operation func(Standing, P) (wire.Operation, error)
	// nulls are the keys that the answer shows as null where the relay left them out.
	nulls []string
	// review looks for what must not be passed on in the answer made of a response, and may change the
	// answer. Nil: all is passed on.
	review func(p P, response wire.Raw, a answer) error
	// success is what the log shows of the answer.
	success func(Standing, R) map[string]any
}

// command makes the exchange a command. A plain tool's has no name and no description of its own.
func (x exchange[P, R]) command(name, description string, example map[string]any) command {
	return bound(name, description, example, x.check, func(p P) work {
		return work{
			prefix:  x.prefix,
			request: func(s Standing) map[string]any { return x.request(s, p) },
			run: func(ctx context.Context, s Standing) (answer, map[string]any, error) {
				return x.run(ctx, s, p)
			},
		}
	})
}

// bound makes a command of parameters P, their check, and the work that they describe.
func bound[P any](name, description string, example map[string]any, check func(P) error, do func(P) work) command {
	ps := paramsOf[P]()
	return command{
		name: name, description: description, example: example, params: ps,
		bind: func(m map[string]json.RawMessage, prefix string) (work, error) {
			var p P
			if err := ps.decode(m, prefix, &p); err != nil {
				return work{}, err
			}
			if check != nil {
				if err := check(p); err != nil {
					return work{}, err
				}
			}
			return do(p), nil
		},
	}
}

func (x exchange[P, R]) run(ctx context.Context, s Standing, p P) (answer, map[string]any, error) {
	op, err := x.operation(s, p)
	if err != nil {
		return nil, nil, err
	}
	reply, response, err := ask[R](ctx, s.Relay, s.Bundle, op)
	if err != nil {
		return nil, nil, err
	}
	// The relay's own object, so that keys of newer relays are passed on.
	members, err := reply.Raw.Members()
	if err != nil {
		return nil, nil, err
	}
	a := answer(members)
	delete(a, "kind")
	for _, key := range x.nulls {
		if _, ok := a[key]; !ok {
			a[key] = json.RawMessage("null")
		}
	}
	if x.review != nil {
		if err := x.review(p, reply.Raw, a); err != nil {
			return nil, nil, err
		}
	}
	return a, x.success(s, response), nil
}

// ask performs op and makes sure that R answers it.
func ask[R wire.Response](ctx context.Context, relay Relay, namespace string, op wire.Operation) (*relayclient.Reply, R, error) {
	var wanted R
	reply, err := relay.Do(ctx, namespace, op)
	if err != nil {
		return nil, wanted, err
	}
	response, ok := reply.Response.(R)
	if !ok {
		return nil, wanted, &unexpectedResponse{
			message: fmt.Sprintf("the relay answered %s with a response of kind %q: it may be of a version that this server does not know",
				op.OperationName(), reply.Response.ResponseKind()),
			raw: reply.Raw,
		}
	}
	return reply, response, nil
}

// An unexpectedResponse is an answer that can't be given to the client.
type unexpectedResponse struct {
	message string
	raw     wire.Raw
}

func (e *unexpectedResponse) Error() string { return e.message }

// masked returns the response without its secrets.
func (e *unexpectedResponse) masked() json.RawMessage { return maskSecrets(json.RawMessage(e.raw)) }
