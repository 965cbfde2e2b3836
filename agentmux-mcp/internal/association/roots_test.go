package association_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/association"
	"github.com/agentmux/agentmux-go/mcptools"
)

func TestRoots(t *testing.T) {
	dir := temporary(t)
	account := func() (string, error) { return "/account", nil }
	for _, tt := range []struct {
		name               string
		in                 association.Input
		configuration      []string
		configurationNamed string
		state, records     association.Root
	}{
		{
			name:               "defaults",
			in:                 association.Input{Environ: []string{"HOME=/home/u"}},
			configuration:      []string{"/home/u/.config/agentmux"},
			configurationNamed: "the default",
			state:              association.Root{Path: "/home/u/.local/state/agentmux", Source: "the default"},
			records:            association.Root{Path: "/home/u/.local/state/agentmux/inscriptions", Source: "the default"},
		},
		{
			name:               "XDG",
			in:                 association.Input{Environ: []string{"HOME=/home/u", "XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=/s"}},
			configuration:      []string{"/c/agentmux"},
			configurationNamed: "XDG_CONFIG_HOME",
			state:              association.Root{Path: "/s/agentmux", Source: "XDG_STATE_HOME"},
			records:            association.Root{Path: "/s/agentmux/inscriptions", Source: "XDG_STATE_HOME"},
		},
		{
			name:               "blank and relative XDG",
			in:                 association.Input{Environ: []string{"HOME=/home/u", "XDG_CONFIG_HOME= ", "XDG_STATE_HOME=relative/s"}},
			configuration:      []string{"/home/u/.config/agentmux"},
			configurationNamed: "the default",
			state:              association.Root{Path: "/home/u/.local/state/agentmux", Source: "the default"},
			records:            association.Root{Path: "/home/u/.local/state/agentmux/inscriptions", Source: "the default"},
		},
		{
			name:               "no HOME",
			in:                 association.Input{AccountHome: account},
			configuration:      []string{"/account/.config/agentmux"},
			configurationNamed: "the default",
			state:              association.Root{Path: "/account/.local/state/agentmux", Source: "the default"},
			records:            association.Root{Path: "/account/.local/state/agentmux/inscriptions", Source: "the default"},
		},
		{
			name:               "blank and relative HOME",
			in:                 association.Input{AccountHome: account, Environ: []string{"HOME=", "HOMEDRIVE=/x"}},
			configuration:      []string{"/account/.config/agentmux"},
			configurationNamed: "the default",
			state:              association.Root{Path: "/account/.local/state/agentmux", Source: "the default"},
			records:            association.Root{Path: "/account/.local/state/agentmux/inscriptions", Source: "the default"},
		},
		{
			name: "environment",
			in: association.Input{Environ: []string{
				"HOME=/home/u", "XDG_CONFIG_HOME=/x", "XDG_STATE_HOME=/x",
				"AGENTMUX_CONFIGURATION_DIRECTORY=/c1::relative: :/c2/", "AGENTMUX_STATE_DIRECTORY=s",
			}},
			configuration:      []string{"/c1", dir + "/relative", "/c2"},
			configurationNamed: "AGENTMUX_CONFIGURATION_DIRECTORY",
			state:              association.Root{Path: dir + "/s", Source: "AGENTMUX_STATE_DIRECTORY"},
			records:            association.Root{Path: dir + "/s/inscriptions", Source: "AGENTMUX_STATE_DIRECTORY"},
		},
		{
			name:               "blank environment",
			in:                 association.Input{Environ: []string{"HOME=/home/u", "AGENTMUX_CONFIGURATION_DIRECTORY=: :", "AGENTMUX_STATE_DIRECTORY= "}},
			configuration:      []string{"/home/u/.config/agentmux"},
			configurationNamed: "the default",
			state:              association.Root{Path: "/home/u/.local/state/agentmux", Source: "the default"},
			records:            association.Root{Path: "/home/u/.local/state/agentmux/inscriptions", Source: "the default"},
		},
		{
			name: "flags",
			in: association.Input{
				ConfigurationDirectories: []string{"/f1", "", "f2/../f3"}, StateDirectory: "../s", InscriptionsDirectory: "/i",
				Environ: []string{"AGENTMUX_CONFIGURATION_DIRECTORY=/x", "AGENTMUX_STATE_DIRECTORY=/x"},
			},
			configuration:      []string{"/f1", dir + "/f3"},
			configurationNamed: "--config-directory",
			state:              association.Root{Path: dir[:strings.LastIndex(dir, "/")] + "/s", Source: "--state-directory"},
			records:            association.Root{Path: "/i", Source: "--inscriptions-directory"},
		},
		{
			name: "blank flags",
			in: association.Input{
				ConfigurationDirectories: []string{" "}, StateDirectory: " ", InscriptionsDirectory: " ", RepositoryRoot: " ",
				Environ: []string{"AGENTMUX_CONFIGURATION_DIRECTORY=/c", "AGENTMUX_STATE_DIRECTORY=/s"},
			},
			configuration:      []string{"/c"},
			configurationNamed: "AGENTMUX_CONFIGURATION_DIRECTORY",
			state:              association.Root{Path: "/s", Source: "AGENTMUX_STATE_DIRECTORY"},
			records:            association.Root{Path: "/s/inscriptions", Source: "AGENTMUX_STATE_DIRECTORY"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.WorkingDirectory, tt.in.Git = dir, "/nonexistent"
			a := association.Resolve(t.Context(), tt.in)
			if a.Fault != nil {
				t.Fatal(a.Fault)
			}
			r := a.Roots
			if !slices.Equal(r.Configuration, tt.configuration) || r.ConfigurationSource != tt.configurationNamed {
				t.Errorf("configuration: got %q from %q, want %q from %q",
					r.Configuration, r.ConfigurationSource, tt.configuration, tt.configurationNamed)
			}
			if r.State != tt.state {
				t.Errorf("state: got %q, want %q", r.State, tt.state)
			}
			if r.Inscriptions != tt.records {
				t.Errorf("inscriptions: got %q, want %q", r.Inscriptions, tt.records)
			}
			b := r.Bundles()
			if !slices.Equal(b.Layers, tt.configuration) || b.StateRoot != tt.state.Path {
				t.Errorf("bundles are read from %+v", b)
			}
		})
	}
}

// What cannot be told is a fault only where it is needed.
func TestRootsWithoutHome(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   association.Input
		root string // that is missing, "" for none
		flag string
	}{
		{name: "nothing is named", root: "configuration", flag: "--config-directory"},
		{name: "configuration", in: association.Input{ConfigurationDirectories: []string{"/c"}}, root: "state", flag: "--state-directory"},
		{name: "state", in: association.Input{StateDirectory: "/s"}, root: "configuration", flag: "--config-directory"},
		{name: "both", in: association.Input{ConfigurationDirectories: []string{"/c"}, StateDirectory: "/s"}},
		{name: "XDG", in: association.Input{Environ: []string{"XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=/s"}}},
	} {
		for name, account := range map[string]func() (string, error){
			"no account":       func() (string, error) { return "", errors.New("no such user") },
			"account homeless": func() (string, error) { return "", nil },
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				tt.in.AccountHome, tt.in.WorkingDirectory, tt.in.Git = account, "/", "/nonexistent"
				a := association.Resolve(t.Context(), tt.in)
				if tt.root == "" {
					if a.Fault != nil {
						t.Error(a.Fault)
					}
					return
				}
				checkFault(t, a, mcptools.CodeStartupFailed, "the "+tt.root+" directory: HOME is not set", tt.flag)
				if got := a.Roots.State.Path; (got == "") != (tt.in.StateDirectory == "") {
					t.Errorf("the state root is %q", got)
				}
			})
		}
	}
}

func TestRootsWithoutWorkingDirectory(t *testing.T) {
	for _, tt := range []struct {
		name  string
		in    association.Input
		cause string
	}{
		{"configuration", association.Input{ConfigurationDirectories: []string{"c"}}, "configuration directory: the working directory is unknown"},
		{"state", association.Input{StateDirectory: "s"}, "state directory: the working directory is unknown"},
		{"inscriptions", association.Input{InscriptionsDirectory: "i"}, "inscriptions directory: the working directory is unknown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Environ = []string{"HOME=/home/u"}
			a := association.Resolve(t.Context(), tt.in)
			checkFault(t, a, mcptools.CodeStartupFailed, tt.cause, "absolute --")
		})
	}
}

// checkFault checks that an association is a fault with a code, whose cause and hint have a text in them.
func checkFault(t *testing.T, a association.Association, code, cause, hint string) {
	t.Helper()
	if a.Bundle != "" || a.Session != "" || a.Reason != "" {
		t.Errorf("got %q, %q and the reason %q besides a fault", a.Bundle, a.Session, a.Reason)
	}
	f := a.Fault
	if f == nil {
		t.Fatal("got no fault")
	}
	gotCause, _ := f.Details["cause"].(string)
	gotHint, _ := f.Details["hint"].(string)
	if f.Code != code || f.Details["phase"] != "startup" || len(f.Details) != 3 ||
		!strings.Contains(gotCause, cause) || !strings.Contains(gotHint, hint) {
		t.Errorf("got %s %q, want %s with the cause %q and the hint %q", f.Code, f.Details, code, cause, hint)
	}
	if f.Message != gotCause+" "+gotHint {
		t.Errorf("the message is %q, not the cause and the hint", f.Message)
	}
}
