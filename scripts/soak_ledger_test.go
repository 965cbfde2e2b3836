package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A soakLedger holds what the clients of a soak were told against what the relay saw. A request that was answered was
// submitted once; one of which the client was told that nothing was sent never; any other once at most.
type soakLedger struct {
	t *testing.T

	mu       sync.Mutex
	accounts map[string]*soakAccount // by name of the request: see soakRequest.name
	answers  []string                // by serial, the request that it belongs to; "" once a client was told
	outcomes map[string]int          // for the test's log
	records  map[string]*soakRecords // by prefix in the event log
}

// A soakAccount counts requests of one name. Most names occur once.
type soakAccount struct {
	submitted int // to the relay
	answered  int // by the relay, as far as clients were told
	unknown   int // that clients do not know the fate of
}

// soakRecords counts records of the event log.
type soakRecords struct {
	least, most       int // requests that there should be; a cancelled call may end before its record
	requests, endings int
}

func newSoakLedger(t *testing.T) *soakLedger {
	return &soakLedger{
		t: t, accounts: make(map[string]*soakAccount), outcomes: make(map[string]int), records: make(map[string]*soakRecords),
	}
}

// expect opens the accounts of a call.
func (l *soakLedger) expect(c soakCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range c.asks {
		if l.accounts[name] == nil {
			l.accounts[name] = new(soakAccount)
		}
	}
	if c.log == "" {
		return
	}
	if l.records[c.log] == nil {
		l.records[c.log] = new(soakRecords)
	}
	l.records[c.log].most++
	if c.patience == 0 {
		l.records[c.log].least++
	}
}

// submit notes a request that came to the relay and returns its serial.
func (l *soakLedger) submit(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, name)
	if account := l.accounts[name]; account != nil {
		account.submitted++
	} else {
		l.t.Errorf("the relay was asked for %s, which no right call asks for", name)
	}
	return len(l.answers) - 1
}

// settle takes down what the client of a call was told.
func (l *soakLedger) settle(c soakCall, o soakOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	outcome, err := l.judge(c, o)
	l.outcomes[outcome]++
	if err != nil {
		l.t.Errorf("call %d, %s %v: %v\nresult %s\nerror %s", c.number, c.tool, c.params, err, o.Result, o.Error)
	}
}

// unknown takes down that the fate of requests is unknown. l.mu is held.
func (l *soakLedger) unknown(names []string) {
	for _, name := range names {
		l.accounts[name].unknown++
	}
}

// answered takes down that a serial answered the request of a name. l.mu is held.
func (l *soakLedger) answered(name string, serial int) error {
	l.accounts[name].answered++
	if serial < 0 || serial >= len(l.answers) || l.answers[serial] != name {
		return fmt.Errorf("%s was answered with %d, which belongs to another request or was told before", name, serial)
	}
	l.answers[serial] = ""
	return nil
}

// inscribed notes a record of the event log.
func (l *soakLedger) inscribed(event, details string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if strings.Contains(details, soakSecret) {
		l.t.Errorf("a secret in the log: %s %s", event, details)
	}
	prefix, ending := event, ""
	if dot := strings.LastIndexByte(event, '.'); dot >= 0 {
		prefix, ending = event[:dot], event[dot+1:]
	}
	records := l.records[prefix]
	switch {
	case slices.Contains([]string{"mcp.startup", "mcp.relay.reconnecting", "mcp.tool.stream.events_ignored"}, event):
	case records == nil:
		l.t.Errorf("a record that no call has: %s %s", event, details)
	case ending == "request":
		records.requests++
	case slices.Contains([]string{"success", "relay_error", "unexpected_response", "io_error"}, ending):
		records.endings++
	default:
		l.t.Errorf("a record that is no ending: %s %s", event, details)
	}
}

// check closes the accounts, when client, server and relay have ended.
func (l *soakLedger) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, a := range l.accounts {
		if a.submitted < a.answered || a.submitted > a.answered+a.unknown {
			l.t.Errorf("%s was submitted %d times: %d were answered, %d may or may not have been submitted",
				name, a.submitted, a.answered, a.unknown)
		}
	}
	for prefix, r := range l.records {
		if r.requests < r.least || r.requests > r.most || r.endings != r.requests {
			l.t.Errorf("%s: %d requests, want %d to %d; %d endings", prefix, r.requests, r.least, r.most, r.endings)
		}
	}
	l.t.Logf("%d requests at the relay; calls: %v", len(l.answers), l.outcomes)
}
