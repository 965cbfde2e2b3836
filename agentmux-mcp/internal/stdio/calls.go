package stdio

import "github.com/modelcontextprotocol/go-sdk/jsonrpc"

// A call is a request that the engine has not answered yet.
type call struct {
	id        callID
	method    string
	cancelled bool // the client wants no answer, and may use the id again
	endless   bool // the call ends when it is cancelled, not by itself
}

// calls are the calls in flight. The engine knows a call by an id of ours that is never used twice, since it
// holds on to a cancelled call whose id the client may use again.
type calls struct {
	last     int // number of the latest call
	byEngine map[jsonrpc.ID]*call
	byClient map[string]jsonrpc.ID // by key of the client's id; without the cancelled ones
	endless  int                   // how many of byClient are
}

// owed is the number of calls whose answer the client waits for.
func (t *calls) owed() int { return len(t.byClient) - t.endless }

// has reports whether the client's id is in flight.
func (t *calls) has(id callID) bool {
	_, ok := t.byClient[id.key]
	return ok
}

// begin enters a call whose id is not in flight, and returns the engine's id.
func (t *calls) begin(id callID, method string) jsonrpc.ID {
	if t.byEngine == nil {
		t.byEngine, t.byClient = make(map[jsonrpc.ID]*call), make(map[string]jsonrpc.ID)
	}
	t.last++
	engine := engineID(float64(t.last))
	t.byEngine[engine] = &call{id: id, method: method}
	t.byClient[id.key] = engine
	return engine
}

// cancel marks the call with a client's id, and returns the engine's. It fails for an id that is not in flight,
// and for the one call that can't be cancelled.
func (t *calls) cancel(id callID) (jsonrpc.ID, bool) {
	engine, ok := t.byClient[id.key]
	if !ok || t.byEngine[engine].method == initializeMethod {
		return jsonrpc.ID{}, false
	}
	c := t.byEngine[engine]
	t.release(c)
	c.cancelled = true
	return engine, true
}

// finish removes a call that the engine has answered. It reports whether the client is to see the answer.
func (t *calls) finish(engine jsonrpc.ID) bool {
	c, ok := t.byEngine[engine]
	if !ok {
		return false
	}
	delete(t.byEngine, engine)
	if c.cancelled {
		return false
	}
	t.release(c)
	return true
}

// park marks a call as one that will not end by itself.
func (t *calls) park(engine jsonrpc.ID) {
	if c, ok := t.byEngine[engine]; ok && !c.cancelled && !c.endless {
		c.endless = true
		t.endless++
	}
}

// release gives the client's id free.
func (t *calls) release(c *call) {
	delete(t.byClient, c.id.key)
	if c.endless {
		t.endless--
	}
}

// engineID makes an id for the engine of a whole number.
func engineID(n float64) jsonrpc.ID {
	id, err := jsonrpc.MakeID(n)
	if err != nil {
		panic("stdio: " + err.Error()) // there is no number that MakeID refuses
	}
	return id
}
