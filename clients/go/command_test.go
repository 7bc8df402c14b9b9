package kafkalet

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

const (
	old             = "exit 1"
	withoutKafkalet = `case "$*" in *find_spec*) exit 1;; esac`
	withKafkalet    = "exit 0"
)

// search is a directory that is the only one on PATH.
type search struct {
	t    *testing.T
	path string
}

func newSearch(t *testing.T) search {
	path := t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("KAFKALET_COMMAND", "")
	t.Setenv("KAFKALET_PYZ", "")
	return search{t, path}
}

func (search search) write(name, text string, mode os.FileMode) string {
	file := filepath.Join(search.path, name)
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		search.t.Fatal(err)
	}
	return file
}

func (search search) program(name, lines string) string {
	return search.write(name, "#!/bin/sh\n"+lines+"\n", 0o755)
}

func (search search) file(name string) string {
	return search.write(name, "", 0o644)
}

func (search search) finds(options Options, want ...string) {
	search.t.Helper()
	if got, err := options.findCommand(); err != nil || !slices.Equal(got, want) {
		search.t.Fatalf("got %q and the error %v, want %q", got, err, want)
	}
}

func (search search) fails(options Options, want string) {
	search.t.Helper()
	if _, err := options.findCommand(); err == nil || err.Error() != want {
		search.t.Fatalf("got the error %v, want %s", err, want)
	}
}

func TestOptionComesBeforeEnvironmentAndProgramOnPath(t *testing.T) {
	search := newSearch(t)
	search.program("kafkalet", "")
	t.Setenv("KAFKALET_COMMAND", " /opt/python  -m kafkalet ")
	search.finds(Options{Command: []string{"a program", "--verbose"}}, "a program", "--verbose")
	search.finds(Options{}, "/opt/python", "-m", "kafkalet")
}

func TestGivenPYZComesBeforeProgramOnPathAndThatBeforeModule(t *testing.T) {
	search := newSearch(t)
	program := search.program("kafkalet", "")
	python := search.program("python3", withKafkalet)
	file := search.file("kafkalet.pyz")
	search.finds(Options{PYZ: file}, python, file)
	search.finds(Options{}, program)
}

func TestFileThatIsNotExecutableIsNotTheProgram(t *testing.T) {
	search := newSearch(t)
	search.file("kafkalet")
	python := search.program("python3", withKafkalet)
	search.finds(Options{}, python, "-m", "kafkalet")
}

func TestOptionForPYZComesBeforeEnvironment(t *testing.T) {
	search := newSearch(t)
	python := search.program("python3", withKafkalet)
	environment, option := search.file("environment.pyz"), search.file("option.pyz")
	t.Setenv("KAFKALET_PYZ", environment)
	search.finds(Options{PYZ: option}, python, option)
	search.finds(Options{}, python, environment)
}

func TestPYZNextToThePackageIsUsed(t *testing.T) {
	search := newSearch(t)
	python := search.program("python3", withoutKafkalet)
	_, source, _, _ := runtime.Caller(0)
	bundled := filepath.Join(filepath.Dir(source), "kafkalet.pyz")
	if _, err := os.Stat(bundled); err != nil {
		if err := os.WriteFile(bundled, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(bundled) })
	}
	search.finds(Options{}, python, bundled)
}

func TestMissingPYZIsNamed(t *testing.T) {
	search := newSearch(t)
	search.program("python3", withKafkalet)
	search.fails(Options{PYZ: "/no/kafkalet.pyz"}, "cannot run kafkalet: there is no file /no/kafkalet.pyz")
}

func TestOldPythonIsSkipped(t *testing.T) {
	search := newSearch(t)
	search.program("python3", old)
	search.program("python", old)
	python := search.program("python3.12", withKafkalet)
	search.program("python3.11", withKafkalet)
	search.finds(Options{}, python, "-m", "kafkalet")
}

func TestNewestNumberedPythonIsUsed(t *testing.T) {
	search := newSearch(t)
	for _, name := range []string{"python3.11", "python3.12", "python3.13", "python3.14"} {
		search.program(name, withKafkalet)
	}
	search.finds(Options{}, filepath.Join(search.path, "python3.14"), "-m", "kafkalet")
}

func TestModuleIsNotLookedForInASecondPython(t *testing.T) {
	search := newSearch(t)
	python := search.program("python3", withoutKafkalet)
	search.program("python", withKafkalet)
	search.fails(Options{}, "cannot run kafkalet: found no program kafkalet on PATH, no file kafkalet.pyz and no module "+
		"kafkalet of "+python+"; install kafkalet with Python 3.11 or newer and `pip install .` in a clone of its "+
		"repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, which `make dist` writes there")
}

func TestMissingPythonIsNamed(t *testing.T) {
	search := newSearch(t)
	search.program("python3", old)
	search.fails(Options{PYZ: search.file("kafkalet.pyz")}, "cannot run kafkalet: found no program kafkalet on PATH and "+
		"no Python 3.11 or newer (python3, python, python3.14 to python3.11); install kafkalet with Python 3.11 or newer "+
		"and `pip install .` in a clone of its repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, which "+
		"`make dist` writes there")
}
