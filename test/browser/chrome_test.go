package browser

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"tributary/internal/engine/enginetest"
	"tributary/test/wait"
)

// missing skips a test, or fails it where nothing may be skipped.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv(enginetest.EnvRequire) == "1" {
		t.Fatalf("%s is required by %s=1 and missing: run make browser", what, enginetest.EnvRequire)
	}
	t.Skipf("%s is missing: run make browser", what)
}

// axe is the text of axe-core, which make browser fetches to a folder whose name
// follows from what is pinned.
func axe(t *testing.T) string {
	t.Helper()
	pinned, err := os.ReadFile("testdata/axe/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	folder := fmt.Sprintf("axe-%x", sha256.Sum256(pinned))[:len("axe-")+12]
	text, err := os.ReadFile(filepath.Join(cache, "tributary", folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		missing(t, "axe-core")
	}
	return string(text)
}

// tab is an open page of a browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	// at is the server's address with the prefix, without a slash at its end.
	at string

	mu       sync.Mutex
	problems []string
}

// open starts a browser of its own for a test, with an empty tab.
func open(t *testing.T, at string) *tab {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		missing(t, "Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 900),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), // nothing but the pages
		chromedp.Flag("hide-scrollbars", false),
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4")) // there is a mouse
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := context.WithTimeout(t.Context(), 4*wait.Patience()) // some go through all pages
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	b := &tab{t: t, at: at}
	ctx, closeTab := chromedp.NewContext(ctx, chromedp.WithListener(b.listen))
	b.ctx = ctx
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("end the browser: %v", err)
		}
		closeTab()
		end()
		stop()
	})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	return b
}

// listen keeps what the browser complains about: errors and warnings of the console,
// what the policy forbids, what can't be loaded, exceptions of scripts, and dialogs,
// which only a script of somebody else opens.
func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.complain(fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			b.complain(fmt.Sprintf("console.%s: %s", e.Type, e.Args[0].Value))
		}
	case *runtime.EventExceptionThrown:
		b.complain(fmt.Sprintf("exception: %+v", e.ExceptionDetails))
	case *page.EventJavascriptDialogOpening:
		b.complain("a dialog says " + e.Message)
		go func() {
			if _, err := chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}); err != nil {
				b.complain(err.Error())
			}
		}()
	}
}

func (b *tab) complain(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, text)
}

// complaints are what was complained about since they were last asked for, but for
// an expected one.
func (b *tab) complaints(expected ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, p := range b.problems {
		known := false
		for _, e := range expected {
			known = known || strings.Contains(p, e)
		}
		if !known {
			all = append(all, p)
		}
	}
	b.problems = nil
	return all
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// call gives the browser a command of its protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// look is how a page is looked at.
type look struct {
	Width   int64
	Theme   string
	Scripts bool
}

func (l look) String() string {
	scripts := ""
	if !l.Scripts {
		scripts = "-noscript"
	}
	return fmt.Sprintf("%d-%s%s", l.Width, l.Theme, scripts)
}

// use makes the tab look so from the next page on.
func (b *tab) use(l look) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.Width, Height: 900, DeviceScaleFactor: 1, Mobile: l.Width < 500})
	b.scripts(l.Scripts)
	call(b, network.SetCookie, network.SetCookieParams{Name: "theme", Value: l.Theme, URL: b.at + "/"})
}

// scripts lets pages run scripts, or not.
func (b *tab) scripts(run bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !run})
}

// visit opens an address below the prefix and returns its status.
func (b *tab) visit(path string) int {
	b.t.Helper()
	b.do(chromedp.Navigate(b.at + path))
	return eval[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`)
}

// eval is what an expression says in the page; a promise is waited for.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.300s: %v", expression, err)
	}
	return value
}

// until waits for what an expression asks for.
func (b *tab) until(expression string) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(wait.Patience())
	defer over.Stop()
	for {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if err != nil && b.ctx.Err() == nil { // another page may be coming
			b.t.Logf("%s: %v", expression, err)
		}
		if is {
			return
		}
		select {
		case <-over.C:
			b.t.Fatalf("%s did not come to be; the browser says: %s", expression, b.complaints())
		case <-b.ctx.Done():
			b.t.Fatalf("%s did not come to be; the browser says: %s", expression, b.complaints())
		case <-tick.C:
		}
	}
}

// press presses keys one after another, as a person does: what a page makes of a key
// itself is not typed.
func (b *tab) press(keys string) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		down, up := events[0], events[len(events)-1]
		if len(events) == 3 {
			down.Text = events[1].Text
		}
		call(b, input.DispatchKeyEvent, *down)
		call(b, input.DispatchKeyEvent, *up)
	}
}

// text is what an element shows.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}
