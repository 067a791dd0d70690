package main

import (
	"fmt"
	"strconv"
	"strings"
)

// tuning are settings of an engine by name, in place of those chosen for it, to find out which of its
// alternatives is the faster one.
type tuning map[string]int64

// parseTuning takes name=number,name=number.
func parseTuning(words string) (tuning, error) {
	t := tuning{}
	if words == "" {
		return t, nil
	}
	for _, word := range strings.Split(words, ",") {
		name, value, _ := strings.Cut(word, "=")
		number, err := strconv.ParseInt(value, 10, 64)
		if err != nil || name == "" {
			return nil, fmt.Errorf("--tune takes name=number,name=number: %s", words)
		}
		t[name] = number
	}
	return t, nil
}

func (t tuning) number(name string, chosen int64) int64 {
	if number, tuned := t[name]; tuned {
		return number
	}
	return chosen
}

func (t tuning) flag(name string, chosen bool) bool {
	if number, tuned := t[name]; tuned {
		return number != 0
	}
	return chosen
}
