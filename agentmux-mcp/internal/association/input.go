package association

import (
	"os/user"
	"path/filepath"
	"strings"
)

// Input is all that decides who this process is. Blank strings count as absent.
type Input struct {
	// Flags.
	Bundle                   string
	Session                  string
	ConfigurationDirectories []string // layers, the first wins
	StateDirectory           string
	InscriptionsDirectory    string
	RepositoryRoot           string // taken for the working directory

	// Variables are the variables that flags got their values from, by the flag's name, for those that were
	// not given on the command line.
	Variables map[string]string

	Environ          []string // as of [os.Environ]
	WorkingDirectory string   // absolute; "" where it cannot be told, as after its removal

	// Git is the git program. "": git of the PATH.
	Git string
	// AccountHome returns the home directory that the account database has. Nil: that of [os/user].
	AccountHome func() (string, error)
}

// Variables of the environment that a newer relay sets in the sessions that it starts.
const (
	variableBundle        = "AGENTMUX_BUNDLE"
	variableSession       = "AGENTMUX_SESSION"
	variableConfiguration = "AGENTMUX_CONFIGURATION_DIRECTORY"
	variableState         = "AGENTMUX_STATE_DIRECTORY"
)

// Flag is what an error calls the source of a flag's value.
func (in Input) Flag(name string) string {
	if variable := in.Variables[name]; variable != "" {
		return variable
	}
	return "--" + name
}

// getenv returns a variable's value, "" where it is blank.
func (in Input) getenv(name string) string {
	for _, variable := range in.Environ {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return present(value)
		}
	}
	return ""
}

// getdir returns the value of a variable that holds an absolute path by convention, "" for any other.
func (in Input) getdir(name string) string {
	if dir := in.getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	return ""
}

// present returns s, or "" where it is blank.
func present(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// home returns the user's home directory. MCP clients strip the environment, so HOME may not be there.
func (in Input) home() (string, error) {
	if dir := in.getdir("HOME"); dir != "" {
		return dir, nil
	}
	account := in.AccountHome
	if account == nil {
		account = func() (string, error) {
			u, err := user.Current()
			if err != nil {
				return "", err
			}
			return u.HomeDir, nil
		}
	}
	dir, err := account()
	if err == nil && !filepath.IsAbs(dir) {
		err = errNoHome
	}
	return dir, err
}

// absolute returns path as seen from the working directory.
func (in Input) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if in.WorkingDirectory == "" {
		return "", errNoWorkingDirectory
	}
	return filepath.Join(in.WorkingDirectory, path), nil
}
