package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// progressPause keeps progress lines to at most ten a second.
const progressPause = 100 * time.Millisecond

// protocol writes the lines of docs/internals/bench-protocol.md, each as soon as it is known. Safe
// for several goroutines.
type protocol struct {
	mutex    sync.Mutex
	target   io.Writer
	progress time.Time
}

func (p *protocol) engine(name, version string, settings []string) {
	p.line("engine name=%s version=%s settings=%s", name, version, strings.Join(settings, ","))
}

// step tells how far a workload is, unless it has just done so.
func (p *protocol) step(workload string, done, total int64) {
	p.mutex.Lock()
	now := time.Now()
	due := now.Sub(p.progress) >= progressPause
	if due {
		p.progress = now
	}
	p.mutex.Unlock()
	if due {
		p.line("progress workload=%s done=%d total=%d", workload, done, total)
	}
}

func (p *protocol) result(workload, metric string, value float64, unit string) {
	number := strconv.FormatFloat(value, 'f', -1, 64)
	p.line("result workload=%s metric=%s value=%s unit=%s", workload, metric, number, unit)
}

func (p *protocol) failed(workload string, reason error) {
	text := strings.Join(strings.Fields(reason.Error()), " ")
	p.line("failed workload=%s reason=%s", workload, text)
}

func (p *protocol) line(format string, words ...any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	fmt.Fprintf(p.target, format+"\n", words...)
}
