// Package wire05 is the vocabulary of relay 0.5: the frames, operations and responses that differ from those of
// the relays after it, which package wire describes. What is the same, and the ways of reading and writing a
// line, are package wire's. PROTOCOL.md of that package describes the differences ("Relay 0.5").
//
// [Decode] reads a line of relay 0.5 or of its client; [wire.Encode] writes one.
package wire05
