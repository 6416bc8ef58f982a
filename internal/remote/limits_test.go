package remote

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleanText(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"plain":           {"550 not found: é ж", "550 not found: é ж"},
		"lines":           {"a\r\nb\tc", "a  b c"},
		"control":         {"x\x00y\x1b[31m\u009b", "x\ufffdy\ufffd[31m\ufffd"},
		"direction":       {"a\u202egpj.\u2066\u200f\u061c", "a\ufffdgpj.\ufffd\ufffd\ufffd"},
		"separators":      {"a\u2028b\u2029", "a\ufffdb\ufffd"},
		"invalid UTF-8":   {"caf\xe9\xff", "caf\ufffd\ufffd"},
		"just fits":       {strings.Repeat("a", MaxText), strings.Repeat("a", MaxText)},
		"one too long":    {strings.Repeat("a", MaxText+1), strings.Repeat("a", 972) + "… (cut: 1001 bytes in all)"},
		"cut in a rune":   {strings.Repeat("é", 1000), strings.Repeat("é", 486) + "… (cut: 2000 bytes in all)"},
		"grows by itself": {strings.Repeat("\x00", 900), strings.Repeat("\ufffd", 324) + "… (cut: 900 bytes in all)"},
	} {
		if diff := cmp.Diff(tc.want, Clean(tc.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Whatever a server says, the text of an error can be shown and stored.
func FuzzErrorText(f *testing.F) {
	f.Add("list", "add", "553 denied \x00 \u202e \xff")
	f.Add("", strings.Repeat("\xf0\x9f\x90\x80", 400), strings.Repeat("A", 5000))
	f.Fuzz(func(t *testing.T, op, path, cause string) {
		text := (&Error{Op: op, Path: path, Err: &Error{Op: op, Err: errors.New(cause)}}).Error()
		if len(text) > MaxText || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}

func TestLongPathLeavesRoomForTheCause(t *testing.T) {
	err := Wrap("open", strings.Repeat("\xff", 4096), errors.New("the cause"))
	if text := err.Error(); len(text) > MaxText || !strings.HasPrefix(text, `open "\xff`) || !strings.HasSuffix(text, "the cause") {
		t.Errorf("the text is %q", text)
	}
}

func TestEntriesAreStorable(t *testing.T) {
	when := time.Date(2024, 2, 29, 23, 59, 58, 0, time.UTC)
	const n = "a.zip"
	berlin := time.FixedZone("", 3600)
	invalid := func(message string) Entry {
		return Entry{Name: n, Size: 5, Invalid: "listing_entry_invalid", Message: message}
	}
	noSize := Entry{Name: n, Size: -1, ModTime: when, Invalid: "listing_entry_invalid", Message: "the size, -2 bytes, is negative"}
	name := func(length int) string { return strings.Repeat("n", length-4) + ".zip" }
	for about, tc := range map[string]struct{ in, want Entry }{
		"ordinary":          {Entry{Name: n, Size: 5, ModTime: when}, Entry{Name: n, Size: 5, ModTime: when}},
		"nothing said":      {Entry{Name: n, Size: -1}, Entry{Name: n, Size: -1}},
		"largest size":      {Entry{Name: n, Size: math.MaxInt64}, Entry{Name: n, Size: math.MaxInt64}},
		"negative size":     {Entry{Name: n, Size: -2, ModTime: when}, noSize},
		"first year":        {Entry{Name: n, ModTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}, Entry{Name: n, ModTime: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)}},
		"last year":         {Entry{Name: n, ModTime: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}, Entry{Name: n, ModTime: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}},
		"year 0":            {Entry{Name: n, Size: 5, ModTime: time.Date(0, 12, 31, 0, 0, 0, 0, time.UTC)}, invalid("the time is in the year 0, which is not between 1 and 9999")},
		"year 0 in UTC":     {Entry{Name: n, Size: 5, ModTime: time.Date(1, 1, 1, 0, 0, 0, 0, berlin)}, invalid("the time is in the year 0, which is not between 1 and 9999")},
		"year 10000":        {Entry{Name: n, Size: 5, ModTime: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, invalid("the time is in the year 10000, which is not between 1 and 9999")},
		"before all years":  {Entry{Name: n, Size: 5, ModTime: time.Unix(-1<<45, 0)}, invalid("the time is in the year -1112979, which is not between 1 and 9999")},
		"longest name":      {Entry{Name: name(MaxName)}, Entry{Name: name(MaxName)}},
		"name too long":     {Entry{Name: name(MaxName + 1)}, Entry{Name: ShortName(name(MaxName + 1)), Invalid: "name_too_long", Message: "the name has 1025 bytes or more, and 1024 are allowed"}},
		"line, not a name":  {Entry{Name: name(5000), Kind: Other}, Entry{Name: ShortName(name(5000)), Kind: Other}},
		"first reason wins": {Entry{Name: n, Size: -3, Invalid: "x", Message: "y"}, Entry{Name: n, Size: -1, Invalid: "x", Message: "y"}},
	} {
		if diff := cmp.Diff(tc.want, Storable(tc.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	a, b := ShortName(name(2000)), ShortName(name(2001))
	if a == b || len(a) != MaxName || !strings.HasSuffix(a, ".zip") {
		t.Errorf("shortened names are %q and %q, want different ones of %d bytes in .zip", a, b, MaxName)
	}
}
