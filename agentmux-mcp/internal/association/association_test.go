package association_test

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/association"
	"github.com/agentmux/agentmux-go/mcptools"
)

const overrides = ".auxiliary/configuration/agentmux/overrides/mcp.toml"

// bundle is a bundle file with marked sessions; "alpha=/src" has a directory.
func bundle(sessions ...string) string {
	var text strings.Builder
	text.WriteString("format-version = 1\n")
	for _, s := range sessions {
		id, directory, _ := strings.Cut(s, "=")
		text.WriteString("[[sessions]]\nid = '" + id + "'\ndirectory = '" + directory + "'\n[sessions.ui]\n")
	}
	return text.String()
}

// A scene is a working directory called demo with a configuration root beside it.
type scene struct {
	root, work, config string
	in                 association.Input
}

// set makes a scene. In the names and texts of files, and in flags and variables, $ROOT is its directory.
func set(t *testing.T, files map[string]string, in association.Input) scene {
	t.Helper()
	root := temporary(t)
	expand := func(s string) string { return strings.ReplaceAll(s, "$ROOT", root) }
	for name, text := range files {
		write(t, filepath.Join(root, name), expand(text))
	}
	in.Environ = slices.Clone(in.Environ)
	in.Environ = append(in.Environ, "HOME="+root)
	for i := range in.Environ {
		in.Environ[i] = expand(in.Environ[i])
	}
	in.RepositoryRoot = expand(in.RepositoryRoot)
	in.WorkingDirectory = directory(t, filepath.Join(root, "demo"))
	in.Git = "/nonexistent"
	t.Chdir(root) // where relative paths must not be looked for
	return scene{root: root, work: in.WorkingDirectory, config: filepath.Join(root, ".config/agentmux"), in: in}
}

const (
	demoFile  = ".config/agentmux/bundles/demo.toml"
	otherFile = ".config/agentmux/bundles/other.toml"
	layered   = ".config/agentmux/mcp.toml"
	override  = "demo/" + overrides
)

// Who this process is, and which source said so.
func TestResolve(t *testing.T) {
	all := map[string]string{
		demoFile:  bundle("demo", "alpha", "bravo", "charlie", "delta"),
		otherFile: bundle("demo", "alpha", "bravo", "charlie", "delta"),
	}
	for _, tt := range []struct {
		name                          string
		files                         map[string]string // besides, or instead
		in                            association.Input
		bundle, session               string
		bundleSource, sessionSource   string // beginnings
		bundleGuessed, sessionGuessed bool
	}{
		{
			name:   "guesses",
			bundle: "demo", session: "demo",
			bundleSource: "the working directory /", sessionSource: "the working directory /",
			bundleGuessed: true, sessionGuessed: true,
		},
		{
			name: "layered file",
			files: map[string]string{
				layered: "bundle_name = 'other'\nsession_name = 'alpha'\n",
			},
			bundle: "other", session: "alpha",
			bundleSource: "bundle_name in $ROOT/" + layered, sessionSource: "session_name in $ROOT/" + layered,
		},
		{
			name: "overrides win over the layered file",
			files: map[string]string{
				layered:  "bundle_name = 'ghost'\nsession_name = 'alpha'\n",
				override: "bundle_name = ' other '\nsession_name = 'bravo'\n",
			},
			bundle: "other", session: "bravo",
			bundleSource: "bundle_name in $ROOT/" + override, sessionSource: "session_name in $ROOT/" + override,
		},
		{
			name: "each key on its own",
			files: map[string]string{
				layered:  "bundle_name = 'other'\nsession_name = 'alpha'\n",
				override: "bundle_name = ' '\nsession_name = 'bravo'\n",
			},
			bundle: "other", session: "bravo",
			bundleSource: "bundle_name in $ROOT/" + layered, sessionSource: "session_name in $ROOT/" + override,
		},
		{
			name: "environment wins over files",
			files: map[string]string{
				override: "bundle_name = 'ghost'\nsession_name = 'ghost'\n",
			},
			in:     association.Input{Environ: []string{"AGENTMUX_BUNDLE=other", "AGENTMUX_SESSION=charlie"}},
			bundle: "other", session: "charlie",
			bundleSource: "AGENTMUX_BUNDLE", sessionSource: "AGENTMUX_SESSION",
		},
		{
			name:   "blank environment",
			in:     association.Input{Environ: []string{"AGENTMUX_BUNDLE=", "AGENTMUX_SESSION= "}},
			bundle: "demo", session: "demo",
			bundleSource: "the working directory /", sessionSource: "the working directory /",
			bundleGuessed: true, sessionGuessed: true,
		},
		{
			name: "flags win over the environment",
			in: association.Input{
				Bundle: "other", Session: "delta",
				Environ: []string{"AGENTMUX_BUNDLE=ghost", "AGENTMUX_SESSION=ghost"},
			},
			bundle: "other", session: "delta",
			bundleSource: "--bundle", sessionSource: "--session-name",
		},
		{
			name:   "bundle named, session guessed",
			in:     association.Input{Bundle: "other"},
			bundle: "other", session: "demo",
			bundleSource: "--bundle", sessionSource: "the working directory /", sessionGuessed: true,
		},
		{
			name:   "session named, bundle guessed",
			in:     association.Input{Session: "alpha"},
			bundle: "demo", session: "alpha",
			bundleSource: "the working directory /", sessionSource: "--session-name", bundleGuessed: true,
		},
		{
			name:   "member of the working directory",
			files:  map[string]string{demoFile: bundle("alpha=$ROOT", "bravo=$ROOT/demo", "charlie=demo", "delta")},
			bundle: "demo", session: "bravo",
			bundleSource: "the working directory /", sessionSource: "the working directory /",
			bundleGuessed: true, sessionGuessed: true,
		},
		{
			name:   "member of another path to the working directory",
			files:  map[string]string{demoFile: bundle("alpha=$ROOT/else", "bravo=$ROOT/else/../demo/.")},
			bundle: "demo", session: "bravo",
			bundleSource: "the working directory /", sessionSource: "the working directory /",
			bundleGuessed: true, sessionGuessed: true,
		},
		{
			name:   "the member of that name wins over that of the directory",
			files:  map[string]string{demoFile: bundle("alpha=$ROOT/demo", "demo=$ROOT/else")},
			bundle: "demo", session: "demo",
			bundleSource: "the working directory /", sessionSource: "the working directory /",
			bundleGuessed: true, sessionGuessed: true,
		},
		{
			name:   "repository root",
			files:  map[string]string{otherFile: bundle("alpha=$ROOT/else/other"), "else/other/" + overrides: "session_name = 'alpha'\n"},
			in:     association.Input{RepositoryRoot: "$ROOT/else/other"},
			bundle: "other", session: "alpha",
			bundleSource: "the working directory $ROOT/else/other", sessionSource: "session_name in $ROOT/else/other/", bundleGuessed: true,
		},
		{
			name:   "relative repository root",
			files:  map[string]string{otherFile: bundle("other"), "else/other/file": ""},
			in:     association.Input{RepositoryRoot: "../else/other"},
			bundle: "other", session: "other",
			bundleSource: "the working directory $ROOT/else/other", sessionSource: "the working directory $ROOT/else/other",
			bundleGuessed: true, sessionGuessed: true,
		},
		{
			name: "configuration root of the overrides",
			files: map[string]string{
				"demo/conf/bundles/demo.toml": bundle("echo"),
				"demo/conf/mcp.toml":          "session_name = 'echo'\n",
				override:                      "config_root = 'conf'\n",
				demoFile:                      "[[",
			},
			in:     association.Input{Environ: []string{"AGENTMUX_CONFIGURATION_DIRECTORY=/nonexistent"}},
			bundle: "demo", session: "echo",
			bundleSource: "the working directory /", sessionSource: "session_name in $ROOT/demo/conf/mcp.toml", bundleGuessed: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"else/file": ""}
			maps.Copy(files, all)
			maps.Copy(files, tt.files)
			s := set(t, files, tt.in)
			a := association.Resolve(t.Context(), s.in)
			if a.Fault != nil || a.Reason != "" {
				t.Fatalf("got the fault %v and the reason %q", a.Fault, a.Reason)
			}
			if a.Bundle != tt.bundle || a.Session != tt.session {
				t.Errorf("got %s@%s, want %s@%s", a.Session, a.Bundle, tt.session, tt.bundle)
			}
			check := func(n association.Name, source string, guessed bool) {
				t.Helper()
				source = strings.ReplaceAll(source, "$ROOT", s.root)
				if !strings.HasPrefix(n.Source, source) || n.Guessed != guessed {
					t.Errorf("got %+v, want the source %q, guessed: %v", n, source, guessed)
				}
			}
			check(a.SoughtBundle, tt.bundleSource, tt.bundleGuessed)
			check(a.SoughtSession, tt.sessionSource, tt.sessionGuessed)
		})
	}
}

func TestResolveSymbolicLinks(t *testing.T) {
	s := set(t, map[string]string{"target/file": ""}, association.Input{Bundle: "team"})
	symlink(t, "target", s.root+"/member")
	symlink(t, "target", s.root+"/start")
	write(t, s.root+"/.config/agentmux/bundles/team.toml", bundle("alpha="+s.root+"/demo", "bravo="+s.root+"/member"))
	s.in.WorkingDirectory = s.root + "/start"
	if a := association.Resolve(t.Context(), s.in); a.Session != "bravo" {
		t.Errorf("got %+v, want the member bravo", a)
	}
}

// A configuration root that is named in the overrides is known by its file, and a flag outranks it.
func TestResolveConfigRoot(t *testing.T) {
	for _, tt := range []struct {
		name, root string
		flag       []string
		want       string // in the scene
		source     string
	}{
		{"relative", "../conf", nil, "/conf", "config_root in "},
		{"absolute", "$ROOT/conf", nil, "/conf", "config_root in "},
		{"blank", " ", nil, "/.config/agentmux", "the default"},
		{"outranked", "conf", []string{"../flag"}, "/flag", "--config-directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := set(t, map[string]string{override: "config_root = '" + tt.root + "'\n"},
				association.Input{ConfigurationDirectories: tt.flag})
			r := association.Resolve(t.Context(), s.in).Roots
			if !slices.Equal(r.Configuration, []string{s.root + tt.want}) || !strings.HasPrefix(r.ConfigurationSource, tt.source) {
				t.Errorf("got %q from %q, want %s from %s", r.Configuration, r.ConfigurationSource, s.root+tt.want, tt.source)
			}
		})
	}
}

// What was said and is not so is a fault.
func TestResolveFault(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		in    association.Input
		code  string // "" for validation_invalid_arguments
		cause string
		hint  string
	}{
		{
			name: "bundle of a flag", in: association.Input{Bundle: "ghost", Session: "demo"},
			code:  mcptools.CodeUnknownBundle,
			cause: `the bundle is named by --bundle, and no bundle "ghost" is configured. There is no file $ROOT/.config/agentmux/bundles/ghost.toml. Use one of the configured bundles (demo)`,
		},
		{
			name: "bundle of the environment", in: association.Input{Environ: []string{"AGENTMUX_BUNDLE=ghost"}},
			code: mcptools.CodeUnknownBundle, cause: "named by AGENTMUX_BUNDLE, and no bundle",
		},
		{
			name: "bundle of the overrides", files: map[string]string{override: "bundle_name = 'ghost'"},
			code: mcptools.CodeUnknownBundle, cause: "named by bundle_name in $ROOT/" + override + ", and no bundle",
		},
		{
			name: "bundle of the layered file", files: map[string]string{layered: "bundle_name = 'ghost'"},
			code: mcptools.CodeUnknownBundle, cause: "named by bundle_name in $ROOT/" + layered + ", and no bundle",
		},
		{
			name: "bundle that is a path", in: association.Input{Bundle: "../bundles/demo"},
			code: mcptools.CodeUnknownBundle, cause: "A bundle's name has",
		},
		{
			name: "session of a flag", in: association.Input{Session: "ghost"},
			code:  mcptools.CodeUnknownSender,
			cause: `the session is named by --session-name, and bundle "demo" ($ROOT/` + demoFile + `) has no member "ghost". Use the id of a member (demo)`,
		},
		{
			name: "qualified session", in: association.Input{Session: "demo@demo"},
			code: mcptools.CodeUnknownSender, cause: `has no member "demo@demo". Use the id of a member (demo) as it stands, without the bundle`,
		},
		{
			// The reference took the member of the working directory instead.
			name: "session of a flag in the directory of a member", in: association.Input{Session: "ghost"},
			files: map[string]string{demoFile: bundle("alpha=$ROOT/demo")},
			code:  mcptools.CodeUnknownSender, cause: `has no member "ghost"`,
		},
		{
			name: "session of the environment", in: association.Input{Environ: []string{"AGENTMUX_SESSION=ghost"}},
			code: mcptools.CodeUnknownSender, cause: "named by AGENTMUX_SESSION, and bundle",
		},
		{
			name: "session of the overrides", files: map[string]string{override: "session_name = 'ghost'"},
			code: mcptools.CodeUnknownSender, cause: "named by session_name in $ROOT/" + override + ", and bundle",
		},
		{
			name: "guessed bundle is broken", files: map[string]string{demoFile: "format-version = 1\n[["},
			cause: "the bundle is guessed from the working directory $ROOT/demo, and $ROOT/" + demoFile + " cannot be used: line 2",
		},
		{
			name: "guessed bundle has no session", files: map[string]string{demoFile: "format-version = 1\n"},
			cause: "$ROOT/" + demoFile + " cannot be used: it has no [[sessions]]",
		},
		{
			name: "guessed bundle has an invalid group", files: map[string]string{demoFile: "groups = ['A b']\n" + bundle("demo")},
			code: mcptools.CodeInvalidGroupName, cause: `$ROOT/` + demoFile + ` cannot be used: groups has "A b"`,
		},
		{
			name: "overrides are broken", files: map[string]string{override: "bundle_name = 'demo'\n[["},
			cause: "$ROOT/" + override + " cannot be used: line 2",
		},
		{
			name: "overrides have an unknown key", files: map[string]string{override: "bundle-name = 'demo'\n"},
			cause: "$ROOT/" + override + ` cannot be used: the key "bundle-name" is unknown, expected bundle_name, session_name, config_root`,
		},
		{
			name: "overrides have a key in another case", files: map[string]string{override: "Bundle_Name = 'demo'\n"},
			cause: `the key "Bundle_Name" is unknown`,
		},
		{
			name: "bundle_name is no text", files: map[string]string{override: "bundle_name = 1"},
			cause: "bundle_name is an integer, not a string",
		},
		{
			name: "session_name is no text", files: map[string]string{override: "session_name = []"},
			cause: "session_name is an array, not a string",
		},
		{
			name: "config_root is no text", files: map[string]string{override: "config_root = true"},
			cause: "config_root is a boolean, not a string",
		},
		{
			name: "overrides are a directory", files: map[string]string{override + "/file": ""},
			cause: "$ROOT/" + override + " cannot be used: it is not a regular file",
		},
		{
			name: "overrides win over flags in being at fault", files: map[string]string{override: "[["},
			in:    association.Input{Bundle: "demo", Session: "demo"},
			cause: "$ROOT/" + override,
		},
		{
			name: "layered file is broken", files: map[string]string{layered: "[["},
			cause: "$ROOT/" + layered + " cannot be used: line 1",
		},
		{
			name: "layered file has a key of the overrides", files: map[string]string{layered: "config_root = '/x'"},
			cause: `$ROOT/` + layered + ` cannot be used: the key "config_root" is unknown, expected bundle_name, session_name`,
		},
		{
			name: "repository root is missing", in: association.Input{RepositoryRoot: "$ROOT/missing", Bundle: "demo", Session: "demo"},
			cause: "--repository-root cannot be used: $ROOT/missing is no directory", hint: "worktree",
		},
		{
			name: "repository root is a file", in: association.Input{RepositoryRoot: "$ROOT/" + demoFile},
			cause: "--repository-root cannot be used: $ROOT/" + demoFile + " is no directory", hint: "worktree",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{demoFile: bundle("demo")}
			maps.Copy(files, tt.files)
			s := set(t, files, tt.in)
			a := association.Resolve(t.Context(), s.in)
			checkFault(t, a, cmp.Or(tt.code, mcptools.CodeInvalidArguments),
				strings.ReplaceAll(tt.cause, "$ROOT", s.root), cmp.Or(tt.hint, "Files are read anew at the next call"))
			if !slices.Equal(a.Roots.Configuration, []string{s.config}) || a.Roots.State.Path == "" {
				t.Errorf("the roots are %+v", a.Roots)
			}
		})
	}
}

// What was guessed and is not so makes the process nobody.
func TestResolveUnassociated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  map[string]string
		in     association.Input
		reason string
	}{
		{
			name:   "no bundle",
			files:  map[string]string{otherFile: bundle("demo")},
			reason: `the bundle is guessed from the working directory $ROOT/demo, and no bundle "demo" is configured. There is no file $ROOT/` + demoFile + `. Use one of the configured bundles (other)`,
		},
		{
			name:   "no configuration",
			reason: "There is no directory $ROOT/.config/agentmux.",
		},
		{
			name:   "no bundle for a named session",
			in:     association.Input{Session: "demo"},
			reason: `no bundle "demo" is configured`,
		},
		{
			name:   "no member",
			files:  map[string]string{demoFile: bundle("alpha=$ROOT", "bravo=/nonexistent")},
			reason: `the session is guessed from the working directory $ROOT/demo, and bundle "demo" ($ROOT/` + demoFile + `) has no member "demo" and none whose directory is $ROOT/demo, only alpha, bravo.`,
		},
		{
			name:   "no member of a named bundle",
			files:  map[string]string{otherFile: bundle("alpha")},
			in:     association.Input{Bundle: "other"},
			reason: `bundle "other" ($ROOT/` + otherFile + `) has no member "demo"`,
		},
		{
			name:   "several members of the working directory",
			files:  map[string]string{demoFile: bundle("alpha=$ROOT/demo", "bravo=/", "charlie=$ROOT/demo/")},
			reason: `bundle "demo" ($ROOT/` + demoFile + `) has several members whose directory is $ROOT/demo: alpha, charlie.`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := set(t, tt.files, tt.in)
			checkReason(t, s, strings.ReplaceAll(tt.reason, "$ROOT", s.root))
		})
	}
}

func checkReason(t *testing.T, s scene, reason string) {
	t.Helper()
	a := association.Resolve(t.Context(), s.in)
	if a.Fault != nil || a.Bundle != "" || a.Session != "" {
		t.Errorf("got %s@%s and the fault %v, want nobody", a.Session, a.Bundle, a.Fault)
	}
	if !strings.Contains(a.Reason, reason) || !strings.HasSuffix(a.Reason, "start the server with --bundle and --session-name.") {
		t.Errorf("got the reason %q, want %q and what to do", a.Reason, reason)
	}
}

func TestResolveWithoutWorkingDirectory(t *testing.T) {
	// None of what is in the directory that the test runs in may be used.
	files := map[string]string{demoFile: bundle("demo", "alpha=/"), "demo/" + overrides: "[["}
	for _, tt := range []struct {
		name, bundle, session string
		reason                string // "" where the process is somebody
	}{
		{"named", "demo", "alpha", ""},
		{"bundle named", "demo", "", `nothing names the session, there is no working directory to guess it from, and the members of bundle "demo"`},
		{"session named", "", "alpha", "nothing names the bundle, and there is no working directory to guess it from."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := set(t, files, association.Input{Bundle: tt.bundle, Session: tt.session})
			s.in.WorkingDirectory = ""
			s.in.Git = program(t, s.root+"/git", "echo "+s.work)
			t.Chdir(s.work)
			if tt.reason != "" {
				checkReason(t, s, tt.reason)
				return
			}
			if a := association.Resolve(t.Context(), s.in); a.Session != tt.session || a.Bundle != tt.bundle {
				t.Errorf("got %+v", a)
			}
		})
	}
	t.Run("session named and unknown", func(t *testing.T) {
		s := set(t, files, association.Input{Bundle: "demo", Session: "ghost"})
		s.in.WorkingDirectory = ""
		checkFault(t, association.Resolve(t.Context(), s.in), mcptools.CodeUnknownSender, `has no member "ghost"`, "")
	})
}

// What was mended is seen by the next look.
func TestResolveAgain(t *testing.T) {
	s := set(t, map[string]string{demoFile: "[["}, association.Input{})
	if a := association.Resolve(t.Context(), s.in); a.Fault == nil {
		t.Fatalf("got %+v, want a fault", a)
	}
	write(t, filepath.Join(s.root, demoFile), bundle("demo"))
	if a := association.Resolve(t.Context(), s.in); a.Session != "demo" || a.Fault != nil {
		t.Errorf("got %+v, want demo@demo", a)
	}
}
