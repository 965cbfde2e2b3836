package scripts_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/relaytest"
)

// An answer of tens of MiB comes through the server whole, as text and as structured content, and the call after it
// is answered. It is the answer to up, which has a minute: any other has five seconds, within which a slow machine does
// not read as much.
func TestLongAnswer(t *testing.T) {
	const count = 1000
	bundle := `{"bundle_name":"demo","outcome":"hosted","reason":"` + strings.Repeat("0123456789 €", 1500) + `"}` // 21 MB in all
	script := usualHello + `> {"frame":"request","request_id":"$1","namespace":"demo","request":{"operation":"up"}}
<< ` + "`" + `{"frame":"response","request_id":"$1","response":{"kind":"bundle_transition","bundles":[` + "`" + `
<<* ` + fmt.Sprint(count) + " `" + bundle + ",`" + `
<< "{}]}}\n"
> {"frame":"request","request_id":"$2","namespace":"demo","request":{"operation":"choices_list"}}
< {"frame":"response","request_id":"$2","response":{"kind":"choices_list","pending_requests":[]}}
silence`
	relay := relaytest.Start(t, script)
	cmd := newProcess(t, "--bundle", "demo", "--session-name", "alpha", "--state-directory", t.TempDir(), "--relay-socket", relay.Socket(),
		"--config-directory", configuration(t))
	cmd.Stderr = os.Stderr
	in, stdout := startPiped(t, cmd)
	out := bufio.NewReader(stdout)
	ask := func(text string) string {
		t.Helper()
		_, err := io.WriteString(in, text+"\n")
		said, readErr := out.ReadString('\n')
		if err := errors.Join(err, readErr); err != nil {
			t.Fatalf("%v: %.300s", err, said)
		}
		return said
	}
	ask(strings.TrimSpace(initialize))
	answer := ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"updown","arguments":{"command":"up"}}}`)
	// Not decoded, which would take longer than all else.
	want := strings.Repeat(bundle+",", count)
	for form, want := range map[string]string{"structured content": want, "text": strings.ReplaceAll(want, `"`, `\"`)} {
		if !strings.Contains(answer, want) {
			t.Errorf("the %s did not come whole: %d bytes, %.300s", form, len(answer), answer)
		}
	}
	answer = ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list","arguments":{"command":"decisions"}}}`)
	if !strings.Contains(answer, `"structuredContent":{"pending_requests":[]}`) {
		t.Errorf("the next call was answered with %s", answer)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// configuration is a directory with the usual bundle.
func configuration(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"coders.toml": usualCoders, "bundles/demo.toml": usualBundle}
	err := os.Mkdir(dir+"/bundles", 0o700)
	for path, text := range files {
		err = errors.Join(err, os.WriteFile(dir+"/"+path, []byte(text), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
