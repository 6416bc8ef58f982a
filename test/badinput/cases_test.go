package badinput

import (
	"bufio"
	"context"
	"encoding/json"
	stdxml "encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processEnv makes this program a process that does cases.
const processEnv = "TRIBUTARY_BADINPUT_PROCESS"

// report is what a process tells of a case.
type report struct {
	Ends      []told
	Announced int      // documents that unzip counted
	Idle      int64    // resident bytes before the work
	Peak      int64    // the most while it was done
	Work      float64  // time of the processor, in measures: what calibrate takes in the same process
	Left      []string // files that are there after the work, but not before, or of another size
	Lost      []string // the reverse
}

// doCases does the cases that in names, one after another until it ends, and writes
// their reports to out.
func doCases(in io.Reader, out io.Writer) error {
	m, err := newMember()
	if err != nil {
		return err
	}
	measure, err := calibrate()
	if err != nil {
		return err
	}
	for tasks, reports := json.NewDecoder(in), json.NewEncoder(out); ; {
		var job task
		if err := tasks.Decode(&job); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c, err := job.made()
		if err != nil {
			return err
		}
		r, used, err := doCase(m, c, job)
		if err != nil {
			return err
		}
		// What takes less than one measure does so whatever the machine does meanwhile;
		// to measure anew for each of these takes longer than all of them.
		before := measure
		if used > before {
			if measure, err = calibrate(); err != nil {
				return err
			}
		}
		r.Work = float64(used) / float64(max(before, measure))
		if err := reports.Encode(r); err != nil {
			return err
		}
	}
}

// doCase has the member do a case in its directory, and returns how long the processor
// worked on it.
func doCase(m *member, c bad, job task) (r report, used time.Duration, err error) {
	err = errors.Join(os.Chdir(job.Dir), os.Setenv("TMPDIR", filepath.Join(job.Dir, "tmp")), os.Setenv("HOME", filepath.Join(job.Dir, "home")))
	if err != nil {
		return r, 0, err
	}
	s, err := m.on(c)
	if err != nil {
		return r, 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	before, err := tree(".")
	if err != nil {
		return r, 0, err
	}
	// What the case before left to be collected is collected now: pools are given
	// up by the second collection, which FreeOSMemory is.
	runtime.GC()
	debug.FreeOSMemory()
	// From here on the kernel's high-water mark counts anew. Where it can't be
	// told to, the mark has the preparations too, and so is too high at most.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	if r.Idle, err = memory("VmRSS:"); err != nil {
		return r, 0, err
	}
	started, err := cpu()
	if err != nil {
		return r, 0, err
	}
	if err := s.do(context.Background(), c, job.Blob); err != nil {
		return r, 0, err
	}
	ended, err := cpu()
	if err != nil {
		return r, 0, err
	}
	if r.Peak, err = memory("VmHWM:"); err != nil {
		return r, 0, err
	}
	after, err := tree(".")
	if err != nil {
		return r, 0, err
	}
	r.Ends, r.Announced = s.told, s.announced
	r.Left, r.Lost = differ(after, before), differ(before, after)
	return r, ended - started, nil
}

// memory reads a figure of this process from the kernel, in bytes. Only Linux
// has it: elsewhere it is 0, and memory is not judged.
func memory(field string) (int64, error) {
	f, err := os.Open("/proc/self/status")
	if errors.Is(err, fs.ErrNotExist) && runtime.GOOS != "linux" {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == field {
			kilobytes, err := strconv.ParseInt(words[1], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", field)
}

// cpu is the time that this process has used: unlike the clock's, it does not
// grow with what else the machine does.
func cpu() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// calibrate does what the stages do most, parsing and allocating, always the
// same amount of it: a measure. The work of a case is told in measures, taken
// before and after it in the same process, of which the slower counts: a slow
// machine, and what shares a processor's caches and threads, slows the case and
// its measure alike. The measure after a case is the one before the next.
func calibrate() (time.Duration, error) {
	text := "<a>" + strings.Repeat("<b c='d'>e</b>", 80_000) + "</a>"
	started, err := cpu()
	if err != nil {
		return 0, err
	}
	for d := stdxml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, err
		}
	}
	ended, err := cpu()
	return ended - started, err
}

// tree lists the files below dir with their sizes, and the folders.
func tree(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		size := int64(-1)
		if !d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			size = info.Size()
		}
		out = append(out, fmt.Sprintf("%s %d", path, size))
		return nil
	})
	return out, err
}

func differ(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}
