package scripts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadme makes sure that what the README leads to is there: files, tests, subtests, flags. A promise whose proof
// was renamed or deleted is none.
func TestReadme(t *testing.T) {
	text := readFile(t, "../README.md")
	tests := testSources(t, "..")

	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("..", link[1])); err != nil {
			t.Errorf("the link to %s leads nowhere", link[1])
		}
	}
	for _, name := range regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(tests, "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}

	_, versions, _ := strings.Cut(text, "\n## Relay versions\n")
	versions, _, _ = strings.Cut(versions, "\n## ")
	rows := 0
	for line := range strings.Lines(versions) {
		cells := strings.Split(strings.TrimSuffix(line, " |\n"), " | ")
		if len(cells) < 3 || !strings.Contains(line, "✓") {
			continue
		}
		rows++
		subtests := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(subtests) == 0 {
			t.Errorf("nothing shows %s", line)
		}
		for _, subtest := range subtests {
			for name := range strings.SplitSeq(subtest[1], "/") {
				if !strings.Contains(tests, `"`+name+`"`) {
					t.Errorf("no subtest has the name %s of %s", name, subtest[1])
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("%d rows say what works with which relay", rows)
	}
}

// TestReadmeFlags holds the README's table of flags against the command's own help.
func TestReadmeFlags(t *testing.T) {
	help, err := newProcess(t, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(readFile(t, "../README.md"), "\n## Flags and environment\n")
	table, _, _ = strings.Cut(table, "\n## ")
	flag := regexp.MustCompile(`--[a-z][a-z-]*`)
	inHelp := flag.FindAllString(string(help), -1)
	inHelp = slices.DeleteFunc(inHelp, func(name string) bool { return name == "--help" || name == "--version" })
	slices.Sort(inHelp)
	inTable := flag.FindAllString(table, -1)
	slices.Sort(inTable)
	if got, want := slices.Compact(inTable), slices.Compact(inHelp); !slices.Equal(got, want) {
		t.Errorf("the README has the flags\n%q, the command\n%q", got, want)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testSources returns the tests of a directory and of those below, as one text.
func testSources(t *testing.T, directory string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(directory, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			all.WriteString(readFile(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
