// Package step has the steps of a script: each prints "ok NAME", or what differed, which ends the program.
package step

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"time"
)

const patience = 30 * time.Second

// Run runs a step, which panics where something differs.
func Run(name string, body func()) {
	defer func() {
		if different := recover(); different != nil {
			fmt.Printf("failed %s: %v\n", name, different)
			debug.PrintStack()
			os.Exit(1)
		}
	}()
	body()
	fmt.Println("ok", name)
}

// Check panics with an error.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Must gives a value that came without an error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Same panics where two values differ.
func Same(what string, expected, found any) {
	if !reflect.DeepEqual(expected, found) {
		panic(fmt.Sprintf("%s: %v, not %v", what, found, expected))
	}
}

// Holds panics where something is not so.
func Holds(what string, condition bool) {
	if !condition {
		panic("not so: " + what)
	}
}

// Await asks again until it is so, or patience ends.
func Await(what string, condition func() bool) {
	for end := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			panic("never came: " + what)
		}
	}
}

// Refused panics unless the error is one of those.
func Refused(found error, kinds ...error) {
	for _, kind := range kinds {
		if errors.Is(found, kind) {
			return
		}
	}
	panic(fmt.Sprintf("refused by %v, not by %v", found, kinds[0]))
}

// Version tells which release of a module the program was built with.
func Version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version
		}
	}
	return "unknown"
}
