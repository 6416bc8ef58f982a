package badinput

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"tributary/test/wait"
)

// processes do cases, each one at a time: what a case does to a process (its
// memory, its end) stays apart from the test, and from the case that is done
// beside it. A process goes on to the next case, since most take less than what
// it takes to begin.
type processes struct {
	mu   sync.Mutex
	idle []*process
}

// process is one of them.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	errs bytes.Buffer
}

// task is what a process is told of a case: no more than it works with, so that what
// the cases are made of takes none of its memory.
type task struct {
	Case   string
	Dir    string            // the case's own, in which it is done
	Blob   string            // sha256 of the input in Dir/blobs
	File   []byte            // the file's name where that alone is judged, which may be no UTF-8
	Schema map[string]string // of the case's own
	Served bool              // it is one of downloadCases
}

// made is as much of the case as the work needs.
func (job task) made() (bad, error) {
	c := bad{schema: job.Schema}
	if job.File != nil {
		name := string(job.File)
		c.file = &name
	}
	if !job.Served {
		return c, nil
	}
	for _, c := range downloadCases() {
		if c.name == job.Case {
			return c, nil
		}
	}
	return c, fmt.Errorf("there is no case %q", job.Case)
}

// do lets a process do the case. A process that fails or hangs is ended.
func (p *processes) do(t *testing.T, job task) report {
	t.Helper()
	one, err := p.take()
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(wait.Patience(), func() { _ = one.cmd.Process.Kill() })
	var r report
	err = errors.Join(json.NewEncoder(one.in).Encode(job), one.out.Decode(&r))
	if intime := late.Stop(); err == nil && intime {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.idle = append(p.idle, one)
		return r
	}
	err = errors.Join(err, one.end())
	text := one.errs.String()
	t.Fatalf("no end was told: %v\n%s", err, text[:min(len(text), 4000)])
	return r
}

// take returns a process that has nothing to do, or a new one.
func (p *processes) take() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle); n > 0 {
		one := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return one, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	one := &process{cmd: exec.Command(exe)}
	one.cmd.Env = append(os.Environ(), processEnv+"=1")
	one.cmd.Stderr = &one.errs
	if one.in, err = one.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := one.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	one.out = json.NewDecoder(out)
	return one, one.cmd.Start()
}

// close ends the processes, which have nothing to do.
func (p *processes) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, one := range p.idle {
		errs = append(errs, one.end())
	}
	p.idle = nil
	return errors.Join(errs...)
}

// end closes the process's input, which is its sign to end, and waits for its end.
func (p *process) end() error {
	err := errors.Join(p.in.Close(), p.cmd.Wait())
	if err != nil {
		return fmt.Errorf("a process that does cases: %w", err)
	}
	return nil
}
