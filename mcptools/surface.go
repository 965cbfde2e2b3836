package mcptools

// A Surface is the tools of one generation of agentmux, and how their answers, errors and inscriptions differ from
// those of another. Which operations its tools ask for, the Relay of a [Standing] has to know.
type Surface struct {
	tools      func(*Tools) []tool // in the order in which they are listed
	advice     string              // on the tools, within the instructions
	shapeHints []string            // of the catalogue that help shows
	scope      string              // key of the home bundle in inscriptions
	relayCodes bool                // every code of the relay's is passed on, whoever is at fault
}

// Surface08 is the surface of agentmux 0.8, which later relays serve too: list, help, send, look, raww, choose,
// updown, new, change.
var Surface08 = &Surface{
	tools: func(t *Tools) []tool {
		return []tool{
			t.list(), t.help(), send(), look(), raww(), choose(), updown(), t.new(), change(),
		}
	},
	advice: `Work in this order: list shows who is there and what they are called; look shows what somebody is doing, without disturbing; send delivers a message. ` +
		`Name others as session@bundle.

raww types into somebody's terminal as if at their keyboard, choose decides for them, updown starts and stops everybody: use these only when you mean it. ` +
		`new and change deal with keys: never repeat one.`,
	shapeHints: []string{
		"A session is named session@bundle; send also takes a bare session of your own bundle.",
		`A meta-tool takes {"command":…,"args":{…}}; a plain tool takes its arguments directly.`,
		"Optional arguments may be left out or null. Unknown arguments are refused by name.",
		"An error's data holds code, message and details; the message says what to do next.",
	},
	scope: "namespace",
}

// Surface05 is the surface of agentmux 0.5: list, help, send, look, raww, grant.
var Surface05 = &Surface{
	tools: func(t *Tools) []tool {
		help := t.help()
		help.open = true
		return []tool{t.list05(), help, send05(), look05(), raww05(), grant05()}
	},
	advice: `Work in this order: list shows who is there and what they are called; look shows what somebody is doing, without disturbing; send delivers a message. ` +
		`Name others by their session ids.

raww types into somebody's terminal as if at their keyboard, and grant decides what an agent may do: use these only when you mean it.`,
	shapeHints: []string{
		"A session is named by its id; session@bundle does as well, for your own bundle.",
		`A meta-tool takes {"command":…,"args":{…}}; a plain tool takes its arguments directly.`,
		"Optional arguments may be left out or null. Unknown arguments are passed over, except by raww and grant, which refuse them by name.",
		"An error's data holds code, message and details; the message says what to do next.",
	},
	scope:      "bundle_name",
	relayCodes: true,
}
