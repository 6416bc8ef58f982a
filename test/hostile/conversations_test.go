package hostile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"tributary/schemas/exception"
	"tributary/test/wait"
)

// maxMemory is what the program may have at most while hostile servers talk.
const maxMemory = 300 << 20

// longest is how long a text may be that follows from what a server says.
const longest = 4096

// TestConversations lets hostile servers talk to the program, many at once, with
// a good source beside them. Seed n is always the same kind, step and bytes.
func TestConversations(t *testing.T) {
	first, runs, batch := number(t, "TRIBUTARY_SEED", 1), number(t, "TRIBUTARY_HOSTILE_SEEDS", 210), number(t, "TRIBUTARY_HOSTILE_BATCH", 50)
	struck, played := map[string]int{}, 0
	for from := first; from < first+runs; from += batch {
		var seeds []uint64
		for n := from; n < min(from+batch, first+runs); n++ {
			seeds = append(seeds, n)
		}
		t.Run(fmt.Sprintf("seeds %d to %d", seeds[0], seeds[len(seeds)-1]), func(t *testing.T) {
			program(t)
			for _, wrong := range together(t, seeds, struck) {
				t.Error(wrong)
			}
			played += len(seeds)
		})
	}
	all := slices.Concat(ftpKinds(), sftpKinds(), httpKinds(), s3Kinds())
	missed := 0
	for _, k := range all {
		if struck[k.name] == 0 && played >= len(all) {
			missed++
			t.Errorf("%s never struck", k.name)
		}
	}
	summary(t, fmt.Sprintf("%d seeds, %d kinds of misbehaviour, %d of them struck", played, len(all), len(struck)))
}

// There are as many kinds of misbehaviour as is said, each of a name of its own, and
// each may strike somewhere.
func TestKinds(t *testing.T) {
	names := map[string]bool{}
	for _, k := range slices.Concat(ftpKinds(), sftpKinds(), httpKinds(), s3Kinds()) {
		if names[k.name] || len(k.steps) == 0 {
			t.Errorf("%s is twice, or strikes nowhere", k.name)
		}
		names[k.name] = true
	}
	t.Logf("%d kinds of misbehaviour", len(names))
	if len(names) < 150 {
		t.Errorf("there are only %d kinds", len(names))
	}
}

// summary notes the last line of a campaign.
func summary(t *testing.T, text string) {
	t.Log(text)
	if path := os.Getenv("TRIBUTARY_SUMMARY"); path != "" {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// drawn is what a seed stands for. Kinds take turns, so that few seeds have them
// all; the step is drawn.
func drawn(seed uint64) (protocol string, k kind, step string) {
	all := []struct {
		protocol string
		kinds    []kind
	}{{"ftp", ftpKinds()}, {"sftp", sftpKinds()}, {"http", httpKinds()}, {"s3", s3Kinds()}}
	count := 0
	for _, of := range all {
		count += len(of.kinds)
	}
	i := int(seed % uint64(count))
	for _, of := range all {
		if i < len(of.kinds) {
			protocol, k = of.protocol, of.kinds[i]
			break
		}
		i -= len(of.kinds)
	}
	return protocol, k, k.steps[rand.New(rand.NewPCG(seed, 1)).IntN(len(k.steps))]
}

func told(seed uint64) string {
	_, k, step := drawn(seed)
	return fmt.Sprintf("%s at %s (make hostile-campaign SEED=%d SEEDS=1)", k.name, step, seed)
}

// together runs the hostile servers of some seeds beside the good ones, and then
// without them. It returns what was wrong. In a campaign, what can't be said of
// one seed is looked for in halves.
func together(t *testing.T, seeds []uint64, struck map[string]int) []string {
	one, all := round(t, seeds, struck)
	switch {
	case len(all) == 0:
		return one
	case len(seeds) == 1:
		return append(one, fmt.Sprintf("%s: %s", told(seeds[0]), strings.Join(all, "\n")))
	}
	if os.Getenv("TRIBUTARY_HOSTILE_HALVES") == "" {
		for _, seed := range seeds {
			t.Logf("among them: %s", told(seed))
		}
		return append(one, all...)
	}
	t.Logf("seeds %d to %d together: %s", seeds[0], seeds[len(seeds)-1], strings.Join(all, "\n"))
	for _, half := range [][]uint64{seeds[:len(seeds)/2], seeds[len(seeds)/2:]} {
		if found := together(t, half, struck); len(found) > 0 {
			return append(one, found...)
		}
	}
	return append(append(one, all...), fmt.Sprintf("only seeds %d to %d together show it", seeds[0], seeds[len(seeds)-1]))
}

// round returns what is wrong with single seeds, and what with all of them.
func round(t *testing.T, seeds []uint64, struck map[string]int) (one, all []string) {
	w := setUp(t, 4, "")
	for _, seed := range seeds {
		protocol, k, step := drawn(seed)
		w.add(protocol, k, step, seed)
	}
	w.configure(true)
	p := w.up()
	add := func(to *[]string, what string) {
		if what != "" {
			*to = append(*to, what)
		}
	}
	add(&all, await(wait.Patience(), w.goodInserted))
	open := ""
	if p.ended() {
		add(&all, "the process has ended: "+p.tail())
	} else {
		open = await(wait.Patience(), w.allEnded)
		one = w.judge(seeds)
	}
	for i, s := range w.hostile {
		if s.struck.Load() > 0 {
			struck[s.name]++
		} else {
			t.Logf("did not strike: %s", told(seeds[i]))
		}
	}
	if peak := p.peak(); peak > maxMemory {
		add(&all, fmt.Sprintf("the process took %d MiB", peak>>20))
	} else {
		t.Logf("the process took %d MiB", peak>>20)
	}
	add(&all, open)
	add(&all, p.stop())
	w.configure(false)
	once := w.start("up", "--once")
	if code, ok := once.code(); !ok || code != 0 {
		add(&all, fmt.Sprintf("up --once without the hostile sources: exit code %d\n%s", code, once.tail()))
		return one, all
	}
	type state struct{ Pending int64 }
	now, err := list[state](w, "status")
	if err != nil || len(now) != 1 || now[0].Pending != 0 {
		add(&all, fmt.Sprintf("pending once the hostile sources are removed: %v %v", now, err))
	}
	return one, all
}

// allEnded is a condition: every hostile source was polled to an end once, and
// what they showed has ended.
func (w *world) allEnded() string {
	for _, check := range []func() string{
		w.none("sources of which no poll has ended", `SELECT s.id FROM control.source s WHERE s.state = 'available' AND NOT EXISTS
			(SELECT FROM control.poll p WHERE p.source = s.id AND p.state IN ('complete','broken_off','failed'))`),
		w.none("files that wait", `SELECT file, phase, status FROM tracker.file WHERE NOT ended`),
		w.none("events that are not published", `SELECT id FROM control.outbox WHERE created_at < clock_timestamp() - interval '5 seconds'`),
	} {
		if last := check(); last != "" {
			return last
		}
	}
	return ""
}

// honest is how a hostile server's own archive ends where its listing alone
// misbehaves: what a broken-off listing showed is fetched all the same.
const honest = "xsd_invalid"

// judge looks at how polls and files of each hostile source ended: with a name
// that is in the reference, and a text that is short and clean.
func (w *world) judge(seeds []uint64) (wrong []string) {
	for i, s := range w.hostile {
		if n := s.overheard.Load(); n > 0 {
			wrong = append(wrong, fmt.Sprintf("%s is told the secret, or sends on to where requests follow, %d times", told(seeds[i]), n))
		}
		rows, err := w.rows(`SELECT exception, length(message), message ~ '[\x01-\x08\x0b-\x1f\x7f\u0080-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]' FROM control.poll WHERE source = $1 AND state IN ('broken_off','failed')
			UNION SELECT coalesce(exception, ''), coalesce(length(message), 0), coalesce(message ~ '[\x01-\x08\x0b-\x1f\x7f\u0080-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]', false) FROM tracker.file WHERE file = $2 AND status = 'failed'`, w.source(s), s.file)
		if err != nil {
			return append(wrong, err.Error())
		}
		for _, r := range rows {
			f := strings.SplitN(r, " ", 3)
			var length int
			_, _ = fmt.Sscan(f[1], &length)
			_, known := exception.Texts()[f[0]]
			switch {
			case !known:
				wrong = append(wrong, fmt.Sprintf("%s ends as %q, which the reference does not have", told(seeds[i]), f[0]))
			case length > longest:
				wrong = append(wrong, fmt.Sprintf("%s ends with a text of %d characters", told(seeds[i]), length))
			case f[2] == "true":
				wrong = append(wrong, fmt.Sprintf("%s ends with a text that has control characters", told(seeds[i])))
			case (s.step == "listing" || s.step == "index") && f[0] == honest:
			case len(s.ends) > 0 && !slices.Contains(s.ends, f[0]):
				wrong = append(wrong, fmt.Sprintf("%s ends as %s, expected is one of %v", told(seeds[i]), f[0], s.ends))
			}
		}
	}
	return wrong
}
