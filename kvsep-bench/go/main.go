// The child of kvsep bench compare for the engines that are written in Go.
// docs/internals/bench-protocol.md says what it is told, does and writes.
package main

import (
	"fmt"
	"io"
	"os"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	os.Exit(compare(os.Args[1:], os.Stdout, os.Stderr))
}

func compare(words []string, output, errors io.Writer) int {
	c, err := parseCommand(words, errors)
	if err != nil {
		fmt.Fprintln(errors, err)
		return exitUsage
	}
	e, err := engineOf(c.engine)
	if err != nil {
		fmt.Fprintln(errors, err)
		return exitUsage
	}
	return follow(c, e, output)
}

// follow does what a command says with an engine and returns the exit code.
func follow(c *command, e engine, output io.Writer) int {
	r := newRun(c, e, &protocol{target: output})
	if err := r.all(); err != nil {
		r.out.failed(r.workload, err)
		return exitFailed
	}
	return 0
}
