package browser

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	gocmp "github.com/google/go-cmp/cmp"

	"tributary/test/corpus"
	"tributary/test/wait"
)

const (
	// demoDisk is what the demo may leave on the disk after a fortnight.
	demoDisk = 400 << 20
	// pictureSize is what a picture of the README may take.
	pictureSize = 150 << 10
)

// pictures are the pages that the README shows, of the demo after its fortnight.
func pictures(broken corpus.DocEnd) map[string]string {
	return map[string]string{"now.png": "/", "file.png": "/files/" + broken.Action + "/" + broken.File}
}

// The demo that lives, in a minute: its link opens the pages, what the centres
// delivered in the fortnight ends as the oracle says, what people ask is answered by
// following what they see, the disk is bounded, and Ctrl-C ends all of it. The README's pictures are made of it: make screenshots.
func TestTheDemoLives(t *testing.T) {
	long(t)
	live := os.Getenv("TRIBUTARY_DEMO_LIVE")
	if live == "" {
		live = "30s"
	}
	d := startDemo(t, live)
	link := d.until(regexp.MustCompile(`(http://127\.0\.0\.1:\d+)(/login/\S+)`))
	d.until(regexp.MustCompile(`(The fortnight is over)`))
	broken := d.ends()

	b := open(t, link[1])
	b.visit(link[2])
	eval[bool](b, `document.querySelector("main form").submit() ?? true`)
	b.until(`document.title.startsWith("Now")`)
	to := os.Getenv("TRIBUTARY_SCREENSHOTS")
	if to == "" {
		to = screenshots(t)
	}
	b.use(look{1440, "light", true})
	for name, path := range pictures(broken) {
		if status := b.visit(path); status != 200 {
			t.Fatalf("%s answers %d", path, status)
		}
		b.until(`document.readyState === "complete"`)
		b.picture(filepath.Join(to, name))
	}
	b.answers(questions(broken))
	if problems := b.complaints(); len(problems) > 0 {
		t.Errorf("the browser says: %s", problems)
	}

	d.stop()
	if answer, err := http.Get(link[1] + "/login"); err == nil {
		answer.Body.Close()
		t.Error("after Ctrl-C the pages are still there")
	}
	if size := size(t, d.dir); size > demoDisk {
		t.Errorf("the demo has left %d bytes, more than %d", size, demoDisk)
	}
}

// living is a demo that runs.
type living struct {
	t       *testing.T
	dir     string // where it leaves everything
	program string // tributary
	command *exec.Cmd
	lines   *bufio.Scanner
	stopped bool
}

// startDemo starts the demo with a fortnight in that time, in a folder that Postgres
// can enter.
func startDemo(t *testing.T, live string) *living {
	t.Helper()
	dir, err := os.MkdirTemp("", "tributary-lives-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	d := &living{t: t, dir: filepath.Join(dir, "demo"), program: os.Getenv("TRIBUTARY_BINARY")}
	if d.program == "" {
		d.program = filepath.Join(dir, "tributary")
		build(t, d.program, "tributary/cmd/tributary")
	}
	build(t, filepath.Join(dir, "run"), "tributary/test/demo")
	ctx, cancel := context.WithTimeout(t.Context(), 2*wait.Patience())
	t.Cleanup(cancel)
	d.command = exec.CommandContext(ctx, filepath.Join(dir, "run"), "-binary", d.program, "-dir", d.dir, "-live", live)
	d.command.Cancel = func() error { return d.command.Process.Signal(os.Interrupt) }
	d.command.WaitDelay = wait.Patience()
	d.command.Stderr = t.Output()
	out, err := d.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.lines = bufio.NewScanner(out)
	if err := d.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	return d
}

func build(t *testing.T, to, of string) {
	t.Helper()
	if out, err := exec.Command("go", "build", "-o", to, of).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", of, err, out)
	}
}

// until reads what the demo prints until a line has that in it, and returns the groups.
func (d *living) until(line *regexp.Regexp) []string {
	d.t.Helper()
	for d.lines.Scan() {
		if m := line.FindStringSubmatch(d.lines.Text()); m != nil {
			return m
		}
	}
	d.t.Fatalf("the demo has ended, and has not said %s", line)
	return nil
}

// stop ends the demo as Ctrl-C does, once, and waits for it.
func (d *living) stop() {
	if d.stopped {
		return
	}
	d.stopped = true
	if err := d.command.Process.Signal(os.Interrupt); err != nil {
		d.t.Error(err)
	}
	for d.lines.Scan() { // so that it doesn't wait for a reader
	}
	if err := d.command.Wait(); err != nil {
		d.t.Errorf("after Ctrl-C the demo ends with %v", err)
	}
}

// ends waits until every file of the demo and of its fortnight has ended as the oracle
// says, and returns one with a document that breaks the schema.
func (d *living) ends() (broken corpus.DocEnd) {
	d.t.Helper()
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Demo})
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := c.Fortnight(); err != nil {
		d.t.Fatal(err)
	}
	want := map[string]string{}
	for _, f := range c.Oracle.Files {
		want[f.Action+"/"+f.File] = f.Phase + " " + f.Status
	}
	for _, one := range c.Oracle.Documents {
		if len(one.Errors) > 0 && one.Errors[0].Exception == "xsd_invalid" {
			broken = one
		}
	}
	over := time.Now().Add(wait.Patience())
	for {
		diff := gocmp.Diff(want, d.files(want))
		if diff == "" {
			return broken
		}
		if time.Now().After(over) {
			d.t.Fatalf("files have not ended as they should: %s", diff)
		}
	}
}

// files are where the wanted files stand, as the command says, which takes a while.
func (d *living) files(wanted map[string]string) map[string]string {
	d.t.Helper()
	out, err := exec.CommandContext(d.t.Context(), d.program, "files", "-o", "json", "--config", filepath.Join(d.dir, "tributary.yaml")).Output()
	if err != nil {
		d.t.Fatal(err)
	}
	all := map[string]string{}
	for line := range bytes.Lines(out) {
		var f struct{ File, Action, Phase, Status string }
		if err := json.Unmarshal(line, &f); err != nil {
			d.t.Fatal(err)
		}
		if name := f.Action + "/" + f.File; wanted[name] != "" {
			all[name] = f.Phase + " " + f.Status
		}
	}
	return all
}

// picture keeps what the window shows, in fewer bytes than the browser makes of it,
// and without the name of whoever runs the test.
func (b *tab) picture(to string) {
	b.t.Helper()
	eval[bool](b, `document.querySelectorAll(".who").forEach(e => e.style.visibility = "hidden") ?? true`)
	shown, err := png.Decode(bytes.NewReader(call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data))
	if err != nil {
		b.t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, paletted(shown)); err != nil {
		b.t.Fatal(err)
	}
	if w := shown.Bounds().Dx(); w != 1440 || small.Len() > pictureSize {
		b.t.Errorf("%s is %d wide and has %d bytes; 1440 and at most %d are wanted", to, w, small.Len(), pictureSize)
	}
	if err := os.WriteFile(to, small.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// paletted is a picture in 256 of its colours, the most frequent of each that are much
// alike: a page has few, but for the edges of letters.
func paletted(p image.Image) image.Image {
	counts := map[color.RGBA]int{}
	at := p.Bounds()
	each := func(do func(x, y int, c color.RGBA)) {
		for y := at.Min.Y; y < at.Max.Y; y++ {
			for x := at.Min.X; x < at.Max.X; x++ {
				do(x, y, color.RGBAModel.Convert(p.At(x, y)).(color.RGBA))
			}
		}
	}
	each(func(_, _ int, c color.RGBA) { counts[c]++ })
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], slices.Compare([]uint8{a.R, a.G, a.B}, []uint8{b.R, b.G, b.B}))
	})
	var palette color.Palette
	for _, c := range all {
		if len(palette) < 256 && (len(palette) == 0 || !alike(c, palette[palette.Index(c)].(color.RGBA))) {
			palette = append(palette, c)
		}
	}
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(at, palette)
	each(func(x, y int, c color.RGBA) { out.SetColorIndex(x, y, nearest[c]) })
	return out
}

// alike tells whether nobody sees that two colours differ.
func alike(a, b color.RGBA) bool {
	near := func(x, y uint8) bool { return max(x, y)-min(x, y) <= 8 }
	return near(a.R, b.R) && near(a.G, b.G) && near(a.B, b.B)
}

// size is how many bytes the files below a folder have.
func size(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		sum += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("measure the demo's folder: %w", err))
	}
	return sum
}
