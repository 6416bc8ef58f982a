package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// elsewhere are the commands that this test leaves to others, each with the
// reason, and the suite that executes it.
var elsewhere = []struct{ like, why string }{
	{`^make `, "builds, fetches engines and starts a system of its own: what it starts is tested in test/e2e and test/cluster"},
	{`^tributary up\b`, "the test carries the corpus through with up --once before everything, and has up running"},
	{` --server https://`, "needs a server elsewhere: cmd/tributary, TestServerAnswersTheSame"},
	{`^curl -N `, "goes on until it is stopped: web/api, TestEvents"},
	{`^tributary serve$`, "goes on until it is stopped: cmd/tributary, TestEveryRouteByEveryRole"},
	{`^tributary run `, "goes on until it is stopped: make test-cluster starts every role"},
	{`^tributary topics tail -f\b`, "goes on until it is stopped: test/e2e"},
	{`^tributary control restore`, "needs a lost control: test/e2e, TestControlIsRestored…"},
	{`^tributary replay --stale --shadow|^tributary replay compare try|^tributary replay promote`, "needs a changed profile and a restart: test/e2e, stale and shadow"},
	{`^tributary admin stop`, "stops what the test runs: cmd/tributary, TestAdminOfRunningMembers"},
	{`^tributary topics pass-over`, "needs a record that stops reading: test/hostile, passover"},
	{`tributary\.kafka\.yaml`, "needs Apache Kafka: make test-kafka"},
	{`^tributary schemas register`, "needs a registry: make test-registry"},
	{`^tributary topics acl`, "needs Apache Kafka: make test-scale-out"},
	{`^tributary blobs begin`, "needs a lost store: internal/blob"},
	{`^tributary files cancel`, "needs a file that is under way: producers/plan, TestWhatIsUnderWayEnds"},
	{`^tributary files retry`, "needs a file that has failed: producers/plan, TestAFileIsTriedAgainAtOnce"},
	{`^tributary files priority`, "needs a file that waits: producers/plan, TestAFileIsGivenAPriority"},
	{`^tributary documents qc`, "needs a document by its name: recovery/quality, TestDecide"},
	{`^tributary own `, "needs the file of a link: cmd/tributary, TestOwnByLink"},
	{`^tributary sources edit harwell`, "the configuration of the test declares it: test/e2e, TestSourcesAreData"},
	{`^tributary sources act`, "needs a source with done_with: producers/donewith"},
	{`^tributary dlq (show|retry|drop)`, "needs dead letters: test/e2e, dlq"},
	{`^tributary notify test`, "needs a target: cmd/tributary, TestNotifyTest"},
	{`^tributary reference load quantity`, "needs the weather profile: test/profiles"},
	{`^tributary sql .*FROM claim WHERE is_current`, "needs the weather profile: test/profiles"},
}

// after is what the test does behind a command before it goes on: the pages
// leave the same to the reader's patience.
var after = map[string]func(*world){
	`tributary replay --from xsd --where "centre = 'J'" --reason 'schema 2.1'`:                  func(w *world) { w.done("1") },
	`tributary replay --from xsd --where "centre = 'J'" --shadow tighter --reason 'schema 2.1'`: func(w *world) { w.done("tighter") },
	`tributary sources edit ucd interval=1h hosts='[H]' --reason 'shows copies of Harwell'`: func(w *world) {
		w.await("the tracker to have both revisions", func() bool {
			out, _ := w.run("tributary sources history ucd")
			return strings.Contains(out, "interval: default → 1h")
		})
	},
	`tributary sources add partner centre=Ucd url=ftpes://files.example.org/impc --reason 'they have TLS now'`: func(w *world) {
		w.run("tributary sources remove partner --reason 'no server of the test'")
	},
	`tributary sources add webfiles centre=Ucd url=https://files.example.org/impc --reason 'a new partner'`: func(w *world) {
		w.run("tributary sources remove webfiles --reason 'no server of the test'")
	},
	`tributary sources add bucketfiles centre=Ucd url=s3://impc-data/outgoing region=eu-west-1 --reason 'a new partner'`: func(w *world) {
		w.run("tributary sources remove bucketfiles --reason 'no server of the test'")
	},
	`tributary sources add inside centre=Ucd url=sftp://reader@files.inside.example.org/outgoing identity_file=/etc/tributary/id_ed25519 known_hosts=/etc/tributary/known_hosts 'jump=[reader@bastion.example.org:22]' --reason 'a new partner'`: func(w *world) {
		w.run("tributary sources remove inside --reason 'no server of the test'")
	},
	`tributary replay resume 2`: func(w *world) { w.run("tributary replay stop 2 --reason 'the test goes on'") },
}

// Every command that how-tos, tutorial and README show works, and prints what
// the page says.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a whole system")
	}
	all := pages(t)
	var paths []string
	for path := range all {
		if path == "README.md" || path == "docs/tutorial.md" || strings.HasPrefix(path, howTos) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	w := setUp(t)
	executed := map[string]bool{}
	for _, path := range paths {
		for _, c := range commands(path, all[path]) {
			if why(c.text) != "" || executed[c.text] && c.output == "" {
				continue // of one that stands on several pages, the first is executed
			}
			executed[c.text] = true
			w.execute(c)
		}
	}
	if len(executed) < 60 {
		t.Errorf("only %d commands were found", len(executed))
	}
}

// why says for what reason a command is not executed here; nothing if it is.
func why(text string) string {
	for _, e := range elsewhere {
		if regexp.MustCompile(e.like).MatchString(text) {
			return e.why
		}
	}
	return ""
}

// execute runs one command of a page and compares what it prints.
func (w *world) execute(c command) {
	w.t.Helper()
	w.t.Logf("%s:%d: %s", c.page, c.line, c.text)
	out, code := w.run(w.filled(c.text))
	if (code != 0) != c.fails() {
		w.t.Errorf("%s:%d: %s: exit code %d\n%s", c.page, c.line, c.text, code, out)
	} else if c.output != "" && !matches(strings.ReplaceAll(c.output, "163", w.position), out) {
		w.t.Errorf("%s:%d: %s prints something else than the page says:\n%s", c.page, c.line, c.text, out)
	}
	if then := after[c.text]; then != nil {
		then(w)
	}
}

// filled puts what a reader would into the places that a page leaves open, and
// the moments and the position of this run in place of the page's.
func (w *world) filled(text string) string {
	return strings.NewReplacer(
		"tributary init", "env --unset=TRIBUTARY_CONFIG tributary init",
		"163", w.position,
		"FILE", "H.2024-01-11.03.impc.zip",
		"2026-11-22T04:04:23Z", w.begun.UTC().Format(time.RFC3339Nano),
		"2026-11-22T04:04:40Z", w.ended.UTC().Format(time.RFC3339Nano),
	).Replace(text)
}
