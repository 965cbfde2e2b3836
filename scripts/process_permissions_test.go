package scripts_test

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/relaytest"
)

// nobody is a user without privileges.
const nobody = 65534

// What the user may not read, search or write costs what needs it and nothing more, and is named. Where the tests run as
// root, to whom nothing is forbidden, the server runs as somebody else.
func TestPermissions(t *testing.T) {
	const (
		overrides  = "work/.auxiliary/configuration/agentmux/overrides/mcp.toml"
		credential = "state/bundles/demo/sessions/alpha/identity.psk"
		logFile    = "state/inscriptions/bundles/demo/sessions/alpha/mcp.log"

		key      = "made-up-key"
		served   = `"id":1,"result":\{.*pending_requests`
		noSocket = `"id":1,"error":\{"code":-32603,"message":"internal_unexpected_failure: .*connect: permission denied. Nothing was sent.*"io_error_kind":"PermissionDenied"`
	)
	refused := func(path string) string {
		return `"id":1,"error":\{"code":-32602,"message":"validation_invalid_arguments: .*` + path + ` cannot be used: permission denied.*"phase":"startup"`
	}
	program := runnable(t)
	for _, tt := range []struct {
		name   string
		path   string
		mode   fs.FileMode // of path
		token  string      // that the relay is shown; "" where it is shown none
		answer string      // pattern of the answer to a call
		stderr string      // pattern of the one line on standard error; "" for none
	}{
		{"bundle", "config/bundles/demo.toml", 0, "", refused("config/bundles/demo.toml"), "bundles/demo.toml"},
		{"bundles", "config/bundles", 0, "", refused("config/bundles/demo.toml"), "bundles/demo.toml"},
		{"coders", "config/coders.toml", 0, "", refused("config/coders.toml"), "coders.toml"},
		{"configuration root", "config", 0, "", refused("config/mcp.toml"), "config/mcp.toml"},
		{"association file", "config/mcp.toml", 0, "", refused("config/mcp.toml"), "config/mcp.toml"},
		{"overrides", overrides, 0, "", refused("overrides/mcp.toml"), "overrides/mcp.toml"},
		{"directory of the overrides", "work/.auxiliary", 0, "", refused("overrides/mcp.toml"), "overrides/mcp.toml"},
		{"Git directory", "work/.git", 0, key, served, ""},

		{"credential", credential, 0, "socket-trust", served, ""},
		{"directory of the credential", "state/bundles", 0, "socket-trust", served, ""},
		{"credential that others may read", credential, 0o604, key, served, "identity.psk can be read by other users .*0604"},
		{"socket", "state/relay.sock", 0, "", noSocket, ""},
		{"socket that can't be written", "state/relay.sock", 0o400, "", noSocket, ""},
		{"state root", "state", 0, "", noSocket, "events go unlogged: .*permission denied"},

		{"log", logFile, 0o400, key, served, "events go unlogged: open .*/mcp.log: permission denied"},
		{"directory of the log", filepath.Dir(logFile), 0o500, key, served, "events go unlogged: open .*/mcp.log: permission denied"},
		{"inscriptions", "state/inscriptions", 0o500, key, served, "events go unlogged: mkdir .*/inscriptions/bundles: permission denied"},
		{"state root that can't be written", "state", 0o500, key, served, "events go unlogged: mkdir .*/inscriptions: permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := shared(t)
			files := map[string]string{
				"config/coders.toml": usualCoders, "config/bundles/demo.toml": usualBundle, "config/mcp.toml": "",
				"work/.git/HEAD": "ref: refs/heads/main\n", overrides: "", credential: key,
			}
			switch {
			case tt.path == logFile:
				files[logFile] = ""
			case strings.HasPrefix(logFile, tt.path+"/") && tt.path != "state":
				makeDirectory(t, filepath.Join(dir, tt.path))
			}
			for name, text := range files {
				path := filepath.Join(dir, name)
				makeDirectory(t, filepath.Dir(path))
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			end := listenFor(t, dir+"/state/relay.sock", tt.token)
			give(t, dir)
			restricted := filepath.Join(dir, tt.path)
			if err := os.Chmod(restricted, tt.mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(restricted, 0o700) }) // for who removes it

			cmd := newProcess(t, "--bundle", "demo", "--session-name", "alpha", "--config-directory", dir+"/config", "--state-directory", dir+"/state")
			cmd.Path, cmd.Dir = program, dir+"/work"
			unprivileged(cmd)
			cmd.Stdin = strings.NewReader(initialize + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list","arguments":{"command":"decisions"}}}` + "\n")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			stdout, err := cmd.Output()
			if err := errors.Join(err, end()); err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			if !regexp.MustCompile(tt.answer).Match(stdout) {
				t.Errorf("got %s\nwant %s", stdout, tt.answer)
			}
			said := stderr.String()
			if tt.stderr == "" && said != "" || tt.stderr != "" && strings.Count(said, "\n") != 1 || !regexp.MustCompile(tt.stderr).MatchString(said) {
				t.Errorf("standard error is %q, want one line with %q", said, tt.stderr)
			}
			if strings.Contains(said, key) || strings.Contains(string(stdout), key) {
				t.Errorf("the key was shown: %s %s", said, stdout)
			}
		})
	}
}

// listenFor listens at a path: a relay that wants the token, or one that nobody may speak to if there is none.
func listenFor(t *testing.T, path, token string) (end func() error) {
	t.Helper()
	var relay io.Closer
	var err error
	if token == "" {
		relay, err = net.Listen("unix", path)
	} else {
		script, parseErr := relaytest.Parse(t.Name(), []byte(strings.ReplaceAll(usualHello, "socket-trust", token)+
			`> {"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"choices_list"}}
			< {"frame":"response","request_id":"$id","response":{"kind":"choices_list","pending_requests":[]}}
			silence`))
		if parseErr != nil {
			t.Fatal(parseErr)
		}
		relay, err = relaytest.Listen(path, script)
	}
	if err != nil {
		t.Fatal(err)
	}
	return relay.Close
}

// shared is an empty directory that everybody can reach.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func makeDirectory(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// runnable is the test's program where an unprivileged user can run it.
func runnable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		return self
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := shared(t) + "/program"
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	check := exec.Command(program, "-test.list=^$")
	unprivileged(check)
	check.Dir = "/"
	if err := check.Run(); errors.Is(err, fs.ErrPermission) {
		t.Skipf("other users can't run what is in %s", os.TempDir())
	}
	return program
}

// unprivileged has cmd run as a user to whom something can be forbidden.
func unprivileged(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// give gives all that is in dir to the user of unprivileged.
func give(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		t.Fatal(err)
	}
}
