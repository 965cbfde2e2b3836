// Package bundles reads the configuration of bundles and the relay's record of members that did not
// start. All of it belongs to the relay, which judges it; this package knows only what the tools show, and
// what tells an operator which file, key and value to mend.
//
// A configuration root has a file bundles/<bundle>.toml for each bundle and a file coders.toml, which says
// how the coders that sessions name are run. See the agentmux documentation for all keys.
package bundles
