package command

import "runtime/debug"

// version is the module's version, as the Go command recorded it in the build.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
