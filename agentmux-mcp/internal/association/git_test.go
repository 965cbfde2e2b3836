package association_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/association"
)

// quietGit keeps the configuration of whoever runs the tests away from git.
var quietGit = []string{
	"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
	"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
}

// git runs a git command in dir.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, quietGit
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// repository makes a repository with one commit.
func repository(t *testing.T, dir string, options ...string) {
	t.Helper()
	git(t, dir, append([]string{"init", "-q"}, options...)...)
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
}

// guessed is what an association without any names guesses.
type guessed struct{ bundle, session string }

func guess(t *testing.T, in association.Input) guessed {
	t.Helper()
	in.ConfigurationDirectories = []string{"/nonexistent"}
	in.StateDirectory = "/nonexistent"
	a := association.Resolve(t.Context(), in)
	if a.Fault != nil {
		t.Fatal(a.Fault)
	}
	if !a.SoughtBundle.Guessed || !a.SoughtSession.Guessed {
		t.Errorf("%+v and %+v are no guesses", a.SoughtBundle, a.SoughtSession)
	}
	return guessed{a.SoughtBundle.Text, a.SoughtSession.Text}
}

func TestGuessFromGit(t *testing.T) {
	for _, tt := range []struct {
		name string
		// make makes a repository in root and returns the working directory.
		make func(t *testing.T, root string) string
		want guessed
	}{
		{"main worktree", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			return root + "/demo"
		}, guessed{"demo", "demo"}},
		{"subdirectory", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			return directory(t, root+"/demo/src/deep")
		}, guessed{"demo", "demo"}},
		{"linked worktree", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			git(t, root+"/demo", "worktree", "add", "-q", "../trees/alpha")
			return root + "/trees/alpha"
		}, guessed{"demo", "alpha"}},
		{"subdirectory of a linked worktree", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			git(t, root+"/demo", "worktree", "add", "-q", "../trees/alpha")
			return directory(t, root+"/trees/alpha/src")
		}, guessed{"demo", "alpha"}},
		{"worktree of a hidden bare repository", func(t *testing.T, root string) string {
			repository(t, root+"/seed")
			git(t, root+"/demo", "clone", "-q", "--bare", root+"/seed", ".bare")
			git(t, root+"/demo/.bare", "worktree", "add", "-q", "-b", "alpha", "../alpha")
			return root + "/demo/alpha"
		}, guessed{"demo", "alpha"}},
		{"bare repository", func(t *testing.T, root string) string {
			git(t, root+"/team/demo.git", "init", "-q", "--bare")
			return root + "/team/demo.git"
		}, guessed{"team", "demo.git"}},
		{"inside a bare repository", func(t *testing.T, root string) string {
			git(t, root+"/team/demo.git", "init", "-q", "--bare")
			return root + "/team/demo.git/refs/heads"
		}, guessed{"team", "heads"}},
		{"inside the Git directory", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			return root + "/demo/.git/refs"
		}, guessed{"demo", "refs"}},
		{"separate Git directory", func(t *testing.T, root string) string {
			directory(t, root+"/store")
			repository(t, root+"/demo", "--separate-git-dir", root+"/store/data")
			return root + "/demo"
		}, guessed{"store", "demo"}},
		{"submodule", func(t *testing.T, root string) string {
			repository(t, root+"/part")
			repository(t, root+"/demo")
			git(t, root+"/demo", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", root+"/part", "lib")
			return root + "/demo/lib"
		}, guessed{"modules", "lib"}},
		{"symbolic link to a worktree", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			return symlink(t, "demo", root+"/link")
		}, guessed{"demo", "demo"}},
		{"symbolic link into a worktree", func(t *testing.T, root string) string {
			repository(t, root+"/demo")
			directory(t, root+"/demo/src/deep")
			return symlink(t, "demo/src/deep", root+"/link")
		}, guessed{"demo", "demo"}},
		{"spaces", func(t *testing.T, root string) string {
			repository(t, root+"/ my demo ")
			return root + "/ my demo "
		}, guessed{" my demo ", " my demo "}},
		{"newlines", func(t *testing.T, root string) string {
			repository(t, root+"/my\n\ndemo\n")
			git(t, root+"/my\n\ndemo\n", "worktree", "add", "-q", "-b", "alpha", "../\nalpha\n\n")
			return root + "/\nalpha\n\n"
		}, guessed{"my\n\ndemo\n", "\nalpha\n\n"}},
		{"no UTF-8", func(t *testing.T, root string) string {
			if runtime.GOOS == "darwin" {
				t.Skip("names are UTF-8 here")
			}
			repository(t, root+"/d\xffmo")
			return root + "/d\xffmo"
		}, guessed{"d\xffmo", "d\xffmo"}},
		{"no repository", func(t *testing.T, root string) string {
			return directory(t, root+"/team/demo")
		}, guessed{"demo", "demo"}},
		{"broken repository", func(t *testing.T, root string) string {
			repository(t, root+"/team")
			write(t, root+"/team/demo/.git", "gitdir: nowhere\n")
			return root + "/team/demo"
		}, guessed{"demo", "demo"}},
		{"removed directory", func(t *testing.T, root string) string {
			repository(t, root+"/team")
			return root + "/team/demo"
		}, guessed{"demo", "demo"}},
		{"somebody else's repository", func(t *testing.T, root string) string {
			if os.Geteuid() != 0 {
				t.Skip("only root may give files away")
			}
			repository(t, root+"/team")
			if err := os.Chown(root+"/team/.git", 1, 1); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(root+"/team", 1, 1); err != nil {
				t.Fatal(err)
			}
			return directory(t, root+"/team/demo")
		}, guessed{"demo", "demo"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tt.make(t, temporary(t))
			if got := guess(t, association.Input{WorkingDirectory: dir, Environ: quietGit}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// temporary is a directory whose path has no symbolic links in it, as git shows paths.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func directory(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func symlink(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	directory(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The overrides of a worktree are at its top, wherever in it the process is started.
func TestOverridesOfAWorktree(t *testing.T) {
	root := temporary(t)
	repository(t, root+"/demo")
	git(t, root+"/demo", "worktree", "add", "-q", "../alpha")
	write(t, root+"/demo/"+overrides, "session_name = 'main'\n")
	write(t, root+"/alpha/"+overrides, "session_name = 'linked'\nconfig_root = 'conf'\n")
	a := association.Resolve(t.Context(), association.Input{
		WorkingDirectory: directory(t, root+"/alpha/src/deep"), Environ: quietGit, StateDirectory: root,
	})
	if a.SoughtSession.Text != "linked" || !slices.Equal(a.Roots.Configuration, []string{root + "/alpha/conf"}) {
		t.Errorf("got %+v, want what %s says", a, root+"/alpha/"+overrides)
	}
}

// A hook runs us with variables that point git to the hook's own repository.
func TestGitVariablesOfAHook(t *testing.T) {
	root := temporary(t)
	repository(t, root+"/demo")
	repository(t, root+"/other")
	for _, variable := range []string{
		"GIT_DIR=" + root + "/other/.git",
		"GIT_WORK_TREE=" + root + "/other",
		"GIT_COMMON_DIR=" + root + "/other/.git",
	} {
		t.Run(variable, func(t *testing.T) {
			in := association.Input{WorkingDirectory: root + "/demo", Environ: append(slices.Clone(quietGit), variable)}
			if got, want := guess(t, in), (guessed{"demo", "demo"}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestGitEnvironment(t *testing.T) {
	root := temporary(t)
	guess(t, association.Input{
		WorkingDirectory: directory(t, root+"/demo"),
		Git:              program(t, root+"/git", "env >"+root+"/environ"),
		Environ: []string{
			"GIT_DIR=x", "GIT_WORK_TREE=x", "GIT_INDEX_FILE=x", "GIT_COMMON_DIR=x", "GIT_OBJECT_DIRECTORY=x",
			"GIT_CEILING_DIRECTORIES=/", "PATH=" + os.Getenv("PATH"), "GIT_OPTIONAL_LOCKS=1",
		},
	})
	environ, err := os.ReadFile(root + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(environ)) {
		if strings.HasPrefix(line, "GIT_") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(got)
	if want := []string{"GIT_CEILING_DIRECTORIES=/", "GIT_OPTIONAL_LOCKS=0"}; !slices.Equal(got, want) {
		t.Errorf("git ran with %q, want %q", got, want)
	}
}

// program makes a shell script.
func program(t *testing.T, path, script string) string {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestGitCeiling(t *testing.T) {
	root := temporary(t)
	repository(t, root+"/demo")
	in := association.Input{
		WorkingDirectory: directory(t, root+"/demo/src"),
		Environ:          append(slices.Clone(quietGit), "GIT_CEILING_DIRECTORIES="+root+"/demo"),
	}
	if got, want := guess(t, in), (guessed{"src", "src"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A repository that we are started in may be anybody's: nothing of it is run.
func TestGitRunsNothing(t *testing.T) {
	root := temporary(t)
	repository(t, root+"/demo")
	planted := program(t, root+"/planted", "touch "+root+"/ran")
	for _, key := range []string{"core.fsmonitor", "core.pager", "core.sshCommand", "core.editor"} {
		git(t, root+"/demo", "config", key, planted)
	}
	git(t, root+"/demo", "config", "alias.rev-parse", "!"+planted)
	write(t, root+"/demo/file", "")

	in := association.Input{WorkingDirectory: root + "/demo", Environ: quietGit}
	if got, want := guess(t, in), (guessed{"demo", "demo"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(root + "/ran"); err == nil {
		t.Error("the repository's program was run")
	}
	git(t, root+"/demo", "add", "file")
	if _, err := os.Stat(root + "/ran"); err != nil {
		t.Error("the repository's program is not one that git would run:", err)
	}
}

// Nor is what the environment has git run, as that of a hook, of a client or of somebody who debugs git may. What git
// itself can't work with is no repository.
func TestGitVariablesThatNamePrograms(t *testing.T) {
	root := temporary(t)
	repository(t, root+"/demo")
	directory(t, root+"/demo/src")
	planted := program(t, root+"/planted/git-rev-parse", "touch "+root+"/ran")
	for _, tt := range []struct {
		name    string
		environ []string
		want    guessed
	}{
		{"programs", []string{
			"GIT_PAGER=" + planted, "GIT_EDITOR=" + planted, "GIT_SEQUENCE_EDITOR=" + planted, "GIT_SSH=" + planted,
			"GIT_SSH_COMMAND=" + planted, "GIT_ASKPASS=" + planted, "GIT_EXTERNAL_DIFF=" + planted, "GIT_PROXY_COMMAND=" + planted,
		}, guessed{"demo", "demo"}},
		{"programs of git", []string{"GIT_EXEC_PATH=" + root + "/planted"}, guessed{"demo", "demo"}},
		{"configuration", []string{
			"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=alias.rev-parse", "GIT_CONFIG_VALUE_0=!" + planted,
			"GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_1=" + planted,
		}, guessed{"demo", "demo"}},
		{"configuration of another worktree", []string{"GIT_CONFIG_PARAMETERS='core.worktree'='" + root + "' 'core.bare'='true'"},
			guessed{"demo", "demo"}},
		{"configuration that is none", []string{"GIT_CONFIG_COUNT=x"}, guessed{"src", "src"}},
		{"traces", []string{"GIT_TRACE=1", "GIT_TRACE_SETUP=1", "GIT_TRACE2=1", "GIT_TRACE2_EVENT=1"}, guessed{"demo", "demo"}},
		{"namespace and prefix", []string{"GIT_NAMESPACE=other", "GIT_PREFIX=other/"}, guessed{"demo", "demo"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := association.Input{WorkingDirectory: root + "/demo/src", Environ: append(slices.Clone(quietGit), tt.environ...)}
			if got := guess(t, in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if _, err := os.Stat(root + "/ran"); err == nil {
				t.Error("a planted program was run")
			}
		})
	}
}

// A program of the directory that the process works in is not git, whatever the PATH says of that directory.
func TestGitOfTheWorkingDirectory(t *testing.T) {
	root := temporary(t)
	work := directory(t, root+"/demo")
	program(t, work+"/git", "touch "+root+"/ran; echo "+root+"/planted")
	t.Chdir(work)
	for _, path := range []string{".", ":/nonexistent", "/nonexistent:", ""} {
		t.Run(path, func(t *testing.T) {
			t.Setenv("PATH", path)
			in := association.Input{WorkingDirectory: work, Environ: []string{"PATH=" + path}}
			if got, want := guess(t, in), (guessed{"demo", "demo"}); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if _, err := os.Stat(root + "/ran"); err == nil {
				t.Error("the planted program was run")
			}
		})
	}
}

func TestGitMissing(t *testing.T) {
	root := temporary(t)
	in := association.Input{WorkingDirectory: directory(t, root+"/demo"), Environ: quietGit, Git: root + "/git"}
	if got, want := guess(t, in), (guessed{"demo", "demo"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A git that does not come back, and whose child holds its output open, is given up together with the call.
func TestGitHangs(t *testing.T) {
	root := temporary(t)
	for _, pipe := range []string{"/started", "/end"} {
		if err := syscall.Mkfifo(root+pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	end, err := os.OpenFile(root+"/end", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	in := association.Input{
		WorkingDirectory: directory(t, root+"/demo"), Environ: quietGit,
		Git:                      program(t, root+"/git", "exec 3<"+root+"/end; echo >"+root+"/started; cat <&3"),
		ConfigurationDirectories: []string{root}, StateDirectory: root,
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resolved := make(chan association.Association, 1)
	go func() { resolved <- association.Resolve(ctx, in) }()
	if _, err := os.ReadFile(root + "/started"); err != nil { // until git is running
		t.Fatal(err)
	}
	cancel()
	if a := <-resolved; a.SoughtBundle.Text != "demo" || a.Fault != nil {
		t.Errorf("got %+v, want a guess from the working directory", a)
	}
}
