// Package relaytest is a relay that plays a script, for tests of clients. It holds the client to the lines
// that the script says it sends, says what the script says in return, and commits the faults that a real
// relay can't be asked for: silence, torn frames, garbage, a hang-up at the wrong moment.
//
//	relay := relaytest.Start(t, `
//		> {"frame":"hello","principal_id":"alpha@demo","...":""}
//		< {"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}
//		> {"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"choices_list"}}
//		< {"frame":"response","request_id":"$id","response":{"kind":"choices_list","schema_version":"1","pending_requests":[]}}
//		silence
//	`)
//	client := relayclient.New(relayclient.Config{Socket: relay.Socket(), Principal: "alpha@demo"})
//
// [Start] listens on a Unix socket. [InMemory] has no socket: its [Relay.Dial] is a Dial for a client's
// configuration, and works in the bubbles of testing/synctest, where pauses and timeouts cost no time. Both
// report to the test; [Parse] with [New] or [Listen] is for those who want the error instead.
//
// # Scripts
//
// A script is a text, read line by line. Indentation, blank lines, and lines that begin with # mean nothing.
// The first word of a line says what it is:
//
//	> JSON           the client sends this line
//	{                the client sends the > lines from here
//	}                … to here, in any order
//
//	< JSON           the relay says this line
//	<* 500 JSON      … 500 times
//	<< "text"        the relay says exactly these bytes, without a line end
//	<<* 500 "text"   … 500 times
//
//	pause 150ms      the relay waits
//	silence          the relay says nothing until the client hangs up; ... for short
//	stall 150ms      the relay waits and reads nothing, so that the client's writes stop
//	stall            … until the relay is closed
//	half-close       the relay ends its side of the connection and still reads the other
//	hangup           the relay hangs up; the end of a connection's lines does so too
//
//	connection       what follows is for the next connection
//	serve            what follows is for the next connection and for all after it
//
// Nothing can follow silence, hangup, or a stall without end on the same connection, and nothing can be said
// after half-close.
//
// # What the client sends
//
// A > line is compared as JSON: the order of keys, spaces and escapes don't matter, numbers match digit by
// digit (1 is not 1.0), and an object has exactly the keys that are listed. Some strings are patterns:
//
//	"$name"          any string at first sight, the same one wherever the name comes again
//	"$_"             any string
//	"..."            as a value: anything; as a key, whatever its value: any other keys
//	"$$name"         the string $name itself
//
// A name is letters, digits and underscores, and is known on one connection only. Other strings with a $ in
// them stand for themselves.
//
// Lines are asked for one after the other; what arrives early waits. Between { and } each line that arrives
// goes to the first > line that it fits. A blank line is a line too, and fits nothing.
//
// # What the relay says
//
// A < line goes out as it is written: key order and spaces are kept. In it, "$name" is the string that a >
// line above bound, and "$$name" the string $name; "..." is only three dots. A < line has to be JSON; what
// isn't is for <<, whose text is quoted as in Go, in double quotes or backquotes. There too, "$name" with its
// quotes is replaced. So a frame in two pieces is
//
//	<< `{"frame":"response","request_id":"$id",`
//	pause 1s
//	<< `"response":{"kind":"up"}}`
//	<< "\n"
//
// The relay reads all the time, whatever it is saying; only stall stops that.
//
// # Connections
//
// The lines before the first connection or serve are for the first connection. A connection without lines is
// accepted and hung up on. Connections that overlap are played side by side. An empty script is for a client
// that must not connect at all.
//
// # Failures
//
// These fail the script, the first of them with an [*Error] that names the script's line:
//
//   - a line that isn't the one asked for
//   - a line that nothing asks for, if it arrives during silence or before the relay hangs up
//   - a connection that the script doesn't have
//   - a client that hangs up, or a relay that is closed, before a > line was sent or during a pause
//   - a connection that was never made
//   - a client that does not read what the relay says, once the relay is closed
//
// A client may hang up while the relay speaks: on a socket, what is said is not always heard. To make sure
// that nothing was sent after the last answer, end with silence: an end of lines hangs up at once, and what
// comes later is not seen. Close the client before the relay.
//
// # Recorded conversations
//
// A conversation recorded from a real relay uses > and < alone, with ids and secrets replaced by "$name". It
// can be played as it is, and its lines are frames for tests of package wire.
package relaytest
