package mcptools

import (
	"strings"
	"testing"
)

// What is wrong with the form of arguments is told by name, unknown keys first.
func TestArguments(t *testing.T) {
	const invalid = "validation_invalid_params"
	field := func(name, expected, got string) string {
		return `{"field":"` + name + `","expected":"` + expected + `","got":"` + got + `"}`
	}
	const lines, targets = "an integer from 1 to 1000", "an array of strings"
	testRefusals(t, Surface08, []refusalTest{
		// Keys that do not exist.
		{"one unknown key", "look", `{"target_session":"a@b","depth":null}`, invalid, `{"fields":["depth"]}`},
		{"unknown keys, sorted", "send", `{"zeta":1,"Message":"hi","alpha":{},"message":7}`, invalid, `{"fields":["Message","alpha","zeta"]}`},
		{"unknown keys of both levels", "list", `{"command":"principals","foo":1,"args":{"namespaces":"x","b":2}}`, invalid, `{"fields":["args.b","args.namespaces","foo"]}`},
		{"a key of another command", "list", `{"command":"decisions","args":{"namespace":"demo"}}`, invalid, `{"fields":["args.namespace"]}`},
		{"before a missing command", "list", `{"args":{"x":1}}`, invalid, `{"fields":["args.x"]}`},
		{"before another command", "list", `{"command":"x","y":1}`, invalid, `{"fields":["y"]}`},
		{"before args that are no object", "list", `{"command":"principals","y":1,"args":7}`, invalid, `{"fields":["y"]}`},
		{"before a missing key", "look", `{"x":1}`, invalid, `{"fields":["x"]}`},
		{"of help", "help", `{"tool":"send"}`, invalid, `{"fields":["tool"]}`},
		{"of a plain tool, args", "look", `{"target_session":"a@b","args":{}}`, invalid, `{"fields":["args"]}`},

		// Arguments that are no object.
		{"an array", "look", `[]`, invalid, field("arguments", "an object", "array")},
		{"JSON text", "send", `"{\"message\":\"hi\",\"targets\":[\"bravo\"]}"`, invalid, field("arguments", "an object", "string")},
		{"a number", "help", `7`, invalid, field("arguments", "an object", "number")},
		{"a boolean", "list", `true`, invalid, field("arguments", "an object", "boolean")},

		// Missing keys, for which null is no value.
		{"nothing at all", "look", ``, invalid, field("target_session", "a string", "nothing")},
		{"null for all", "look", `null`, invalid, field("target_session", "a string", "nothing")},
		{"null for a required key", "send", `{"message":null,"targets":["bravo"]}`, invalid, field("message", "a string", "null")},
		{"no command", "updown", `{}`, invalid, field("command", "one of the strings up, down", "nothing")},
		{"null for the command", "list", `{"command":null}`, invalid, field("command", "one of the strings principals, decisions", "null")},
		{"no outcome", "choose", `{"choice_request_id":"c"}`, invalid, field("outcome", "one of the strings selected, cancelled", "nothing")},

		// Keys of the wrong type. Strings are never taken for numbers, booleans or arrays.
		{"a number for a string", "look", `{"target_session":7}`, invalid, field("target_session", "a string", "number")},
		{"a number for the command", "list", `{"command":7}`, invalid, field("command", "one of the strings principals, decisions", "number")},
		{"a string for an integer", "look", `{"target_session":"a@b","lines":"5"}`, invalid, field("lines", lines, "string")},
		{"a boolean for an integer", "look", `{"target_session":"a@b","lines":true}`, invalid, field("lines", lines, "boolean")},
		{"a fraction for an integer", "look", `{"target_session":"a@b","lines":5.5}`, invalid, field("lines", lines, "number")},
		{"a negative exponent for an integer", "look", `{"target_session":"a@b","lines":5e-1}`, invalid, field("lines", lines, "number")},
		{"a fraction for an offset", "look", `{"target_session":"a@b","offset":0.5}`, invalid, field("offset", "an integer of 0 or more", "number")},
		{"a string for a boolean", "send", `{"message":"hi","broadcast":"false"}`, invalid, field("broadcast", "a boolean", "string")},
		{"a number for a boolean", "raww", `{"target_session":"a@b","text":"","no_enter":0}`, invalid, field("no_enter", "a boolean", "number")},
		{"a string for an array", "send", `{"message":"hi","targets":"bravo"}`, invalid, field("targets", targets, "string")},
		{"JSON text for an array", "send", `{"message":"hi","targets":"[\"bravo\"]"}`, invalid, field("targets", targets, "string")},
		{"an object for an array", "send", `{"message":"hi","targets":{}}`, invalid, field("targets", targets, "object")},
		{"a number in an array", "send", `{"message":"hi","targets":["bravo",7]}`, invalid, field("targets[1]", "a string", "number")},
		{"null in an array", "send", `{"message":"hi","targets":[null]}`, invalid, field("targets[0]", "a string", "null")},
		{"an array for a string", "raww", `{"target_session":"a@b","text":["x"]}`, invalid, field("text", "a string", "array")},
		{"an object for an optional string", "send", `{"message":"hi","targets":["bravo"],"request_id":{}}`, invalid, field("request_id", "a string", "object")},
		{"a number within args", "new", `{"command":"peer","args":{"principal_id":"bob@demo","scope":1}}`, invalid, field("args.scope", "a string", "number")},
		{"a number for the query", "help", `{"query":7}`, invalid, field("query", "a string", "number")},

		// Args that are no object.
		{"a string for args", "list", `{"command":"principals","args":""}`, invalid, argsFault("string", "list.principals")},
		{"JSON text for args", "list", `{"command":"decisions","args":"{}"}`, invalid, argsFault("string", "list.decisions")},
		{"an array for args", "new", `{"command":"peer","args":[]}`, invalid, argsFault("array", "new.peer")},
		{"a number for args", "change", `{"command":"psk","args":7}`, invalid, argsFault("number", "change.psk")},
		{"false for args", "updown", `{"command":" up ","args":false}`, invalid, argsFault("boolean", "updown.up")},
		{"another command before args", "list", `{"command":"x","args":7}`, invalid, `{"command":"x"}`},
	})
}

func argsFault(got, query string) string {
	return `{"reason":"args is of type ` + got + `, not an object","hint":"call help with {\"query\":\"` + query + `\"} to see the schema of args"}`
}

// The tools of 0.5 look for the same faults, but of what is no argument only raww and grant make one, within args.
func TestArguments05(t *testing.T) {
	const invalid = "validation_invalid_params"
	field := func(name, expected, got string) string {
		return `{"field":"` + name + `","expected":"` + expected + `","got":"` + got + `"}`
	}
	const timeout = "an integer of 1 or more"
	testRefusals(t, Surface05, []refusalTest{
		{"unknown keys of raww", "raww", `{"text":7,"namespace":null,"bundle_name":"demo"}`, invalid, `{"fields":["bundle_name","namespace"]}`},
		{"unknown keys of grant", "grant", `{"command":"resolve","top":1,"args":{"zeta":1,"alpha":2}}`, invalid, `{"fields":["alpha","zeta"]}`},
		{"a key of grant's other command", "grant", `{"command":"list","args":{"outcome":"selected"}}`, invalid, `{"fields":["outcome"]}`},

		{"an array", "send", `[]`, invalid, field("arguments", "an object", "array")},
		{"nothing at all", "raww", ``, invalid, field("target_session", "a string", "nothing")},
		{"null for a required key", "send", `{"message":null,"Message":"hi"}`, invalid, field("message", "a string", "null")},
		{"no command", "list", `{"args":{}}`, invalid, field("command", "one of the strings sessions", "nothing")},
		{"null for the command", "grant", `{"command":null}`, invalid, field("command", "one of the strings list, resolve", "null")},
		{"a blank command", "grant", `{"command":" "}`, invalid, `{"command":""}`},
		{"another command before args", "grant", `{"command":" pick ","args":7}`, invalid, `{"command":"pick"}`},

		{"a string for a boolean", "list", `{"command":"sessions","args":{"all":"true"}}`, invalid, field("all", "a boolean", "string")},
		{"a number for a string", "list", `{"command":"sessions","args":{"bundle_name":7}}`, invalid, field("bundle_name", "a string", "number")},
		{"a string for an array", "send", `{"message":"hi","targets":"bravo"}`, invalid, field("targets", "an array of strings", "string")},
		{"null in an array", "send", `{"message":"hi","targets":["bravo",null]}`, invalid, field("targets[1]", "a string", "null")},
		{"a string for an integer", "send", `{"message":"hi","targets":["bravo"],"quiescence_timeout_ms":"5"}`, invalid, field("quiescence_timeout_ms", timeout, "string")},
		{"a fraction for an integer", "send", `{"message":"hi","targets":["bravo"],"acp_turn_timeout_ms":0.5}`, invalid, field("acp_turn_timeout_ms", timeout, "number")},
		{"a number for a bundle", "look", `{"target_session":"a","bundle_name":7}`, invalid, field("bundle_name", "a string", "number")},
		{"a number for an option", "grant", `{"command":"resolve","args":{"option_id":7}}`, invalid, field("option_id", "a string", "number")},

		{"JSON text for args", "list", `{"command":"sessions","args":"{}"}`, invalid, argsFault("string", "list.sessions")},
		{"an array for args", "grant", `{"command":"list","args":[]}`, invalid, argsFault("array", "grant.list")},
		{"false for args", "grant", `{"command":" resolve","args":false}`, invalid, argsFault("boolean", "grant.resolve")},
	})
}

// Optional keys may be null, args may be absent, null or empty, and integers may be written as fractions.
func TestArgumentsThatCountAsTheSame(t *testing.T) {
	const lookFrom = `{"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":`
	const lookFrom05 = `{"operation":"look","requester_session":"alpha","target_session":"bravo","lines":`
	tests := []struct {
		name      string
		surface   *Surface
		tool      string
		request   string
		response  string
		arguments []string
	}{
		{
			"optional keys", Surface08, "send",
			`{"operation":"send","request_id":null,"requester_session":"alpha","message":"[1]","targets":["bravo@demo"],"broadcast":false}`,
			`{"kind":"send","results":[]}`,
			[]string{
				`{"message":"[1]","targets":["bravo"]}`,
				`{"message":"[1]","targets":["bravo"],"broadcast":null,"request_id":null}`,
				` { "broadcast" : false , "targets" : [ "bravo@demo" ] , "message" : "[1]" } `,
			},
		},
		{
			"args", Surface08, "list",
			`{"operation":"choices_list"}`,
			`{"kind":"choices_list","pending_requests":[]}`,
			[]string{`{"command":"decisions"}`, `{"command":"decisions","args":null}`, `{"command":"decisions","args":{}}`, `{"command":"decisions","args": { } }`},
		},
		{
			"args within", Surface08, "new",
			`{"operation":"new_peer","principal_id":"bob@demo","scope":null,"output_path":null}`,
			`{"kind":"new_peer","principal_id":"bob@demo"}`,
			[]string{
				`{"command":"peer","args":{"principal_id":"bob@demo"}}`,
				`{"command":"peer","args":{"principal_id":"\tbob@demo ","scope":null,"output_path":null}}`,
			},
		},
		{
			"integers", Surface08, "look",
			`{"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":100,"offset":5}`,
			lookResponse,
			[]string{
				`{"target_session":"bravo@demo","lines":100,"offset":5}`,
				`{"target_session":"bravo@demo","lines":1e2,"offset":5.0}`,
				`{"target_session":"bravo@demo","lines":100.00,"offset":0.5e1}`,
				`{"target_session":"bravo@demo","lines":1E+2,"offset":50E-1}`,
			},
		},
		{
			"an integer that float64 can't hold", Surface08, "look", lookFrom + `9007199254740993}`, lookResponse,
			[]string{`{"target_session":"bravo@demo","offset":9007199254740993}`},
		},
		{
			"integers that int64 can't hold", Surface08, "look", lookFrom + `9223372036854775807}`, lookResponse,
			[]string{`{"target_session":"bravo@demo","offset":99999999999999999999}`, `{"target_session":"bravo@demo","offset":1e400}`},
		},

		// What is no argument is passed over by the tools of 0.5, even where it would say who acts.
		{
			"sessions of 0.5", Surface05, "list", `{"operation":"list","sender_session":"alpha"}`, gen05.listing("demo"),
			[]string{
				`{"command":"sessions"}`, `{"command":" sessions","args":null}`, `{"command":"sessions","args":{}}`,
				`{"command":"sessions","args":{"all":null,"bundle_name":null}}`, `{"command":"sessions","args":{"all":false}}`,
				`{"command":"sessions","args":{"namespace":"*","ALL":true,"sender_session":"eve"},"all":true,"bundle_name":"Other"}`,
			},
		},
		{
			"a message of 0.5", Surface05, "send",
			`{"operation":"chat","request_id":null,"sender_session":"alpha","message":"[1]","targets":["bravo"],"broadcast":false,"quiet_window_ms":null,"quiescence_timeout_ms":15000,"acp_turn_timeout_ms":null}`,
			`{"kind":"chat","results":[]}`,
			[]string{
				`{"message":"[1]","targets":["bravo"],"quiescence_timeout_ms":15000}`,
				`{"message":"[1]","targets":["\tbravo "],"quiescence_timeout_ms":1.5e4,"acp_turn_timeout_ms":null,"broadcast":null,"request_id":null}`,
				`{"message":"[1]","targets":["bravo"],"quiescence_timeout_ms":15000.0,"quiet_window_ms":5,"sender_session":"eve","Message":7}`,
			},
		},
		{
			"a broadcast of 0.5", Surface05, "send",
			`{"operation":"chat","request_id":null,"sender_session":"alpha","message":"hi","targets":[],"broadcast":true,"quiet_window_ms":null,"quiescence_timeout_ms":null,"acp_turn_timeout_ms":null}`,
			`{"kind":"chat","results":[]}`,
			[]string{`{"message":"hi","broadcast":true}`, `{"message":"hi","broadcast":true,"targets":null}`, `{"message":"hi","broadcast":true,"targets":[]}`},
		},
		{
			"a window of 0.5", Surface05, "look", lookFrom05 + `100,"bundle_name":null}`, lookResponse,
			[]string{
				`{"target_session":"bravo","lines":100}`,
				`{"target_session":" bravo ","lines":1e2,"bundle_name":null}`,
				`{"target_session":"bravo","lines":100.0,"offset":"x","requester_session":"eve"}`,
			},
		},
		{
			"no window of 0.5", Surface05, "look", lookFrom05 + `null,"bundle_name":null}`, lookResponse,
			[]string{`{"target_session":"bravo"}`, `{"target_session":"bravo","lines":null}`},
		},
		{
			"text of 0.5", Surface05, "raww",
			`{"operation":"raww","request_id":null,"sender_session":"alpha","target_session":"bravo","text":" y","no_enter":false,"bundle_name":null}`,
			`{"kind":"raww","status":"accepted"}`,
			[]string{
				`{"target_session":"bravo","text":" y"}`,
				`{"target_session":"\nbravo ","text":" y","no_enter":null,"request_id":null}`,
			},
		},
		{
			"permissions of 0.5", Surface05, "grant", `{"operation":"permission_list","bundle_name":null}`, `{"kind":"permission_list","pending_requests":[]}`,
			[]string{
				`{"command":"list"}`, `{"command":"list","args":null}`, `{"command":"\tlist ","args":{}}`, `{"command":"list","args":{"bundle_name":null}}`,
				`{"command":"list","bundle_name":" ","decided_by":"eve"}`,
			},
		},
		{
			"a permission of 0.5", Surface05, "grant",
			`{"operation":"permission_resolve","permission_request_id":"p","outcome":"cancelled","option_id":null,"bundle_name":null,"ui_session_id":null}`,
			`{"kind":"permission_decision","status":"resolved"}`,
			[]string{
				`{"command":"resolve","args":{"permission_request_id":"p","outcome":"cancelled"}}`,
				`{"command":"resolve","args":{"permission_request_id":" p\n","outcome":" cancelled ","option_id":null,"bundle_name":null},"ui_session_id":"eve"}`,
			},
		},
	}
	for _, test := range tests {
		for _, arguments := range test.arguments {
			t.Run(test.name+" "+arguments, func(t *testing.T) {
				s := newSurface(t, answers(test.response), of(test.surface))
				if _, refusal := s.do(t, test.tool, arguments); refusal != nil {
					t.Fatal(refusal)
				}
				sameLines(t, "requests", s.relay.requests(), []string{"demo " + test.request})
			})
		}
	}
}

// Help has no required key, so no arguments at all are good ones; with 0.5 nor are those that it does not know.
func TestNoArguments(t *testing.T) {
	more := map[*generation][]string{gen05: {`{"tool":"send","args":{}}`}}
	eachGeneration(t, func(t *testing.T, g *generation) {
		s := newSurface(t, answers(`{}`), of(g.surface))
		catalogue, refusal := s.do(t, "help", `{}`)
		if refusal != nil {
			t.Fatal(refusal)
		}
		for _, arguments := range append(more[g], ``, `null`, `{"query":null}`) {
			a, refusal := s.do(t, "help", arguments)
			if refusal != nil {
				t.Fatalf("%s: %v", arguments, refusal)
			}
			sameJSON(t, "answer to "+arguments, a, catalogue)
		}
	})
}

// An argument fault is the same in every state of the server.
func TestArgumentFaultsComeFirst(t *testing.T) {
	type faulty struct{ tool, arguments, code string }
	tests := map[*generation][]faulty{
		gen08: {
			{"list", `{"command":"principals","args":{"namespace":"ALL"}}`, "validation_invalid_params"},
			{"send", `{"message":" "}`, "validation_invalid_arguments"},
			{"look", `{"target_session":"a@b","lines":0}`, "validation_invalid_lines"},
			{"raww", `{"target_session":"","text":""}`, "validation_unknown_target"},
			{"choose", `{}`, "validation_invalid_params"},
			{"updown", `{"command":"sideways"}`, "validation_invalid_params"},
			{"new", `{"command":"peer","args":{"principal_id":"bob","output_path":"x"}}`, "validation_invalid_output_path"},
			{"change", `{"command":"psk"}`, "validation_invalid_params"},
			{"help", `{"query":"nap"}`, "validation_invalid_params"},
		},
		gen05: {
			{"list", `{"command":"sessions","args":{"all":true,"bundle_name":"demo"}}`, "validation_invalid_params"},
			{"send", `{"message":"hi","targets":["bravo"],"quiescence_timeout_ms":0}`, "validation_invalid_quiescence_timeout"},
			{"look", `{"target_session":"a","lines":0}`, "validation_invalid_lines"},
			{"raww", `{"target_session":"","text":""}`, "validation_unknown_target"},
			{"grant", `{"command":"list","args":{"bundle_name":" "}}`, "validation_invalid_params"},
			{"help", `{"query":"nap"}`, "validation_invalid_params"},
		},
	}
	relay := fails(errNoSocket)
	eachGeneration(t, func(t *testing.T, g *generation) {
		for name, standing := range map[string]Standing{
			"associated":   associatedWith(relay),
			"unassociated": {Reason: "no session x"},
			"fault":        {Fault: fault},
		} {
			t.Run(name, func(t *testing.T) {
				s := newSurface(t, relay, of(g.surface), as(standing))
				for _, call := range tests[g] {
					if _, refusal := s.do(t, call.tool, call.arguments); refusal == nil || refusal.Code != call.code {
						t.Errorf("%s: got %v, want %s", call.tool, refusal, call.code)
					}
				}
				sameLines(t, "requests", relay.requests(), nil)
				sameLog(t, s.log)
			})
		}
	})
}

// A key that is missing is told apart from one of the wrong type.
func TestMessagesOfArgumentFaults(t *testing.T) {
	for arguments, want := range map[string]string{
		`{}`:                      "target_session is required: give a string",
		`{"target_session":null}`: "target_session is required: give a string",
		`{"target_session":7}`:    "target_session must be a string, and a value of type number was given",
	} {
		if _, refusal := newSurface(t, answers(`{}`)).do(t, "look", arguments); refusal == nil || refusal.Message != want {
			t.Errorf("%s: got %v, want %s", arguments, refusal, want)
		}
	}
	_, refusal := newSurface(t, answers(`{}`)).do(t, "list", `{"command":"principals","args":7}`)
	if want := "a value of type number was given"; refusal == nil || !strings.Contains(refusal.Message, want) {
		t.Errorf("args: got %v, want %s", refusal, want)
	}
}
