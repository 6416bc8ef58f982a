package main

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

// used is how much time of the processor processes have taken.
type used struct {
	program, engines, readers time.Duration
}

func (u used) minus(v used) used {
	return used{u.program - v.program, u.engines - v.engines, u.readers - v.readers}
}

func (u used) plus(v used) used {
	return used{u.program + v.program, u.engines + v.engines, u.readers + v.readers}
}

func (u used) String() string {
	return fmt.Sprintf("processor: %.1f s program, %.1f s engines, %.1f s readers", u.program.Seconds(), u.engines.Seconds(), u.readers.Seconds())
}

// usage is what the program, the engines that it has started, and this process have taken
// by now. Of processes that have ended their parents tell.
func usage(program int) (used, error) {
	type process struct {
		parent int
		took   time.Duration
	}
	all := map[int]process{}
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return used{}, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			return used{}, err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// After the name in parentheses, which may have any characters: state, parent, and
		// from the twelfth on the times of the process and of its children that have ended.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) < 15 {
			return used{}, fmt.Errorf("%s can't be read: %s", name, text)
		}
		var numbers [5]int
		for i, at := range []int{1, 11, 12, 13, 14} {
			if numbers[i], err = strconv.Atoi(fields[at]); err != nil {
				return used{}, fmt.Errorf("%s can't be read: %w", name, err)
			}
		}
		took := numbers[1] + numbers[2] + numbers[3] + numbers[4]
		if pid == program || pid == os.Getpid() { // what their children took is told by these, or of no interest
			took = numbers[1] + numbers[2]
		}
		all[pid] = process{numbers[0], time.Duration(took) * time.Second / ticks}
	}
	u := used{program: all[program].took, readers: all[os.Getpid()].took}
	for pid := range all {
		for at := all[pid].parent; at > 1; at = all[at].parent {
			if at == program {
				u.engines += all[pid].took
				break
			}
		}
	}
	return u, nil
}
