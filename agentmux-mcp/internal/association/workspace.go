package association

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux-go/mcptools"
)

// gitTimeout bounds what asking Git may cost: a repository on a mount that hangs is no repository.
const gitTimeout = 2 * time.Second

// A workspace is where a process works.
type workspace struct {
	directory string // working directory; "" where it cannot be told
	root      string // top level of its Git worktree, or directory
	common    string // Git directory that all worktrees of the repository share; "" where there is none
}

// workspace asks Git about the working directory. No Git, no repository and any error of Git mean a
// workspace without one. A repository root that was named and is no directory is a fault; the workspace
// is empty then.
func (in Input) workspace(ctx context.Context) (workspace, *mcptools.Refusal) {
	w := workspace{directory: in.WorkingDirectory}
	if named := present(in.RepositoryRoot); named != "" {
		dir, err := in.absolute(named)
		if err == nil && !isDirectory(dir) {
			err = fmt.Errorf("%s is no directory", dir)
		}
		if err != nil {
			return workspace{}, fault(mcptools.CodeInvalidArguments,
				fmt.Sprintf("%s cannot be used: %v.", in.Flag("repository-root"), err),
				"Start the server with the path of a worktree.")
		}
		w.directory = dir
	}
	w.root = w.directory
	if w.directory == "" {
		return w, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	// A repository without a worktree, or the inside of a Git directory, has no top level.
	if top := in.askGit(ctx, w.directory, "--show-toplevel"); top != "" {
		w.root = top
	}
	// Git answers this one with a path that is relative to where it runs.
	if common := in.askGit(ctx, w.root, "--git-common-dir"); common != "" {
		if !filepath.IsAbs(common) {
			common = filepath.Join(w.root, common)
		}
		w.common = common
	}
	return w, nil
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// askGit returns the one path that git rev-parse prints for an option, "" for none. One question at a
// time, since a path may have newlines in it.
func (in Input) askGit(ctx context.Context, dir, option string) string {
	program := in.Git
	if program == "" {
		program = "git"
	}
	cmd := exec.CommandContext(ctx, program, "rev-parse", option)
	cmd.Dir = dir
	cmd.Env = gitEnviron(in.Environ)
	cmd.WaitDelay = 100 * time.Millisecond // for what git itself started and left behind
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(out), "\n")
}

// gitEnviron returns environ without the variables that make git answer for another repository than that
// of its directory; a hook that starts us sets them.
func gitEnviron(environ []string) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY":
			return true
		}
		return false
	})
	return append(kept, "GIT_OPTIONAL_LOCKS=0")
}

// bundle is the guess at the bundle: all worktrees of a repository are of one.
func (w workspace) bundle() Name {
	if w.common != "" {
		return guess(filepath.Dir(w.common), "the Git repository "+w.common)
	}
	return guess(w.directory, "the working directory "+w.directory)
}

// session is the guess at the session: each worktree has its own.
func (w workspace) session() Name {
	if w.common != "" {
		return guess(w.root, "the Git worktree "+w.root)
	}
	return guess(w.root, "the working directory "+w.root)
}

func guess(dir, source string) Name {
	if dir == "" {
		return Name{Guessed: true}
	}
	return Name{filepath.Base(dir), source, true}
}
