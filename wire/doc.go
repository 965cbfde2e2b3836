// Package wire is the protocol between an agentmux relay and its clients: frames, operations,
// responses, errors and events, in both directions. PROTOCOL.md beside this file describes the
// protocol itself; doc comments name the section that they encode.
//
// The package knows lines, not sockets. [Encode] makes one line of a [Frame], [Decode] makes a Frame
// of one line, and [LineReader] cuts a stream into lines of bounded length.
//
// Decoding is lenient, since relays and clients are upgraded at different times: keys that a type
// does not name are kept in its [Extra] and written again, enumerations are plain strings, and kinds
// that this package does not know arrive as [UnknownFrame], [UnknownOperation] or [UnknownResponse].
// Only what a frame cannot do without is required; [DecodeError] names the first thing that is missing.
//
// The types here are those of relay 0.8 and later. A [Vocabulary] is what one generation of relays has; that of relay
// 0.5 is in package wire05.
//
// Secrets have the type [Secret], which every way of printing masks. Encode alone writes their text. What is kept as
// it came, [Raw] and [Extra], may hold one too, and prints without its values.
// For that reason, and for Extra, frames are for Encode and Decode, not for encoding/json.
package wire
