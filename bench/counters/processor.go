// Package counters tells benches what a program and the engines that it has started have
// done: how much time of the processor they took, and what Postgres was asked. A machine
// that is busy elsewhere hardly changes that.
package counters

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is how many of the kernel's units of processor time make a second, on every
// Linux that Go runs on.
const ticks = 100

// Used is how much time of the processor a program, the engines that it has started, and
// this process have taken.
type Used struct {
	Program, Postgres, ClickHouse, Self time.Duration
}

// Engines is what both engines took together.
func (u Used) Engines() time.Duration { return u.Postgres + u.ClickHouse }

// Minus is what was taken since.
func (u Used) Minus(v Used) Used {
	return Used{u.Program - v.Program, u.Postgres - v.Postgres, u.ClickHouse - v.ClickHouse, u.Self - v.Self}
}

// Plus is the sum of both.
func (u Used) Plus(v Used) Used {
	return Used{u.Program + v.Program, u.Postgres + v.Postgres, u.ClickHouse + v.ClickHouse, u.Self + v.Self}
}

// Of is what the program with this id, the engines that it has started, and this process
// have taken by now. Of processes that have ended their parents tell.
func Of(program int) (Used, error) {
	type process struct {
		parent int
		name   string
		took   time.Duration
	}
	all := map[int]process{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return Used{}, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return Used{}, err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// After the name in parentheses, which may have any characters: state, parent, and
		// from the twelfth on the times of the process and of its children that have ended.
		begin, end := bytes.IndexByte(text, '(')+1, bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		if len(fields) < 15 {
			return Used{}, fmt.Errorf("%s can't be read: %s", name, text)
		}
		var numbers [5]int
		for i, at := range []int{1, 11, 12, 13, 14} {
			if numbers[i], err = strconv.Atoi(fields[at]); err != nil {
				return Used{}, fmt.Errorf("%s can't be read: %w", name, err)
			}
		}
		took := numbers[1] + numbers[2] + numbers[3] + numbers[4]
		if pid == program || pid == os.Getpid() { // what their children took is told by these, or of no interest
			took = numbers[1] + numbers[2]
		}
		all[pid] = process{numbers[0], string(text[begin:end]), time.Duration(took) * time.Second / ticks}
	}
	u := Used{Program: all[program].took, Self: all[os.Getpid()].took}
	for pid := range all {
		for at := all[pid].parent; at > 1; at = all[at].parent {
			if at != program {
				continue
			}
			if all[pid].name == "postgres" {
				u.Postgres += all[pid].took
			} else {
				u.ClickHouse += all[pid].took
			}
			break
		}
	}
	return u, nil
}
