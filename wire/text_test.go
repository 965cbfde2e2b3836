package wire

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRepairText(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"empty", ``, ``},
		{"plain", `{"a":"b"}`, `{"a":"b"}`},
		{"other escapes", `"\"\\\/\b\f\n\r\t\u0000\u00e9\uFFFF"`, `"\"\\\/\b\f\n\r\t\u0000\u00e9\uFFFF"`},
		{"pair", `"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{"pair in capitals", `"\uD83D\uDE00"`, `"\uD83D\uDE00"`},
		{"first and last pair", `"\ud800\udc00\udbff\udfff"`, `"\ud800\udc00\udbff\udfff"`},
		{"high alone", `"\ud83d"`, `"\ufffd"`},
		{"low alone", `"\ude00"`, `"\ufffd"`},
		{"high before text", `"a\ud83db"`, `"a\ufffdb"`},
		{"low before text", `"a\udfffb"`, `"a\ufffdb"`},
		{"high before another escape", `"\udbff\n"`, `"\ufffd\n"`},
		{"high before another character's escape", `"\ud83dA"`, `"\ufffdA"`},
		{"high before an escaped backslash", `"\ud83d\\ude00"`, `"\ufffd\\ude00"`},
		{"low, high", `"\ude00\ud83d"`, `"\ufffd\ufffd"`},
		{"high, high", `"\ud83d\ud83d"`, `"\ufffd\ufffd"`},
		{"high, pair", `"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{"pair, low", `"\ud83d\ude00\ude00"`, `"\ud83d\ude00\ufffd"`},
		{"pair, high", `"\ud83d\ude00\ud83d"`, `"\ud83d\ude00\ufffd"`},
		{"high, text, low", `"\ud83d \ude00"`, `"\ufffd \ufffd"`},
		{"escaped backslash before u", `"\\ud83d"`, `"\\ud83d"`},
		{"escaped backslash before an escape", `"\\\ud83d"`, `"\\\ufffd"`},
		{"two escaped backslashes before u", `"\\\\ude00"`, `"\\\\ude00"`},
		{"in a key", `{"\ud83d":1}`, `{"\ufffd":1}`},
		{"cut short", `"\ud83`, `"\ud83`},
		{"cut after a backslash", `"\ude00\`, `"\ufffd\`},
		{"no hexadecimal digits", `"\ud8_0\u+d80"`, `"\ud8_0\u+d80"`},
		{"invalid byte", "\"a\xffb\"", "\"a\uFFFDb\""},
		{"invalid bytes", "\"\xff\xfe\"", "\"\uFFFD\""},
		{"cut character", "\"\xf0\x9f\x98\"", "\"\uFFFD\""},
		{"encoded surrogate", "\"\xed\xa0\xbd\"", "\"\uFFFD\""},
		{"invalid byte and surrogate", "\"\xff\\ud83d\"", "\"\uFFFD\\ufffd\""},
		{"replacement character", "\"\uFFFD\"", "\"\uFFFD\""},
	} {
		line := slices.Clip([]byte(test.in)) // a byte read beyond its end is a panic
		if got := string(repairText(line)); got != test.want {
			t.Errorf("%s: %q became %q, want %q", test.name, test.in, got, test.want)
		}
	}
}

func TestRepairTextCopiesOnlyWhatItChanges(t *testing.T) {
	for _, text := range []string{`{"a":"b"}`, `"\u00e9\ud83d\ude00"`} {
		line := []byte(text)
		if got := repairText(line); &got[0] != &line[0] {
			t.Errorf("%s was copied", text)
		}
	}
	line := []byte(`"\ud83d"`)
	if repairText(line); string(line) != `"\ud83d"` {
		t.Errorf("the line given became %s", line)
	}
}

var (
	escapedBackslash = regexp.MustCompile(`\\\\`)
	surrogatePair    = regexp.MustCompile(`\\u[dD][89abAB]..\\u[dD][c-fC-F]..`)
	surrogate        = regexp.MustCompile(`\\u[dD][89a-fA-F]`)
)

// TestRepairTextOfAnySequence tries all strings of up to five pieces. encoding/json replaces what is no text by
// itself, so a string means the same to it before and after; what is left has no lone surrogate.
func TestRepairTextOfAnySequence(t *testing.T) {
	pieces := []string{`\ud83d`, `\uDE00`, `\\`, `\n`, `A`, `ud83d`}
	sequences := []string{""}
	for range 5 {
		for _, sequence := range sequences {
			for _, piece := range pieces {
				in := `"` + sequence + piece + `"`
				out := string(repairText([]byte(in)))
				var before, after string
				if err := json.Unmarshal([]byte(in), &before); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal([]byte(out), &after); err != nil || before != after {
					t.Fatalf("%s became %s, which is %q, not %q: %v", in, out, after, before, err)
				}
				rest := surrogatePair.ReplaceAllString(escapedBackslash.ReplaceAllString(out, "-"), "")
				if surrogate.MatchString(rest) {
					t.Fatalf("%s became %s, which has a lone surrogate", in, out)
				}
			}
		}
		var longer []string
		for _, sequence := range sequences {
			for _, piece := range pieces {
				longer = append(longer, sequence+piece)
			}
		}
		sequences = longer
	}
}

// TestTextSurvives is about strings on the way out: as they are, with no escapes for HTML, and always Unicode.
func TestTextSurvives(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"markup", `<b>&amp;</b> 'x'`, `<b>&amp;</b> 'x'`},
		{"quotes and backslashes", `"\ud83d\"`, `\"\\ud83d\\\"`},
		{"control characters", "\x00\x01\x1b[1m\b\f\n\r\t\x7f", `\u0000\u0001\u001b[1m\b\f\n\r\t` + "\x7f"},
		{"line separators", "\u2028\u2029\u0085", `\u2028\u2029` + "\u0085"},
		{"beyond the basic plane", "😀𝄞\U0010FFFF", "😀𝄞\U0010FFFF"},
		{"not normalised", "e\u0301 é \uFEFF", "e\u0301 é \uFEFF"},
		{"blanks", "  \t x \n", `  \t x \n`},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkFrame(t,
				&RequestFrame{Request: &Raww{RequesterSession: "a", TargetSession: "b@c", Text: test.text}},
				`{"frame":"request","request":{"operation":"raww","request_id":null,"requester_session":"a","target_session":"b@c","text":"`+test.want+`","no_enter":false}}`)
		})
	}
	line, err := Encode(&HelloAck{PrincipalID: "a\xff\xed\xa0\x80b"})
	if err != nil || !strings.Contains(string(line), `"a\ufffd\ufffd\ufffd\ufffdb"`) {
		t.Errorf("invalid UTF-8 was encoded as %s, %v", line, err)
	}
}

// TestTextOfATerminal is about a snapshot of arbitrary bytes: it fails no call, and what is handed on is text.
func TestTextOfATerminal(t *testing.T) {
	frame, err := Decode([]byte("{\"frame\":\"response\",\"response\":{\"kind\":\"look\",\"snapshot_format\":\"lines\",\"snapshot_lines\":[\"a\xffb\",\"\\ud83d\"],\"\\ude00\":\"\xfe\"}}"))
	if err != nil {
		t.Fatal(err)
	}
	response := frame.(*ResponseFrame)
	look := response.Response.(*LookResponse)
	if look.SnapshotLines[0] != "a\uFFFDb" || look.SnapshotLines[1] != "\uFFFD" || string(look.Extra["\uFFFD"]) != "\"\uFFFD\"" {
		t.Errorf("got %q, %q", look.SnapshotLines, look.Extra)
	}
	want := "{\"kind\":\"look\",\"snapshot_format\":\"lines\",\"snapshot_lines\":[\"a\uFFFDb\",\"\\ufffd\"],\"\\ufffd\":\"\uFFFD\"}"
	if got := string(response.Raw); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
