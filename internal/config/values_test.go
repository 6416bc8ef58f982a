package config

import (
	"testing"

	"pgregory.net/rapid"
)

func TestBytes(t *testing.T) {
	for text, want := range map[string]Bytes{"0": 0, "17": 17, "1kB": 1000, "1 KiB": 1024, "64MiB": 64 << 20, "1.5GB": 1_500_000_000, "2gib": 2 << 30, "12B": 12} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "B", "MB", "1XB", "NaN", "1e30", "0x10", "--1"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d; want an error", text, got)
		}
	}
}

// What is written can be read again and is the same.
func TestValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bytes(rapid.Int64Min(0).Draw(t, "bytes"))
		if got, err := ParseBytes(b.String()); err != nil || got != b {
			t.Fatalf("ParseBytes(%q) = %d, %v; want %d", b.String(), got, err, b)
		}
		d := Duration(rapid.Int64Min(0).Draw(t, "duration"))
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Fatalf("ParseDuration(%q) = %d, %v; want %d", d.String(), got, err, d)
		}
	})
}
