package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const blockBytes = 512

// procField is a number of a file of name-colon-number lines, such as /proc/self/io.
func procField(file, name string) (int64, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

// memoryBytes are what this process may use: of the machine, or of the control group it is in.
func memoryBytes() (int64, error) {
	memory, err := procField("/proc/meminfo", "MemTotal")
	if err != nil {
		return 0, err
	}
	memory <<= 10
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return memory, ignoreAbsent(err)
	}
	for line := range strings.Lines(string(groups)) {
		if content, err := os.ReadFile(limitFile(strings.TrimSpace(line))); err == nil {
			// "max" is no limit.
			limit, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
			if err == nil {
				memory = min(memory, limit)
			}
		}
	}
	return memory, nil
}

// limitFile is where the memory limit of a group is, given its line id:controllers:path; version 2
// has all controllers in one.
func limitFile(line string) string {
	words := strings.SplitN(line, ":", 3)
	switch {
	case len(words) == 3 && words[1] == "":
		return filepath.Join("/sys/fs/cgroup", words[2], "memory.max")
	case len(words) == 3 && slices.Contains(strings.Split(words[1], ","), "memory"):
		return filepath.Join("/sys/fs/cgroup/memory", words[2], "memory.limit_in_bytes")
	default:
		return ""
	}
}

// writtenBytes are what the system counts as written for this process; for a mapped file it is the
// pages that became dirty.
func writtenBytes() (int64, error) {
	return procField("/proc/self/io", "write_bytes")
}

func statusBytes(name string) (int64, error) {
	kibibytes, err := procField("/proc/self/status", name)
	return kibibytes << 10, err
}

func cpuSeconds() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	nanos := usage.Utime.Nano() + usage.Stime.Nano()
	return float64(nanos) / 1e9, nil
}

// writeOut writes what the file system of a directory has in memory alone, so that what comes next
// does not pay for what was before.
func writeOut(directory string) error {
	folder, err := os.Open(directory)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(folder.Fd())), folder.Close())
}

// allocatedBytes are what the files below a directory take on the disk. Files that are removed in
// the meantime count nothing.
func allocatedBytes(directory string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(directory, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return ignoreAbsent(err)
		}
		info, err := entry.Info()
		if err != nil {
			return ignoreAbsent(err)
		}
		if stat, known := info.Sys().(*syscall.Stat_t); known {
			total += stat.Blocks * blockBytes
		}
		return nil
	})
	return total, err
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
