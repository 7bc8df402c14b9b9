package kafkalet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

var pythons = [][]string{{"python3"}, {"python"}, {"python3.14"}, {"python3.13"}, {"python3.12"}, {"python3.11"}}

const (
	isNew       = "import sys; sys.exit(sys.version_info < (3, 11))"
	hasKafkalet = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('kafkalet.__main__'))"
)

// findCommand returns the words of the command that runs kafkalet. It finds the same as the clients for Java and Node,
// the first of these:
//
//  1. a command that is given, as an option or in the environment variable KAFKALET_COMMAND (spaces separate its words)
//  2. the file kafkalet.pyz that is given, as an option or in the environment variable KAFKALET_PYZ
//  3. the program kafkalet on PATH
//  4. the file kafkalet.pyz next to this file
//  5. the module kafkalet, as in `python3 -m kafkalet`
//
// 2, 4 and 5 use the first Python 3.11 or newer among python3, python, python3.14 to python3.11 and, on Windows, py -3.
func (options Options) findCommand() ([]string, error) {
	if len(options.Command) > 0 {
		return slices.Clone(options.Command), nil
	}
	if words := strings.Fields(os.Getenv("KAFKALET_COMMAND")); len(words) > 0 {
		return words, nil
	}
	file, err := options.givenFile()
	if err != nil {
		return nil, err
	}
	if file == "" {
		if program, err := exec.LookPath("kafkalet"); err == nil {
			return []string{program}, nil
		}
		file = bundledFile()
	}
	python := findPython()
	switch {
	case python == nil:
		return nil, notFound(" and no Python 3.11 or newer (python3, python, python3.14 to python3.11)")
	case file != "":
		return append(python, file), nil
	case succeeds(python, hasKafkalet):
		return append(python, "-m", "kafkalet"), nil
	default:
		return nil, notFound(", no file kafkalet.pyz and no module kafkalet of " + python[0])
	}
}

func notFound(missing string) error {
	return fmt.Errorf("cannot run kafkalet: found no program kafkalet on PATH%s; install kafkalet with Python 3.11 or newer "+
		"and `pip install .` in a clone of its repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, which "+
		"`make dist` writes there", missing)
}

func (options Options) givenFile() (string, error) {
	for _, given := range []string{options.PYZ, os.Getenv("KAFKALET_PYZ")} {
		if given != "" {
			if _, err := os.Stat(given); err != nil {
				return "", fmt.Errorf("cannot run kafkalet: there is no file %s", given)
			}
			return given, nil
		}
	}
	return "", nil
}

func bundledFile() string {
	_, source, _, _ := runtime.Caller(0)
	bundled := filepath.Join(filepath.Dir(source), "kafkalet.pyz")
	if _, err := os.Stat(bundled); err != nil {
		return ""
	}
	return bundled
}

func findPython() []string {
	commands := pythons
	if runtime.GOOS == "windows" {
		commands = append(slices.Clone(commands), []string{"py", "-3"})
	}
	for _, command := range commands {
		if program, err := exec.LookPath(command[0]); err == nil {
			python := append([]string{program}, command[1:]...)
			if succeeds(python, isNew) {
				return python
			}
		}
	}
	return nil
}

func succeeds(python []string, code string) bool {
	words := append(slices.Clone(python), "-c", code)
	return exec.Command(words[0], words[1:]...).Run() == nil
}
