package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tuning are options of an engine other than its defaults, by name.
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

// number passes the value to option if it has one.
func (t tuning) number(name string, option func(int64)) {
	if number, tuned := t[name]; tuned {
		option(number)
	}
}

// words are the options in the order of their names.
func (t tuning) words() []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		words = append(words, fmt.Sprintf("%s=%d", name, t[name]))
	}
	return words
}
