// Package configfile reads files that people write and other programs own: it opens nothing that could
// block, reads no more than [MaxSize], and turns every fault into a refusal that names the file, the
// place in it and the remedy.
package configfile
