package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// checkOutputPath says why a relay on this machine could not write a new file at path.
func checkOutputPath(path string) error {
	directory, err := os.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		return fmt.Errorf("its directory can't be used: %w", withoutPath(err))
	case !directory.IsDir():
		return errors.New("what should be its directory is a file")
	}
	file, err := os.Lstat(path)
	switch {
	case err == nil && file.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link")
	case err == nil && file.IsDir():
		return errors.New("it is a directory")
	}
	return nil
}

// withoutPath is an error of the file system without the path, which the caller shows.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
