package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWholeSequence(t *testing.T) {
	metrics := map[string][]string{
		"load": {"until_written", "until_closed", "p50", "p99", "p99.9", "longest", "seconds",
			"disk_bytes", "disk_by_raw", "written_by_raw"},
		"open":    {"seconds"},
		"iterate": {"rate", "seconds"},
		"keys":    {"rate", "seconds"},
		"overwrite": {"rate", "until_closed", "p50", "p99", "p99.9", "longest", "seconds",
			"disk_bytes", "disk_by_raw", "written_by_raw"},
		"load-settled":      {"seconds", "written_bytes", "disk_bytes", "disk_by_raw", "written_by_raw"},
		"open-settled":      {"seconds"},
		"iterate-settled":   {"rate", "seconds"},
		"overwrite-settled": {"seconds", "written_bytes", "disk_bytes", "disk_by_raw", "written_by_raw"},
		"steady": {"rate_slowest", "rate_last", "read_rate", "read_p99.9", "read_p99.9_slowest",
			"disk_by_raw_most", "rate@1", "read_p99.9@1", "disk_by_raw@1", "rate", "until_closed", "p50",
			"p99", "p99.9", "longest", "seconds", "disk_bytes", "disk_by_raw", "written_by_raw"},
		"process": {"peak_memory", "anonymous_memory", "cpu"},
	}
	for _, each := range engines {
		for _, lengths := range []string{"128", "1024", "100/300000"} {
			for _, durable := range []string{"none", "async", "sync"} {
				if durable != "none" && lengths != "1024" {
					continue
				}
				t.Run(each.name+" "+lengths+" "+durable, func(t *testing.T) {
					lines := sequence(t, each.name, lengths, durable)
					if !strings.HasPrefix(lines[0], "engine name="+each.name+" version=") ||
						len(strings.Fields(lines[0])) != 4 {
						t.Errorf("first line %q", lines[0])
					}
					for _, workload := range slices.Concat(workloadNames[:len(workloadNames)-1], []string{"process", "load-settled",
						"open-settled", "get-settled", "iterate-settled", "overwrite-settled"}) {
						expected := metrics[workload]
						if expected == nil {
							expected = []string{"rate", "p50", "p99", "p99.9", "longest", "seconds"}
						}
						if found := metricsOf(lines, workload); !slices.Equal(found, expected) {
							t.Errorf("%s has %v, not %v", workload, found, expected)
						}
					}
				})
			}
		}
	}
}

func sequence(t *testing.T, engine, lengths, durable string) []string {
	t.Helper()
	entries := "2000"
	if strings.Contains(lengths, "/") {
		entries = "60"
	}
	var output, problems bytes.Buffer
	code := compare([]string{"--engine", engine, "--dir", t.TempDir(), "--entries", entries,
		"--value-bytes", lengths, "--batch", "100", "--cache-mib", "16", "--durability", durable,
		"--scan-max", "1500", "--gets", "4000", "--misses", "4000", "--threads", "2",
		"--seconds", "0.05", "--seed", "7", "--workloads", strings.Join(workloadNames, ","), "--rest", "none,settled",
	}, &output, &problems)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, output.String(), problems.String())
	}
	return strings.Split(strings.TrimSpace(output.String()), "\n")
}

// metricsOf are the metrics of a workload in their order; every value must be above 0.
func metricsOf(lines []string, workload string) []string {
	var metrics []string
	for _, line := range lines {
		var named, metric, unit string
		var value float64
		words := strings.NewReplacer("=", " ").Replace(line)
		count, _ := fmt.Sscanf(words, "result workload %s metric %s value %g unit %s", &named,
			&metric, &value, &unit)
		if count == 4 && named == workload {
			// There may be nothing left to write.
			if value < 0 || value == 0 && metric != "written_bytes" {
				metric += " is 0"
			}
			metrics = append(metrics, metric)
		}
	}
	return metrics
}

func TestColdStartNeedsTheStoreOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	for _, workload := range []string{"load", "cold"} {
		var output bytes.Buffer
		code := compare([]string{"--engine", "bbolt", "--dir", dir, "--entries", "100", "--value-bytes", "16",
			"--seconds", "0.05", "--workloads", workload}, &output, &output)
		lines := strings.Split(output.String(), "\n")
		if code != 0 || metricsOf(lines, workload) == nil || metricsOf(lines, "process") != nil && workload == "cold" {
			t.Errorf("exit code %d: %s", code, output.String())
		}
	}
}

func TestOnlyWorkloadsThatWereAskedFor(t *testing.T) {
	var output bytes.Buffer
	code := compare([]string{"--engine", "bbolt", "--dir", t.TempDir(), "--entries", "100",
		"--value-bytes", "16", "--seconds", "0.05", "--workloads", "get"}, &output, &output)
	lines := strings.Split(output.String(), "\n")
	if code != 0 || metricsOf(lines, "get") == nil || metricsOf(lines, "load") == nil ||
		metricsOf(lines, "miss") != nil {
		t.Errorf("exit code %d: %s", code, output.String())
	}
}

// Else a read would find what the one before has just brought into memory.
func TestNoWorkloadChoosesAsAnotherOrAsItsWarmUp(t *testing.T) {
	r := newRun(&command{seed: 7}, boltEngine, nil)
	seen := map[[4]int64]string{}
	for _, r.rested = range allRests {
		for _, workload := range workloadNames {
			r.workload = workload + r.rested.suffix()
			for thread := range 3 {
				for _, warming := range []bool{true, false} {
					choice := r.choice(warming, thread)
					var first [4]int64
					for i := range first {
						first[i] = choice.below(1 << 40)
					}
					name := fmt.Sprintf("%s, thread %d, warming %t", r.workload, thread, warming)
					if other, known := seen[first]; known {
						t.Errorf("%s chooses as %s", name, other)
					}
					seen[first] = name
				}
			}
		}
	}
}

func TestEveryOperationOfTheMixIsTimed(t *testing.T) {
	c := &command{dir: t.TempDir(), data: dataset{500, []int{64}}, batch: 100, threads: 2,
		seconds: 50 * time.Millisecond, durability: durabilityNone}
	r := newRun(c, boltEngine, &protocol{target: io.Discard})
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	if err := r.open(c.durability); err != nil {
		t.Fatal(err)
	}
	done, _, latencies, err := r.perform(r.mixing(mixes[0], false))
	if err != nil || latencies.total != done || done == 0 {
		t.Errorf("%d operations, %d of them timed, %v", done, latencies.total, err)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestFailureIsToldInOneLine(t *testing.T) {
	var output bytes.Buffer
	broken := engine{name: "broken", module: "none", settings: func(*command) []string {
		return []string{"none"}
	}, open: func(*command, durability) (store, error) {
		return nil, errors.New("no\nspace")
	}}
	c := &command{dir: t.TempDir(), data: dataset{10, []int{8}}, batch: 1}
	if code := follow(c, broken, &output); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	expected := "engine name=broken version=unknown settings=none\n" +
		"failed workload=load reason=no space\n"
	if output.String() != expected {
		t.Errorf("output %q", output.String())
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, words := range []string{
		"--engine bbolt", "--engine none --dir d --entries 1 --value-bytes 8 --workloads get",
		"--engine bbolt --dir d --entries 1 --value-bytes x --workloads get",
		"--engine bbolt --dir d --entries 1 --value-bytes 8 --workloads fly",
		"--engine bbolt --dir d --entries 0 --value-bytes 8 --workloads get",
		"--engine bbolt --dir d --entries 1 --value-bytes 8 --workloads get --tune a",
		"--engine bbolt --dir d --entries 1 --value-bytes 8 --workloads get --durability often",
		"--engine bbolt --dir d --entries 1 --value-bytes 8 --workloads get more",
	} {
		var output, problems bytes.Buffer
		if code := compare(strings.Fields(words), &output, &problems); code != exitUsage {
			t.Errorf("%s: exit code %d", words, code)
		}
		if output.Len() > 0 || problems.Len() == 0 {
			t.Errorf("%s: %q, %q", words, output.String(), problems.String())
		}
	}
}

func TestTuningReplacesWhatWasChosen(t *testing.T) {
	tuned, err := parseTuning("b=0,a=5")
	a, c := int64(1), int64(1)
	tuned.number("a", func(n int64) { a = n })
	tuned.number("c", func(n int64) { c = n })
	if err != nil || a != 5 || c != 1 || strings.Join(tuned.words(), ",") != "a=5,b=0" {
		t.Errorf("%v, %v", tuned, err)
	}
}

func TestMemoryLimitOfBothVersionsOfControlGroups(t *testing.T) {
	for line, file := range map[string]string{
		"0::/a/b":              "/sys/fs/cgroup/a/b/memory.max",
		"4:memory:/c":          "/sys/fs/cgroup/memory/c/memory.limit_in_bytes",
		"2:cpu,memory:/c":      "/sys/fs/cgroup/memory/c/memory.limit_in_bytes",
		"9:name=systemd:/":     "",
		"something unexpected": "",
	} {
		if found := limitFile(line); found != file {
			t.Errorf("%s: %s", line, found)
		}
	}
	if memory, err := memoryBytes(); err != nil || memory <= 0 {
		t.Errorf("memory %d, %v", memory, err)
	}
}
