package remote

import (
	"time"
)

// Step is one step of what is done at a source.
type Step struct {
	// Name is configuration, jump, resolve, connect, proxy, host_key, certificate, robots,
	// login, list or sample.
	Name string `json:"step"`
	// OK says whether the step worked.
	OK bool `json:"ok"`
	// Milliseconds is how long it took.
	Milliseconds int64 `json:"ms"`
	// Detail says what was found, or what went wrong.
	Detail string `json:"detail"`
	// Remedy says what to do; empty when the step worked.
	Remedy string `json:"remedy"`
}

// Trace notes step by step what is done at a source: what each step found, how
// long it took and, where one fails, what to do about it. The zero value is ready.
// It is no good for several goroutines.
type Trace struct {
	Steps []Step
	Each  func(Step) // is told of each step as it ends; nil: nobody

	config  Config
	remedy  func(err error, c Config) string // the connector's own; nil: it has none
	current string
	began   time.Time
}

// Passed says whether there are steps, and all of them worked.
func (t *Trace) Passed() bool {
	for _, s := range t.Steps {
		if !s.OK {
			return false
		}
	}
	return len(t.Steps) > 0
}

// Do notes a step of that name: work returns what it found, or an error, which is
// returned.
func (t *Trace) Do(name string, work func() (found string, err error)) error {
	t.begin(name)
	found, err := work()
	if err != nil {
		t.failed(err)
		return err
	}
	t.add(Step{Name: name, OK: true, Milliseconds: t.took(), Detail: Clean(found)})
	return nil
}

func (t *Trace) begin(name string) { t.current, t.began = name, time.Now() }

// took is the time since the step has begun, in milliseconds.
func (t *Trace) took() int64 {
	if t.began.IsZero() {
		return 0
	}
	return time.Since(t.began).Milliseconds()
}

// dialled is told which step of connecting begins (detail empty) or has ended well.
// A handshake that is tried again goes through the same steps again, which are
// noted once.
func (t *Trace) dialled(name, detail string) {
	if detail == "" {
		t.begin(name)
		return
	}
	for i := range t.Steps {
		if t.Steps[i].Name == name {
			t.Steps[i].Detail = Clean(detail)
			t.Steps[i].Milliseconds += t.took()
			return
		}
	}
	t.add(Step{Name: name, OK: true, Milliseconds: t.took(), Detail: Clean(detail)})
}

func (t *Trace) failed(err error) {
	name := t.current
	if name == "" || ClassOf(err) == Misconfigured {
		name = "configuration"
	}
	t.add(Step{Name: name, Milliseconds: t.took(), Detail: Clean(err.Error()), Remedy: t.remedied(err)})
}

func (t *Trace) add(s Step) {
	t.Steps = append(t.Steps, s)
	if t.Each != nil {
		t.Each(s)
	}
}

// remedied is what a person can do about an error.
func (t *Trace) remedied(err error) string {
	if t.remedy != nil {
		if text := t.remedy(err, t.config); text != "" {
			return text
		}
	}
	return remedy(err, t.config)
}
