package relayclient_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// wrongValues are put in the place of each key's value; "" leaves the key out.
var wrongValues = []string{``, `null`, `{}`, `[]`, `[null]`, `[{}]`, `1`, `1.5`, `true`, `"text"`, `"lines"`, nested(500)}

// A node is a JSON object, an array, or a value that has no parts. Of the arrays of a sample, each has one element.
type node struct {
	members []memberNode // of an object
	element *node        // of an array
	value   string       // of anything else
}

type memberNode struct {
	key   string
	value *node
}

// sample is a JSON value of the Go type that has all its keys.
func sample(t *testing.T, typ reflect.Type) *node {
	t.Helper()
	switch typ {
	case reflect.TypeFor[json.RawMessage]():
		return &node{value: `{"any":1}`}
	case reflect.TypeFor[wire.Secret]():
		return &node{value: `"made-up-key"`}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return sample(t, typ.Elem())
	case reflect.Slice:
		return &node{element: sample(t, typ.Elem())}
	case reflect.String:
		return &node{value: `"x"`}
	case reflect.Bool:
		return &node{value: `true`}
	case reflect.Int64:
		return &node{value: `1`}
	case reflect.Struct:
		var n node
		for field := range typ.Fields() {
			if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "-" {
				n.members = append(n.members, memberNode{key, sample(t, field.Type)})
			}
		}
		return &n
	default:
		t.Fatalf("no sample of %v", typ)
		return nil
	}
}

// json is the node with value in the place of the node at, if that is within.
func (n *node) json(at *node, value string) string {
	switch {
	case n == at:
		return value
	case n.element != nil:
		return "[" + n.element.json(at, value) + "]"
	case n.value != "":
		return n.value
	}
	var members []string
	for _, m := range n.members {
		if text := m.value.json(at, value); text != "" {
			members = append(members, strconv.Quote(m.key)+":"+text)
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// walk calls visit for each member and element within, however deep.
func (n *node) walk(path string, visit func(path string, n *node)) {
	for _, m := range n.members {
		visit(path+"."+m.key, m.value)
		m.value.walk(path+"."+m.key, visit)
	}
	if n.element != nil {
		visit(path+"[0]", n.element)
		n.element.walk(path+"[0]", visit)
	}
}

// responseKinds are all responses, as they are with all their keys.
func responseKinds(t *testing.T) map[string]*node {
	t.Helper()
	kinds := make(map[string]*node)
	for _, response := range []wire.Response{
		&wire.ListResponse{}, &wire.SendResponse{}, &wire.LookResponse{}, &wire.RawwResponse{},
		&wire.ChoicesListResponse{}, &wire.ChoicesPickResponse{}, &wire.BundleTransitionResponse{},
		&wire.NewPeerResponse{}, &wire.ChangePSKResponse{}, &wire.IdentityIntrospectResponse{}, &wire.ErrorResponse{},
	} {
		kind := response.ResponseKind()
		formats := []string{""}
		if kind == "look" {
			formats = []string{wire.SnapshotLines, wire.SnapshotStructuredEntriesV1}
		}
		for _, format := range formats {
			n := sample(t, reflect.TypeOf(response).Elem())
			n.members = append([]memberNode{{"kind", &node{value: strconv.Quote(kind)}}}, n.members...)
			for _, m := range n.members {
				if m.key == "snapshot_format" {
					m.value.value = strconv.Quote(format)
				}
			}
			kinds[strings.TrimSpace(kind+" "+format)] = n
		}
	}
	return kinds
}

// Each key of each response gets each wrong value. What package wire takes arrives as it came; what it refuses fails the
// call with its words and costs the connection. Either way the next call works, and nothing is asked twice.
func TestWrongValuesOfEveryKey(t *testing.T) {
	for kind, response := range responseKinds(t) {
		t.Run(kind, func(t *testing.T) {
			needed := 0
			response.walk("response", func(path string, at *node) {
				needed += testWrongValues(t, path, response, at)
			})
			if needed == 0 {
				t.Error("the response needs none of its keys")
			}
		})
	}
}

// testWrongValues returns how many wrong values, in the place of the node at, are fatal.
func testWrongValues(t *testing.T, path string, response, at *node) (fatal int) {
	t.Helper()
	type outcome struct {
		response string
		err      error // of decoding
	}
	script := hello + ack
	var outcomes []outcome
	for i, value := range wrongValues {
		o := outcome{response: response.json(at, value)}
		_, o.err = wire.Decode([]byte(`{"frame":"response","response":` + o.response + `}`))
		outcomes = append(outcomes, o)
		script += fmt.Sprintf(`> {"frame":"request","request_id":"$%d","request":{"operation":"send","...":""}}`+"\n", i)
		script += "<< " + strconv.Quote(fmt.Sprintf(`{"frame":"response","request_id":"$%d","response":%s}`+"\n", i, o.response)) + "\n"
		if o.err != nil {
			fatal++
			script += "silence\nconnection\n" + hello + ack
		}
		script += strings.ReplaceAll(next, "$next", fmt.Sprintf("$next%d", i))
	}
	play(t, script+"silence", func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay) {
		for i, o := range outcomes {
			reply, err := c.Do(t.Context(), "", &wire.Send{RequesterSession: "alpha"})
			value := wrongValues[i][:min(len(wrongValues[i]), 20)]
			switch refusal, refused := err.(*wire.Error); {
			case o.err != nil:
				if failure(err) != broken || !strings.Contains(err.Error(), o.err.Error()) {
					t.Errorf("%s = %s: got %v, want %v", path, value, err, o.err)
				}
			case refused:
				if refusal.Code != "x" && refusal.Code != "text" && refusal.Code != "lines" {
					t.Errorf("%s = %s: refused with %+v", path, value, refusal)
				}
			case err != nil:
				t.Errorf("%s = %s: failed: %v", path, value, err)
			case string(reply.Raw) != o.response:
				t.Errorf("%s = %s: got %s, want %s", path, value, string(reply.Raw), o.response)
			}
			if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
				t.Errorf("%s = %s: the next call failed: %v", path, value, err)
			}
		}
		if n := submissions(t, relay); n["send"] != len(outcomes) {
			t.Errorf("%s: %d requests for %d calls", path, n["send"], len(outcomes))
		}
	})
	return fatal
}
