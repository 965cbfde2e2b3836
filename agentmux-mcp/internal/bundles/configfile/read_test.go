package configfile_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
	"github.com/agentmux/agentmux-go/mcptools"
)

// broken checks that err refuses path for a cause that has a text in it.
func broken(t *testing.T, err error, path, cause string) {
	t.Helper()
	r, ok := errors.AsType[*mcptools.Refusal](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	got, _ := r.Details["cause"].(string)
	if r.Code != mcptools.CodeInvalidArguments || r.Details["path"] != path || len(r.Details) != 2 || !strings.Contains(got, cause) {
		t.Errorf("got %s %v, want %s about %s with the cause %q", r.Code, r.Details, mcptools.CodeInvalidArguments, path, cause)
	}
	if !strings.Contains(r.Message, path+" cannot be used: "+got) {
		t.Errorf("message %q lacks the path and the cause", r.Message)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(path("file"), []byte("content"), 0o600))
	must(os.WriteFile(path("secret"), []byte("content"), 0))
	must(os.WriteFile(path("large"), make([]byte, configfile.MaxSize+1), 0o600))
	must(os.WriteFile(path("full"), make([]byte, configfile.MaxSize), 0o600))
	must(os.Mkdir(path("dir"), 0o700))
	must(syscall.Mkfifo(path("pipe"), 0o600))
	must(os.Symlink("file", path("link")))
	must(os.Symlink("nothing", path("dangling")))
	must(os.Symlink("loop", path("loop")))

	for _, tt := range []struct {
		name  string
		want  []byte
		cause string // of the refusal; "absent" for fs.ErrNotExist, "" for none
	}{
		{name: "file", want: []byte("content")},
		{name: "link", want: []byte("content")},
		{name: "full", want: make([]byte, configfile.MaxSize)},
		{name: "none", cause: "absent"},
		{name: "none/file", cause: "absent"},
		{name: strings.Repeat("x", 300), cause: "absent"},
		{name: "secret", cause: "permission denied"},
		{name: "large", cause: "larger than 4 MiB"},
		{name: "dir", cause: "not a regular file"},
		{name: "pipe", cause: "not a regular file"},
		{name: "file/file", cause: "not a directory"},
		{name: "dangling", cause: "a symbolic link to nothing"},
		{name: "loop", cause: "too many levels"},
	} {
		t.Run(tt.name[:min(20, len(tt.name))], func(t *testing.T) {
			if tt.name == "secret" && os.Geteuid() == 0 {
				t.Skip("root may read all files")
			}
			got, err := configfile.Read(path(tt.name))
			switch tt.cause {
			case "":
				if err != nil || !bytes.Equal(got, tt.want) {
					t.Errorf("got %d bytes and %v, want %d bytes", len(got), err, len(tt.want))
				}
			case "absent":
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("got %v, want fs.ErrNotExist", err)
				}
			default:
				broken(t, err, path(tt.name), tt.cause)
			}
		})
	}
}
