package scripts_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
)

// A contender is an MCP server that is measured.
type contender struct {
	name string
	path string
	args []string
}

// contenders are our server and, where it is installed, the one that comes with the relay, on equal terms: built as
// it is shipped, for the same relay and configuration.
func contenders(b *testing.B) []contender {
	b.Helper()
	dir, err := os.MkdirTemp("", "amx") // short: a socket's path is bounded
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	ours := filepath.Join(dir, "agentmux-mcp")
	build := exec.Command("go", "build", "-o", ours, "github.com/agentmux/agentmux-go/agentmux-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	config := filepath.Join(dir, "config")
	if err := os.MkdirAll(filepath.Join(config, "bundles"), 0o700); err != nil {
		b.Fatal(err)
	}
	bundle := regexp.MustCompile("alpha").ReplaceAllString(usualBundle, "you")
	for name, text := range map[string]string{"coders.toml": usualCoders, "bundles/demo.toml": bundle} {
		if err := os.WriteFile(filepath.Join(config, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "relay.sock"))
	if err != nil {
		b.Fatal(err)
	}
	relay := demorelay.New(demorelay.Sample())
	go func() { _ = relay.Serve(context.Background(), listener) }()
	b.Cleanup(relay.Close)

	args := []string{"--bundle", "demo", "--session-name", "you", "--config-directory", config, "--state-directory", dir}
	all := []contender{{"ours", ours, args}}
	if reference, err := exec.LookPath("agentmux"); err == nil {
		all = append(all, contender{"reference", reference, append([]string{"host", "mcp"}, args...)})
	} else {
		b.Log("the reference is left out: agentmux is not installed")
	}
	return all
}

// A dialogue is a server that is spoken with.
type dialogue struct {
	b   *testing.B
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (c contender) start(b *testing.B) *dialogue {
	b.Helper()
	d := &dialogue{b: b, cmd: exec.Command(c.path, c.args...)}
	var err error
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	d.out = bufio.NewReaderSize(out, 1<<20)
	if err := d.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	d.ask(initialize)
	if _, err := io.WriteString(d.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		b.Fatal(err)
	}
	return d
}

// ask sends a request and reads its answer.
func (d *dialogue) ask(request string) string {
	d.b.Helper()
	if _, err := io.WriteString(d.in, request); err != nil {
		d.b.Fatal(err)
	}
	answer, err := d.out.ReadString('\n')
	if err != nil {
		d.b.Fatal(err)
	}
	return answer
}

func (d *dialogue) end() {
	_ = d.in.Close()
	if err := d.cmd.Wait(); err != nil {
		d.b.Error(err)
	}
}

// residentKiB is the memory that the server has resident, 0 where the system does not tell.
func (d *dialogue) residentKiB() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		return 0
	}
	kib, _ := strconv.ParseFloat(string(found[1]), 64)
	return kib
}

// BenchmarkStart is a process from its start to its list of tools, and its end.
func BenchmarkStart(b *testing.B) {
	for _, c := range contenders(b) {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				d := c.start(b)
				d.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
				d.end()
			}
		})
	}
}

// BenchmarkCall is one call after the other, through the server to a relay and back.
func BenchmarkCall(b *testing.B) {
	calls := []struct{ name, params string }{
		{"look", `{"name":"look","arguments":{"target_session":"builder@demo"}}`},
		{"help", `{"name":"help","arguments":{}}`},
	}
	for _, c := range contenders(b) {
		for _, call := range calls {
			b.Run(call.name+"/"+c.name, func(b *testing.B) {
				d := c.start(b)
				defer d.end()
				request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call.params + "}\n"
				if answer := d.ask(request); !regexp.MustCompile(`"result"`).MatchString(answer) {
					b.Fatalf("the call failed: %s", answer)
				}
				for b.Loop() {
					d.ask(request)
				}
				b.ReportMetric(d.residentKiB(), "KiB-resident")
			})
		}
	}
}
