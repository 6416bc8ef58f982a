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

// What the suite tells a child by its environment.
const (
	childCase = "TRIBUTARY_BADINPUT_CASE"
	childBlob = "TRIBUTARY_BADINPUT_BLOB" // sha256 of the input in ./blobs
)

// report is what a child tells of its case.
type report struct {
	Ends      []told
	Announced int      // documents that unzip counted
	Idle      int64    // resident bytes before the work
	Peak      int64    // the most while it was done
	Work      float64  // time of the processor, in measures: what calibrate takes in the same process
	Left      []string // files that are there after the work, but not before, or of another size
	Lost      []string // the reverse
}

// child does one case in the present directory, which is its own, and writes
// its report to stdout.
func child(name string) error {
	c, ok := caseOf(name)
	if !ok {
		return fmt.Errorf("there is no case %q", name)
	}
	s, err := newStages(c)
	if err != nil {
		return err
	}
	before, err := tree(".")
	if err != nil {
		return err
	}
	var r report
	first, err := calibrate()
	if err != nil {
		return err
	}
	runtime.GC()
	debug.FreeOSMemory()
	// From here on the kernel's high-water mark counts anew. Where it can't be
	// told to, the mark has the preparations too, and so is too high at most.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	if r.Idle, err = memory("VmRSS:"); err != nil {
		return err
	}
	started, err := cpu()
	if err != nil {
		return err
	}
	if err := s.do(context.Background(), c, os.Getenv(childBlob)); err != nil {
		return err
	}
	ended, err := cpu()
	if err != nil {
		return err
	}
	if r.Peak, err = memory("VmHWM:"); err != nil {
		return err
	}
	second, err := calibrate()
	if err != nil {
		return err
	}
	r.Work = float64(ended-started) / float64(max(first, second))
	after, err := tree(".")
	if err != nil {
		return err
	}
	r.Ends, r.Announced = s.told, s.announced
	r.Left, r.Lost = differ(after, before), differ(before, after)
	return json.NewEncoder(os.Stdout).Encode(r)
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
// its measure alike.
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
