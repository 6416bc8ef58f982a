package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// campaign remembers in a file (TRIBUTARY_CAMPAIGN) which cases were made, so
// that a campaign goes on where it was stopped, and ends when its time is over
// (TRIBUTARY_BUDGET). Without these it makes every case.
type campaign struct {
	t     testing.TB
	path  string
	until time.Time
	done  map[string]bool // case: was it well

	began        time.Time
	skipped, cut int

	noting     sync.Mutex // for complaints, which goroutines make too
	complaints []string
}

// caseDone is a line of the file.
type caseDone struct {
	Case string    `json:"case"`
	OK   bool      `json:"ok"`
	At   time.Time `json:"at"`
}

func openCampaign(t testing.TB) *campaign {
	t.Helper()
	c := &campaign{t: t, path: os.Getenv("TRIBUTARY_CAMPAIGN"), done: map[string]bool{}, began: time.Now()}
	if text := os.Getenv("TRIBUTARY_BUDGET"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("TRIBUTARY_BUDGET: %v", err)
		}
		c.until = c.began.Add(d)
	}
	b, err := os.ReadFile(c.path)
	if c.path == "" || errors.Is(err, fs.ErrNotExist) {
		return c
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var d caseDone
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%s: %v", c.path, err)
		}
		c.done[d.Case] = d.OK
	}
	return c
}

// due tells whether a case is to be made now: it was not, or it failed, and
// there is time.
func (c *campaign) due(name string) bool {
	if c.done[name] {
		c.skipped++
		return false
	}
	if !c.until.IsZero() && time.Now().After(c.until) {
		c.cut++
		return false
	}
	return true
}

// complaining is a test that remembers what it failed for, which is far up in the
// log once other cases have followed.
type complaining struct {
	testing.TB
	name string
	of   *campaign
}

// Errorf fails the test, which goes on.
func (c *complaining) Errorf(format string, args ...any) {
	c.Helper()
	c.note(fmt.Sprintf(format, args...))
	c.TB.Errorf(format, args...)
}

// Fatalf ends the test.
func (c *complaining) Fatalf(format string, args ...any) {
	c.Helper()
	c.note(fmt.Sprintf(format, args...))
	c.TB.Fatalf(format, args...)
}

// Error fails the test, which goes on.
func (c *complaining) Error(args ...any) {
	c.Helper()
	c.note(fmt.Sprint(args...))
	c.TB.Error(args...)
}

// Fatal ends the test.
func (c *complaining) Fatal(args ...any) {
	c.Helper()
	c.note(fmt.Sprint(args...))
	c.TB.Fatal(args...)
}

func (c *complaining) note(what string) {
	const long = 4000
	c.of.noting.Lock()
	defer c.of.noting.Unlock()
	c.of.complaints = append(c.of.complaints, c.name+": "+what[:min(len(what), long)])
}

// ended notes how a case ended.
func (c *campaign) ended(name string, ok bool) {
	c.t.Helper()
	c.done[name] = ok
	if c.path == "" {
		return
	}
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if err := json.NewEncoder(f).Encode(caseDone{name, ok, time.Now().UTC().Truncate(time.Second)}); err != nil {
		c.t.Fatal(err)
	}
}

// summary prints what cases have complained of, and the line that the targets end
// with. It goes to standard output past the test's log, so that it can be the last
// line.
func (c *campaign) summary(t testing.TB, line string) {
	t.Helper()
	t.Logf("took %s", time.Since(c.began).Round(time.Second))
	line = strings.Join(append(c.complaints, line), "\n")
	if c.skipped+c.cut > 0 {
		fmt.Printf("%d were well in earlier runs, %d are left for later ones\n", c.skipped, c.cut)
	}
	if path := os.Getenv("TRIBUTARY_SUMMARY"); path != "" {
		if err := os.WriteFile(path, []byte(line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	fmt.Println(line)
}
