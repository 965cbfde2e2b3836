package bundles_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles"
	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/wire"
)

// write makes a file, and its directory where there is none.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const coders = `
format-version = 1
[[coders]]
id = "claude"
[coders.tmux]
initial-command = "claude"
[[coders]]
id = " agent"
[coders.acp]
[[coders]]
id = "terminal"
[coders.pty]
[[coders]]
id = "idle"
[[coders]]
id = "torn"
[coders.tmux]
[coders.acp]
[[coders]]
id = "twin"
[coders.tmux]
[[coders]]
id = "twin"
[coders.acp]
`

const header = "format-version = 1\n"

// one is a bundle with one session, which has the keys.
func one(keys string) string { return header + "[[sessions]]\nid = 'a'\n" + keys }

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		name, bundle string
		want         []mcptools.Member
	}{
		{
			name: "all transports",
			bundle: `
format-version = 1
autostart = true
groups = ["dev", "team-1", "under_score"]

[[sessions]]
id = "alpha"
name = "Alpha"
directory = "/src/alpha"
policy = "operator"
coder = "claude"
coder-session-id = "1"

[[sessions]]
id = "bravo"
directory = "/src/bravo"
coder = "agent"

[[sessions]]
id = "c-3_x"
coder = "terminal"

[[sessions]]
id = "desk"
[sessions.ui]

[[sessions]]
id = "feed"
[sessions.pubsub]
`,
			want: []mcptools.Member{
				{ID: "alpha", Name: "Alpha", Transport: wire.TransportTmux, Directory: "/src/alpha"},
				{ID: "bravo", Transport: wire.TransportACP, Directory: "/src/bravo"},
				{ID: "c-3_x", Transport: wire.TransportPTY},
				{ID: "desk", Transport: wire.TransportUI},
				{ID: "feed", Transport: wire.TransportPubSub},
			},
		},
		{
			name: "keys of other versions",
			bundle: "future = 1\nproject-name-from = 'x'\n" +
				one("environment = [{name = 'A', value = 'b'}]\nID = 'other'\n[sessions.ui]\ncolour = 'red'\n"),
			want: []mcptools.Member{{ID: "a", Transport: wire.TransportUI}},
		},
		{
			name:   "byte order mark and CRLF",
			bundle: "\uFEFF" + strings.ReplaceAll(one("[sessions.ui]\n"), "\n", "\r\n"),
			want:   []mcptools.Member{{ID: "a", Transport: wire.TransportUI}},
		},
		{
			name:   "blank names are none",
			bundle: header + "[[sessions]]\nid = 'a'\nname = ''\n[sessions.ui]\n[[sessions]]\nid = 'b'\nname = ' '\n[sessions.ui]\n",
			want:   []mcptools.Member{{ID: "a", Transport: wire.TransportUI}, {ID: "b", Transport: wire.TransportUI}},
		},
		{
			name:   "space around names",
			bundle: "groups = [' dev ']\n" + header + "[[sessions]]\nid = ' a\t'\nname = ' A b '\ndirectory = ' /a '\ncoder = ' agent '\n",
			want:   []mcptools.Member{{ID: "a", Name: "A b", Transport: wire.TransportACP, Directory: " /a "}},
		},
		{
			name:   "ids that differ in case",
			bundle: header + "[[sessions]]\nid = 'a'\n[sessions.ui]\n[[sessions]]\nid = 'A'\n[sessions.ui]\n",
			want:   []mcptools.Member{{ID: "a", Transport: wire.TransportUI}, {ID: "A", Transport: wire.TransportUI}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "coders.toml"), coders)
			write(t, filepath.Join(root, "bundles/demo.toml"), tt.bundle)
			got, err := bundles.Directory{Layers: []string{root}}.Load("demo")
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != "demo" || !slices.Equal(got.Members, tt.want) {
				t.Errorf("got %+v, want the members %+v", got, tt.want)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	two := func(first, second string) string {
		return header + "[[sessions]]\n" + first + "\n[sessions.ui]\n[[sessions]]\n" + second + "\n[sessions.ui]\n"
	}
	for _, tt := range []struct {
		name, bundle string
		file         string // that is to blame, "" for that of the bundle
		cause        string
	}{
		{name: "broken", bundle: header + "[[", cause: "line 2, column 2: "},
		{name: "no version", bundle: "[[sessions]]\n", cause: "format-version is missing, expected format-version = 1"},
		{name: "another version", bundle: "format-version = 2\n", cause: "format-version is 2, expected 1"},
		{name: "version as text", bundle: "format-version = '1'\n", cause: "format-version is a string, not an integer"},
		{name: "no session", bundle: header, cause: "it has no [[sessions]]"},
		{name: "empty sessions", bundle: header + "sessions = []\n", cause: "it has no [[sessions]]"},
		{name: "sessions is a table", bundle: header + "[sessions]\n", cause: "sessions is a table, not an array"},
		{name: "sessions are no tables", bundle: header + "sessions = [1]\n", cause: "element 1 of sessions is an integer, not a table"},
		{name: "no id", bundle: two("id = 'a'", ""), cause: "session 2: id is missing or blank"},
		{name: "blank id", bundle: two("id = ' '", "id = 'b'"), cause: "session 1: id is missing or blank"},
		{name: "id is no text", bundle: two("id = 1", "id = 'b'"), cause: "session 1: id is an integer, not a string"},
		{name: "id with a digit first", bundle: two("id = '1a'", "id = 'b'"), cause: `session 1: id "1a" is not`},
		{name: "id as a path", bundle: two("id = 'a/../b'", "id = 'b'"), cause: `session 1: id "a/../b" is not`},
		{name: "id beyond ASCII", bundle: two("id = 'é'", "id = 'b'"), cause: `session 1: id "é" is not`},
		{name: "id twice", bundle: two("id = 'a'", "id = 'a '"), cause: `session 2: there is another session with the id "a"`},
		{name: "name twice", bundle: two("id = 'a'\nname = 'N'", "id = 'b'\nname = ' N'"), cause: `session 2: there is another session with the name "N"`},
		{name: "name is no text", bundle: one("name = []\n[sessions.ui]\n"), cause: `session "a": name is an array, not a string`},
		{name: "directory is no text", bundle: one("directory = 1\n[sessions.ui]\n"), cause: `session "a": directory is an integer, not a string`},
		{name: "no transport", bundle: one(""), cause: `session "a": it has no transport, expected a coder or one of the tables ui and pubsub`},
		{name: "two markers", bundle: one("[sessions.ui]\n[sessions.pubsub]\n"), cause: `session "a": it has ui and pubsub, expected one of them`},
		{name: "coder and marker", bundle: one("coder = 'claude'\n[sessions.ui]\n"), cause: `session "a": it has ui and coder, expected one of them`},
		{name: "marker is no table", bundle: one("ui = true\n"), cause: `session "a": ui is a boolean, not a table`},
		{name: "coder is no text", bundle: one("coder = {}\n"), cause: `session "a": coder is a table, not a string`},
		{name: "blank coder", bundle: one("coder = ' '\n"), cause: `session "a": coder is blank`},
		{name: "unknown coder", bundle: one("coder = 'ghost'\n"), cause: `session "a": coder "ghost" is unknown: `},
		{name: "coder without a transport", bundle: one("coder = 'idle'\n"), file: "coders.toml", cause: `coder "idle": it has no transport, expected one of the tables tmux, acp and pty`},
		{name: "coder with two transports", bundle: one("coder = 'torn'\n"), file: "coders.toml", cause: `coder "torn": it has tmux and acp, expected one of them`},
		{name: "coder twice", bundle: one("coder = 'twin'\n"), file: "coders.toml", cause: `coder "twin": there are 2 coders with this id`},
		{name: "groups is no array", bundle: "groups = 'dev'\n" + one("[sessions.ui]\n"), cause: "groups is a string, not an array"},
		{name: "group is no text", bundle: "groups = [1]\n" + one("[sessions.ui]\n"), cause: "element 1 of groups is an integer, not a string"},
		{name: "UTF-16", bundle: "\xff\xfef\x00", cause: "it is UTF-16 text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "coders.toml"), coders)
			write(t, filepath.Join(root, "bundles/demo.toml"), tt.bundle)
			_, err := bundles.Directory{Layers: []string{root}}.Load("demo")
			file := tt.file
			if file == "" {
				file = "bundles/demo.toml"
			}
			refusal(t, err, mcptools.CodeInvalidArguments, map[string]any{"path": filepath.Join(root, file), "cause": tt.cause})
		})
	}
}

// refusal checks the code and the details of a refusal. Of the cause, it wants the beginning.
func refusal(t *testing.T, err error, code string, details map[string]any) *mcptools.Refusal {
	t.Helper()
	r, ok := errors.AsType[*mcptools.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	got := maps.Clone(r.Details)
	if cause, ok := details["cause"].(string); ok {
		if text, _ := got["cause"].(string); strings.HasPrefix(text, cause) {
			got["cause"] = cause
		}
	}
	if r.Code != code || !maps.Equal(got, details) {
		t.Errorf("got %s %v, want %s %v", r.Code, r.Details, code, details)
	}
	return r
}

func TestLoadGroups(t *testing.T) {
	for _, tt := range []struct{ group, code string }{
		{"", mcptools.CodeInvalidGroupName},
		{"two words", mcptools.CodeInvalidGroupName},
		{"Dev", mcptools.CodeInvalidGroupName},
		{"DEV", mcptools.CodeInvalidGroupName},
		{"all", ""},
		{"a.b", mcptools.CodeInvalidGroupName},
		{"é", mcptools.CodeInvalidGroupName},
		{"dev-1_x", ""},
		{"ALL", mcptools.CodeReservedGroupName},
	} {
		t.Run(tt.group, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "bundles/demo.toml")
			write(t, path, "groups = ['fine', '"+tt.group+"']\n"+one("[sessions.ui]\n"))
			_, err := bundles.Directory{Layers: []string{root}}.Load("demo")
			if tt.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			refusal(t, err, tt.code, map[string]any{"path": path, "group_name": tt.group})
		})
	}
}

func TestLoadCodersFile(t *testing.T) {
	const codedBundle = header + "[[sessions]]\nid = 'a'\ncoder = 'claude'\n"
	for _, tt := range []struct {
		name, bundle, coders string // no coders, no file
		cause                string // of the refusal, "" for none
		inBundle             bool   // the bundle is to blame
	}{
		{name: "none needed", bundle: one("[sessions.ui]\n"), coders: "[["},
		{name: "broken", bundle: codedBundle, coders: "[[", cause: "line 1"},
		{name: "another version", bundle: codedBundle, coders: "format-version = 3", cause: "format-version is 3"},
		{name: "no array", bundle: codedBundle, coders: header + "coders = 1", cause: "coders is an integer"},
		{name: "id is no text", bundle: codedBundle, coders: header + "[[coders]]\nid = 1", cause: "coder 1: id is an integer"},
		{name: "missing", bundle: codedBundle, cause: `session "a": coder "claude" is unknown: there is no coders.toml in `, inBundle: true},
		{name: "others may be broken", bundle: codedBundle, coders: header + "[[coders]]\n[[coders]]\nid = 'claude'\n[coders.tmux]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "coders.toml")
			if tt.coders != "" {
				write(t, path, tt.coders)
			}
			if tt.inBundle {
				path = filepath.Join(root, "bundles/demo.toml")
			}
			write(t, filepath.Join(root, "bundles/demo.toml"), tt.bundle)
			_, err := bundles.Directory{Layers: []string{root}}.Load("demo")
			if tt.cause == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			refusal(t, err, mcptools.CodeInvalidArguments, map[string]any{"path": path, "cause": tt.cause})
		})
	}
}

func TestLoadUnknown(t *testing.T) {
	root, empty := t.TempDir(), t.TempDir()
	missing := filepath.Join(root, "missing")
	write(t, filepath.Join(root, "bundles/demo.toml"), one("[sessions.ui]\n"))
	write(t, filepath.Join(root, "bundles/other.toml"), one("[sessions.ui]\n"))
	for _, tt := range []struct {
		name   string
		layers []string
		bundle string
		path   string
		says   []string
	}{
		{"others are configured", []string{root}, "ghost", root, []string{`no bundle "ghost"`, "(demo, other)"}},
		{"none is configured", []string{empty}, "ghost", empty, []string{"nor that of any other bundle"}},
		{"no directory", []string{missing, root}, "ghost", missing, []string{"no directory " + missing}},
		{"no name of a bundle", []string{root}, "a b", root, []string{"ASCII letters"}},
		{"namespace of the relay", []string{root}, "GLOBAL", root, []string{"namespaces"}},
		{"no name", []string{root}, "", root, []string{"ASCII letters"}},
		{"too long", []string{root}, strings.Repeat("x", 300), root, []string{"(demo, other)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := bundles.Directory{Layers: tt.layers}.Load(tt.bundle)
			r := refusal(t, err, mcptools.CodeUnknownBundle, map[string]any{
				"bundle_name": tt.bundle, "path": filepath.Join(tt.path, "bundles", tt.bundle+".toml"),
			})
			for _, part := range tt.says {
				if !strings.Contains(r.Message, part) {
					t.Errorf("message %q lacks %q", r.Message, part)
				}
			}
		})
	}
}

// A name that leads out of the directory finds nothing, even where there is something.
func TestLoadStaysInside(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "bundles/demo.toml"), one("[sessions.ui]\n"))
	write(t, filepath.Join(root, "outside.toml"), one("[sessions.ui]\n"))
	if _, err := (bundles.Directory{Layers: []string{root}}).Load("../outside"); err == nil {
		t.Error("a bundle was read from outside")
	}
}

func TestLayers(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	d := bundles.Directory{Layers: []string{first, filepath.Join(first, "missing"), second}}
	write(t, filepath.Join(first, "bundles/both.toml"), one("directory = '/first'\ncoder = 'claude'\n"))
	write(t, filepath.Join(second, "bundles/both.toml"), one("directory = '/second'\n[sessions.ui]\n"))
	write(t, filepath.Join(second, "bundles/one.toml"), one("directory = '/second'\n[sessions.ui]\n"))
	write(t, filepath.Join(first, "bundles/bad.toml"), "[[")
	write(t, filepath.Join(second, "bundles/bad.toml"), one("[sessions.ui]\n"))
	write(t, filepath.Join(first, "bundles/off.toml"), header)
	write(t, filepath.Join(second, "bundles/off.toml"), one("[sessions.ui]\n"))
	write(t, filepath.Join(second, "coders.toml"), coders)

	names, err := d.Names()
	if want := []string{"bad", "both", "one"}; !slices.Equal(names, want) || err != nil {
		t.Errorf("Names: got %q, %v, want %q", names, err, want)
	}
	for name, want := range map[string]string{"both": "/first", "one": "/second"} {
		b, err := d.Load(name)
		if err != nil || b.Members[0].Directory != want {
			t.Errorf("Load(%s): got %+v, %v, want the one from %s", name, b, err, want)
		}
	}
	_, err = d.Load("bad")
	refusal(t, err, mcptools.CodeInvalidArguments, map[string]any{
		"path": filepath.Join(first, "bundles/bad.toml"), "cause": "line 1",
	})

	for name, want := range map[string]string{"both": first, "one": second, "none": first} {
		if got := d.Path(name); got != filepath.Join(want, "bundles", name+".toml") {
			t.Errorf("Path(%s): got %s, want it in %s", name, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "bundles")
	for _, name := range []string{
		"b.toml", "B.toml", "a-1.toml", "a_1.toml", "a.b.toml", // bundles
		"no name.toml", "é.toml", "..toml", ".toml", "GLOBAL.toml", "ALL.toml", "EXTERNAL.toml", "RELAY.toml",
		"b.toml~", "b.TOML", "toml", "b.json",
	} {
		write(t, filepath.Join(dir, name), one("[sessions.ui]\n"))
	}
	write(t, filepath.Join(dir, "broken.toml"), "[[")
	write(t, filepath.Join(dir, "future.toml"), "format-version = 2\n")
	write(t, filepath.Join(dir, "mistyped.toml"), header+"sessions = 1\n")
	write(t, filepath.Join(dir, "unused.toml"), header+"autostart = false\n")
	write(t, filepath.Join(dir, "deep.toml/b.toml"), one("[sessions.ui]\n"))
	write(t, filepath.Join(root, "elsewhere.toml"), one("[sessions.ui]\n"))
	if err := errors.Join(
		os.Symlink("../elsewhere.toml", filepath.Join(dir, "linked.toml")),
		os.Symlink("nothing", filepath.Join(dir, "dangling.toml")),
		syscall.Mkfifo(filepath.Join(dir, "pipe.toml"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	got, err := bundles.Directory{Layers: []string{root}}.Names()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"B", "a-1", "a.b", "a_1", "b", "broken", "future", "linked", "mistyped"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNamesOfNothing(t *testing.T) {
	for name, layers := range map[string][]string{
		"no layer":                nil,
		"a layer that is missing": {filepath.Join(t.TempDir(), "missing")},
		"a layer without bundles": {t.TempDir()},
	} {
		if got, err := (bundles.Directory{Layers: layers}).Names(); len(got) != 0 || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestNamesUnreadable(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	write(t, filepath.Join(other, "bundles/demo.toml"), one("[sessions.ui]\n"))
	dir := filepath.Join(root, "bundles")
	for name, obstacle := range map[string]func() error{
		"file": func() error { return os.WriteFile(dir, nil, 0o600) },
		"pipe": func() error { return syscall.Mkfifo(dir, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := obstacle(); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(dir)
			_, err := bundles.Directory{Layers: []string{root, other}}.Names()
			refusal(t, err, mcptools.CodeInvalidArguments, map[string]any{"path": dir, "cause": "not a directory"})
		})
	}
}

func TestStartupFailures(t *testing.T) {
	const records = `{"session_id":"a","transport":"tmux","code":"runtime_x","reason":"no \"tmux\"","timestamp":"2026-01-01T00:00:00Z","sequence":9007199254740993,"details":{"b":1,"a":2},"future":[]}`
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"records", `{"schema_version":1,"next_sequence":3,"records":[` + records + `, {"session_id":"b"}]}`, []string{records, `{"session_id":"b"}`}},
		{"no text", "{\"schema_version\":1,\"records\":[{\"reason\":\"\xff\"}]}", []string{"{\"reason\":\"\uFFFD\"}"}},
		{"none", `{"schema_version":1,"next_sequence":1,"records":[]}`, nil},
		{"null", `{"schema_version":1,"records":null}`, nil},
		{"another version", `{"schema_version":2,"records":[` + records + `]}`, nil},
		{"version as text", `{"schema_version":"1","records":[` + records + `]}`, nil},
		{"no version", `{"records":[` + records + `]}`, nil},
		{"record that is none", `{"schema_version":1,"records":[` + records + `,null]}`, nil},
		{"broken", `{"schema_version":1,"records":[` + records, nil},
		{"array", `[]`, nil},
		{"empty", ``, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			state := t.TempDir()
			write(t, filepath.Join(state, "bundles/demo/startup_failures.json"), tt.file)
			d := bundles.Directory{StateRoot: state}
			got := d.StartupFailures("demo")
			if !slices.EqualFunc(got, tt.want, func(raw json.RawMessage, want string) bool { return string(raw) == want }) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if other := d.StartupFailures("other"); other == nil || len(other) != 0 {
				t.Errorf("a bundle without a history has %s", other)
			}
		})
	}
}

func TestStartupFailuresOfNothing(t *testing.T) {
	state := t.TempDir()
	write(t, filepath.Join(state, "startup_failures.json"), `{"schema_version":1,"records":[{}]}`)
	for name, got := range map[string][]json.RawMessage{
		"a state root that is unknown": bundles.Directory{}.StartupFailures("demo"),
		"a name that leads outside":    bundles.Directory{StateRoot: state}.StartupFailures(".."),
	} {
		if got == nil || len(got) != 0 {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
