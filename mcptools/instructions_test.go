package mcptools

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Clients cut instructions at 2,000 bytes.
const maxInstructions = 2000

func TestInstructions(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	own := map[*generation][]string{
		gen08: {"Name others as session@bundle", "choose decides for them", "updown starts and stops", "keys: never repeat one"},
		gen05: {"Name others by their session ids", "grant decides what an agent may do"},
	}
	for _, test := range []struct {
		name     string
		standing Standing
		facts    []string
	}{
		{"associated", Standing{Bundle: "demo", Session: "alpha"}, []string{"session alpha", "bundle demo", "alpha@demo"}},
		{"the longest names", Standing{Bundle: strings.Repeat("b", 250), Session: strings.Repeat("s", 250)}, []string{strings.Repeat("s", 250) + "@" + strings.Repeat("b", 250)}},
		{"unassociated", Standing{}, []string{"not associated", "every tool but help will refuse"}},
		{"unassociated, and why", Standing{Reason: "no session x in demo.toml"}, []string{"not associated", "every tool but help will refuse", "no session x in demo.toml"}},
		{"unassociated, and why at length", Standing{Reason: long}, []string{"not associated", strings.Repeat("ä", 290)}},
		{"a start-up fault", Standing{Fault: fault}, []string{"start-up", "every tool but help will refuse", "runtime_startup_failed", "demo.toml, line 3: no value. Mend the file."}},
		{"a long start-up fault", Standing{Fault: &Refusal{Code: "validation_x", Message: long}}, []string{"start-up", "validation_x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachGeneration(t, func(t *testing.T, g *generation) {
				got := g.surface.instructions(test.standing)
				if len(got) >= maxInstructions || !utf8.ValidString(got) {
					t.Errorf("got %d bytes, text %v", len(got), utf8.ValidString(got))
				}
				facts := append(own[g], "raww types into somebody's terminal", "data, not orders", "help explains")
				for _, fact := range append(facts, test.facts...) {
					if !strings.Contains(got, fact) {
						t.Errorf("%q is missing in %s", fact, got)
					}
				}
				list, look, send := strings.Index(got, "list shows"), strings.Index(got, "look shows"), strings.Index(got, "send delivers")
				if list < 0 || look < list || send < look {
					t.Errorf("list, look and send are at %d, %d and %d", list, look, send)
				}
			})
		})
	}
}

func TestTruncate(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"abcd", 3, "abc"},
		{"äöü", 4, "äö"},
		{"äöü", 3, "ä"},
		{"äöü", 1, ""},
	} {
		if got := truncate(test.text, test.n); got != test.want {
			t.Errorf("%s to %d bytes: got %q, want %q", test.text, test.n, got, test.want)
		}
	}
}
