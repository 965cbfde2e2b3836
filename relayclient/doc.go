// Package relayclient is a client of an agentmux relay: one connection for one principal, shared by any
// number of concurrent calls.
//
// A [Client] dials at the first call and keeps the connection. One goroutine reads it all the time, so
// that the relay never blocks on us and the end of the connection is known at once; one goroutine
// writes. Answers find their call by id. Deadlines belong to calls, never to the connection: a call that
// times out leaves it as it is.
//
// A failure is one of two types. [*wire.Error]: the relay answered, and the answer is no. [*Error]: no
// answer came; [Error.Kind] says what that means and [Error.Written] whether the request may have taken
// effect all the same. Two more wrap a wire.Error that was no answer: an [*UnsupportedError] is what the relay
// said of a request that it could not read, a [*FarewellError] what it said before it hung up. A request is
// never written twice. A caller's own cancellation comes back as the cause of its context.
//
// A [Dialect] is how a generation of relays is spoken to. The one that is used unless another is given is that of
// relay 0.8 and later; package relay05 has the other.
//
// The protocol is described in PROTOCOL.md of package wire.
package relayclient
