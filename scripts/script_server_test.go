package scripts_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptPatience is how long a script waits for what has to come about. It ends a test that has failed.
const scriptPatience = 30 * time.Second

// serverVariables are the variables of a script that its server gets, where they are not empty: testscript does not
// show all that there are.
var serverVariables = []string{
	"PATH", "HOME", "TMPDIR", "GORACE", "STATE", "WORK", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
	"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
	"AGENTMUX_BUNDLE", "AGENTMUX_SESSION", "AGENTMUX_STATE_DIRECTORY", "AGENTMUX_CONFIGURATION_DIRECTORY",
	"AGENTMUX_MCP_BUNDLE", "AGENTMUX_MCP_SESSION_NAME", "AGENTMUX_MCP_CONFIG_DIRECTORY", "AGENTMUX_MCP_STATE_DIRECTORY",
	"AGENTMUX_MCP_INSCRIPTIONS_DIRECTORY", "AGENTMUX_MCP_REPOSITORY_ROOT", "AGENTMUX_MCP_ERRORS",
	"AGENTMUX_MCP_SURFACE", "AGENTMUX_MCP_RELAY_SOCKET", "AGENTMUX_MCP_DEMO",
}

// A server is a process that speaks MCP with the script.
type server struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer // to be read when the process has ended
	last   int          // id
}

// start starts the server if none runs.
func (w *scene) start(ts *testscript.TestScript) error {
	if w.server != nil {
		return nil
	}
	s := &server{cmd: exec.Command(w.program, w.args...)}
	s.cmd.Dir = ts.MkAbs(".")
	for _, name := range serverVariables {
		if value := ts.Getenv(name); value != "" {
			s.cmd.Env = append(s.cmd.Env, name+"="+value)
		}
	}
	s.cmd.Stderr = &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	w.server = s
	_, err = s.request(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}`)
	return err
}

// programIn finds the command that TestMain put on the path.
func programIn(path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if program, err := exec.LookPath(filepath.Join(dir, "agentmux-mcp")); err == nil {
			return program, nil
		}
	}
	return "", exec.ErrNotFound
}

// impatient kills the process if it keeps the script waiting. What waits for it ends then.
func (s *server) impatient() (stop func() bool) {
	return time.AfterFunc(scriptPatience, func() { _ = s.cmd.Process.Kill() }).Stop
}

// tell sends lines.
func (s *server) tell(lines string) error {
	if _, err := io.WriteString(s.in, strings.TrimRight(lines, "\n")+"\n"); err != nil {
		return fmt.Errorf("the server does not read: %w", err)
	}
	return nil
}

// request sends lines and returns the next line that comes.
func (s *server) request(lines string) (string, error) {
	defer s.impatient()()
	if err := s.tell(lines); err != nil {
		return "", err
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the server does not answer: %w", err)
	}
	return line, nil
}

// call calls a tool and returns its answer as JSON.
func (s *server) call(tool, arguments string) (answer string, failed bool, err error) {
	s.last++
	line, err := s.request(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		s.last, tool, strings.ReplaceAll(arguments, "\n", " ")))
	if err != nil {
		return "", false, err
	}
	var response struct {
		ID     int
		Result *struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
		Error json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &response); err != nil {
		return "", false, err
	}
	switch {
	case response.ID != s.last:
		return "", false, fmt.Errorf("another call's answer: %s", line)
	case response.Error != nil:
		return string(response.Error), true, nil
	case len(response.Result.Content) != 1 || !sameJSON(response.Result.Content[0].Text, string(response.Result.StructuredContent)):
		return "", false, fmt.Errorf("text and structured content differ: %s", line)
	}
	return string(response.Result.StructuredContent), response.Result.IsError, nil
}

// stop ends the input and waits for the process, which must have nothing more to say.
func (s *server) stop() error {
	defer s.impatient()()
	_ = s.in.Close() // a server that has ended has closed it
	rest, err := io.ReadAll(s.out)
	if err := errors.Join(err, s.cmd.Wait()); err != nil {
		return fmt.Errorf("the server ended badly: %w\n%s", err, &s.stderr)
	}
	if len(rest) > 0 {
		return fmt.Errorf("the server said more than it was asked: %s", rest)
	}
	return nil
}
