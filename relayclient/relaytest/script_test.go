package relaytest

import (
	"errors"
	"testing"
)

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"unknown word", "# here\n\n  wait 1s", "s:3: unknown word wait"},
		{"no space", ">{}", "s:1: unknown word >{}"},
		{"expect no JSON", "> {", "s:1: not JSON: unexpected EOF"},
		{"expect nothing", ">", "s:1: not JSON: empty"},
		{"expect two", "> {} {}", "s:1: not JSON: something follows the JSON value"},
		{"say no JSON", "< x", "s:1: not JSON, which << is for: invalid character 'x' looking for beginning of value"},
		{"say nothing", "<", "s:1: not JSON, which << is for: empty"},
		{"unbound", `< ["$id"]`, `s:1: no > line above on this connection binds "$id"`},
		{"bound later", "< [\"$id\"]\n> [\"$id\"]", `s:1: no > line above on this connection binds "$id"`},
		{"bound on another connection", "> [\"$id\"]\nconnection\n< [\"$id\"]", `s:3: no > line above on this connection binds "$id"`},
		{"bound by no string", "> [\"$_\"]\n< [\"$_\"]", `s:2: no > line above on this connection binds "$_"`},
		{"bound by no value", "> {\"...\":\"$id\"}\n< [\"$id\"]", `s:2: no > line above on this connection binds "$id"`},
		{"unbound in bytes", "<< `{\"a\":\"$id\"`", `s:1: no > line above on this connection binds "$id"`},
		{"bytes unquoted", "<< x", "s:1: << needs a text quoted as in Go"},
		{"bytes in single quotes", "<< 'x'", "s:1: << needs a text quoted as in Go"},
		{"no bytes", "<<", "s:1: << needs a text quoted as in Go"},
		{"no times", "<* {}", "s:1: <* needs a number of times from 1 and what to say"},
		{"zero times", `<<* 0 "x"`, "s:1: <<* needs a number of times from 1 and what to say"},
		{"times without JSON", "<* 3", "s:1: not JSON, which << is for: empty"},
		{"pause without time", "pause", `s:1: "" is no time to wait, such as 150ms`},
		{"pause without unit", "pause 150", `s:1: "150" is no time to wait, such as 150ms`},
		{"pause backwards", "pause -1s", `s:1: "-1s" is no time to wait, such as 150ms`},
		{"stall for no time", "stall 0s", `s:1: "0s" is no time to wait, such as 150ms`},
		{"silence has no time", "silence 1s", `s:1: silence stands alone, got "1s" after it`},
		{"connection has no number", "connection 2", `s:1: connection stands alone, got "2" after it`},
		{"after silence", "silence\n> {}", "s:2: nothing can follow silence on a connection"},
		{"after dots", "...\npause 1s", "s:2: nothing can follow ... on a connection"},
		{"after hangup", "hangup\nhangup", "s:2: nothing can follow hangup on a connection"},
		{"after a stall", "stall\n< {}", "s:2: nothing can follow a stall without end on a connection"},
		{"after half-close", "half-close\n> {}\n< {}", "s:3: nothing can be said after half-close"},
		{"after serve", "serve\n> {}\nconnection", "s:3: serve is for all further connections: none can follow"},
		{"open group", "> {}\n{\n> {}", "s:2: { without }"},
		{"empty group", "{\n}", "s:2: nothing between { and }"},
		{"closed group", "> {}\n}", "s:2: } without {"},
		{"group in a group", "{\n{", "s:2: only > lines can stand between { and }"},
		{"answer in a group", "{\n> {}\n< {}\n}", "s:3: only > lines can stand between { and }"},
		{"word after a group", "{\n> {}\n} {", `s:3: } stands alone, got "{" after it`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("s", []byte(test.text))
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
		})
	}
}

// What ends one connection's lines does not reach into the next one's.
func TestParseConnections(t *testing.T) {
	const text = `
		> ["$id"]
		half-close
		silence
		connection
		> ["$id"]
		< ["$id"]
		stall
		serve
		{
			> {}
			> ["$id"]
		}
		<* 2 ["$id"]
		hangup`
	s, err := Parse("s", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var steps []int
	for _, section := range s.sections {
		steps = append(steps, len(section.steps))
	}
	if len(steps) != 3 || steps[0] != 3 || steps[1] != 3 || steps[2] != 2 {
		t.Errorf("steps %v, want [3 3 2]", steps)
	}
	for n, want := range map[int]int{1: 2, 2: 5, 3: 9, 4: 9, 100: 9} {
		if section := s.section(n); section.line != want {
			t.Errorf("connection %d plays from line %d, want %d", n, section.line, want)
		}
	}
}
