package stdio

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// nameSubscription returns the parameters of a notification, or a result, with the client's id in the place of
// the engine's, and the engine's: a subscription is named by the id of the call that opened it. An object that
// belongs to no subscription in flight is returned as it is, with an id that is not valid.
func (c *conn) nameSubscription(object json.RawMessage) (json.RawMessage, jsonrpc.ID) {
	all := members(object)
	meta := members(all["_meta"])
	var number *float64
	if json.Unmarshal(meta[mcp.MetaKeySubscriptionID], &number) != nil || number == nil {
		return object, jsonrpc.ID{}
	}
	engine := engineID(*number)
	call, ok := c.inFlight(engine)
	if !ok {
		return object, jsonrpc.ID{}
	}
	meta[mcp.MetaKeySubscriptionID] = call.id.raw
	var err error
	if all["_meta"], err = encode(meta); err != nil {
		return object, jsonrpc.ID{}
	}
	named, err := encode(all)
	if err != nil {
		return object, jsonrpc.ID{}
	}
	return named, engine
}

// parks reports whether a notification grants a subscription, whose call then lasts until it is cancelled. One
// that is granted nothing ends at once.
func parks(n *jsonrpc.Request) bool {
	return n.Method == acknowledgeMethod && len(members(members(n.Params)["notifications"])) > 0
}
