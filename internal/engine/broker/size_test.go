package broker

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheLogIsMeasured(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Options{DataDir: dir})
	createTopic(t, b.Addrs()[0], "kept", nil)
	before, err := MeasureLog(dir, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	produce(t, b.Addrs()[0], "kept", noise(100_000))
	after, err := MeasureLog(dir, 0.25)
	if err != nil || after.Bytes < before.Bytes+100_000 {
		t.Errorf("it had %d bytes and has %d, %v", before.Bytes, after.Bytes, err)
	}
	if after.Memory <= 0 {
		t.Errorf("the memory is %d bytes", after.Memory)
	}
	if l, err := MeasureLog(filepath.Join(dir, "nothing"), 0.25); err != nil || l.Bytes != 0 {
		t.Errorf("where there is none: %+v, %v", l, err)
	}
}

// noise is text that can't be compressed away.
func noise(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(rand.Text())
	}
	return b.String()
}

func TestAlarm(t *testing.T) {
	for name, tt := range map[string]struct {
		log    Log
		alarms bool
	}{
		"small":          {Log{Bytes: 249 << 20, Memory: 1000 << 20, Share: 0.25}, false},
		"too large":      {Log{Bytes: 250 << 20, Memory: 1000 << 20, Share: 0.25}, true},
		"turned off":     {Log{Bytes: 250 << 20, Memory: 1000 << 20}, false},
		"unknown memory": {Log{Bytes: 250 << 20, Share: 0.25}, false},
	} {
		got := tt.log.Alarm()
		if (got != "") != tt.alarms {
			t.Errorf("%s: %q", name, got)
		}
		for _, part := range []string{"250 MiB", "25 %", "move-to-apache-kafka.md"} {
			if tt.alarms && !strings.Contains(got, part) {
				t.Errorf("%s: %q does not say %q", name, got, part)
			}
		}
	}
}

func TestMemoryIsTheLeastThatCounts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	meminfo := write("meminfo", "MemTotal:        8192 kB\nMemFree:  1 kB\n")
	write("v2/a/memory.max", "4194304\n")
	write("v2/a/b/memory.max", "max\n")
	write("v1/memory/a/memory.limit_in_bytes", "1048576\n")
	write("v1/memory/memory.limit_in_bytes", "9223372036854771712\n")
	for name, tt := range map[string]struct {
		own, groups string
		want        int64
	}{
		"no groups":       {"0::/\n", "none", 8 << 20},
		"a group above":   {"0::/a/b\n", "v2", 4 << 20},
		"version 1":       {"3:memory:/a\n2:cpu:/x\n", "v1", 1 << 20},
		"no such version": {"nonsense\n", "v1", 8 << 20},
	} {
		if got := memory(meminfo, write("own", tt.own), filepath.Join(dir, tt.groups)); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
