package screen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/screen"
	"tributary/internal/screen/screentest"
	"tributary/test/wait"
)

// wide are three characters, each of two columns.
const wide = "\u65e5\u672c\u8a9e"

// on is a terminal of that size, and what writes to it.
func on(t *testing.T, columns, rows int) (context.Context, *screentest.Terminal, *screen.Terminal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	t.Cleanup(cancel)
	pty := screentest.New(t, columns, rows)
	out := screen.On(screen.Of(pty.Program))
	if out == nil {
		t.Fatal("a terminal is none")
	}
	return ctx, pty, out
}

func ends(with string) func(string) bool {
	return func(shown string) bool { return strings.HasSuffix(shown, with) }
}

// What others wrote reaches a terminal escaped, wherever writes cut it; a file gets
// it as it is.
func TestOnlyTerminalsEscape(t *testing.T) {
	ctx, pty, out := on(t, 80, 24)
	const nasty = "a\x1b[2J\u202eé\n"
	for i := range len(nasty) {
		if _, err := fmt.Fprint(out, nasty[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	pty.Until(ctx, ends(`a\x1b[2J\u202eé`+"\r\n"))
	path := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprint(screen.Of(f), nasty); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != nasty {
		t.Errorf("a file has %q, %v", got, err)
	}
}

// A picture stands below what is written, is drawn over, and keeps within the
// terminal also after that has become smaller.
func TestPicturesStayBelowAndWithin(t *testing.T) {
	ctx, pty, out := on(t, 20, 6)
	draw := func(lines ...string) {
		t.Helper()
		if err := out.Draw(lines...); err != nil {
			t.Fatal(err)
		}
	}
	draw("one \x1b[31m", "a line that is longer than the terminal", strings.Repeat(wide, 4))
	pty.Until(ctx, ends(`one \x1b[31m`+"\r\na line that is long\r\n"+strings.Repeat(wide, 3)))
	if _, err := fmt.Fprintln(out, "a warning"); err != nil {
		t.Fatal(err)
	}
	pty.Until(ctx, func(s string) bool {
		return strings.Contains(s, "\r\x1b[2A\x1b[Ja warning\r\none ")
	})
	pty.Resize(10, 3)
	draw("123456789012345", "2", "3", "4")
	shown := pty.Until(ctx, ends("123456789\r\n2"))
	if !strings.HasSuffix(shown, "\r\x1b[J123456789\r\n2") {
		t.Errorf("lines of others may be taken away: %q", shown)
	}
	draw()
	pty.Until(ctx, ends("\r\x1b[1A\x1b[J"))
}
