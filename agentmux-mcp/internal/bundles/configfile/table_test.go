package configfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
)

func TestParseAccepts(t *testing.T) {
	for name, text := range map[string]string{
		"plain":           "key = \"value\"\n",
		"byte order mark": "\uFEFFkey = \"value\"\n",
		"CRLF":            "# comment\r\nkey = \"value\"\r\n",
		"no last newline": "key = \"value\"",
		"another case":    "key = \"value\"\nKEY = \"other\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			table, err := configfile.Parse("file", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := table.Text("key"); got != "value" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, cause string }{
		{"syntax", "a = 1\n[[\n", "line 2, column 3: "},
		{"key twice", "a = 1\n\na = 2\n", "line 3, column 1: key a is already defined"},
		{"table twice", "[a]\n[a]\n", "line 2, column 2: "},
		{"no text", "a = \"\xff\"\n", "line 1, column 6: invalid UTF-8"},
		{"UTF-16 little endian", "\xff\xfea\x00", "UTF-16"},
		{"UTF-16 big endian", "\xfe\xff\x00a", "UTF-16"},
		{"UTF-16 unmarked", "a\x00=\x001\x00", "NUL"},
		{"binary", "\x7fELF\x00", "NUL"},
		{"one mark too many", "\uFEFF\uFEFFa = 1\n", "line 1, column 1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := configfile.Parse("/etc/file.toml", []byte(tt.text))
			broken(t, err, "/etc/file.toml", tt.cause)
		})
	}
}

const typed = `
text = "a"
integer = 1
float = 1.0
boolean = true
date = 2000-01-01
texts = ["a", "b"]
mixed = ["a", 1]
[table]
[[tables]]
key = "a"
[[tables]]
key = 7
`

func TestTable(t *testing.T) {
	table, err := configfile.Parse("file", []byte(typed))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := table.Integer("integer"); got != 1 || err != nil {
		t.Errorf("Integer: %v, %v", got, err)
	}
	if got, err := table.Texts("texts"); !slices.Equal(got, []string{"a", "b"}) || err != nil {
		t.Errorf("Texts: %q, %v", got, err)
	}
	if got, err := table.HasTable("table"); !got || err != nil {
		t.Errorf("HasTable: %v, %v", got, err)
	}
	want := []string{"boolean", "date", "float", "integer", "mixed", "table", "tables", "text", "texts"}
	if got := table.Keys(); !slices.Equal(got, want) {
		t.Errorf("Keys: %q, want %q", got, want)
	}
	tables, err := table.Tables("tables", "item")
	if err != nil || len(tables) != 2 {
		t.Fatalf("Tables: %v, %v", tables, err)
	}
	if got, err := tables[0].Text("key"); got != "a" || err != nil {
		t.Errorf("Text in a table: %q, %v", got, err)
	}
	_, err = tables[1].Text("key")
	broken(t, err, "file", "item 2: key is an integer, not a string")
	_, err = tables[1].Named("item \"b\"").Text("key")
	broken(t, err, "file", "item \"b\": key is an integer, not a string")

	for key, want := range map[string]string{
		"integer": "an integer", "float": "a float", "boolean": "a boolean", "date": "a date or time",
		"texts": "an array", "table": "a table",
	} {
		_, err = table.Text(key)
		broken(t, err, "file", key+" is "+want+", not a string")
	}
	_, err = table.Integer("float")
	broken(t, err, "file", "float is a float, not an integer")
	_, err = table.Texts("text")
	broken(t, err, "file", "text is a string, not an array")
	_, err = table.Texts("mixed")
	broken(t, err, "file", "element 2 of mixed is an integer, not a string")
	_, err = table.Tables("texts", "item")
	broken(t, err, "file", "element 1 of texts is a string, not a table")
	_, err = table.HasTable("boolean")
	broken(t, err, "file", "boolean is a boolean, not a table")
}

func TestTableAbsentKey(t *testing.T) {
	for name, table := range map[string]configfile.Table{"zero": {}, "empty": parsed(t, "")} {
		t.Run(name, func(t *testing.T) {
			if got, err := table.Text("key"); got != "" || err != nil {
				t.Errorf("Text: %q, %v", got, err)
			}
			if got, err := table.Integer("key"); got != 0 || err != nil {
				t.Errorf("Integer: %v, %v", got, err)
			}
			if got, err := table.Texts("key"); len(got) != 0 || err != nil {
				t.Errorf("Texts: %q, %v", got, err)
			}
			if got, err := table.Tables("key", "item"); len(got) != 0 || err != nil {
				t.Errorf("Tables: %v, %v", got, err)
			}
			if got, err := table.HasTable("key"); got || err != nil {
				t.Errorf("HasTable: %v, %v", got, err)
			}
		})
	}
}

func parsed(t *testing.T, text string) configfile.Table {
	t.Helper()
	table, err := configfile.Parse("file", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestFromLayers(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	layers := []string{filepath.Join(first, "missing"), first, second}
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first, "both", "from = 'first'")
	write(second, "both", "from = 'second'")
	write(second, "one", "from = 'second'")
	write(first, "broken", "[[")
	write(second, "broken", "from = 'second'")

	for name, want := range map[string]string{"both": first, "one": second} {
		table, err := configfile.FromLayers(layers, name)
		if err != nil || table.Path != filepath.Join(want, name) {
			t.Errorf("%s: got %s, %v, want the one in %s", name, table.Path, err, want)
		}
	}
	_, err := configfile.FromLayers(layers, "broken")
	broken(t, err, filepath.Join(first, "broken"), "line 1")
	if _, err := configfile.FromLayers(layers, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}
