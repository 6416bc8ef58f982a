package control_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
)

// What sources are known for does not depend on how fetches are put into transactions,
// is halved by time, begins anew at another server, and never counts more than fifty.
func TestReputationsAreMeasured(t *testing.T) {
	t.Parallel()
	pool := database(t)
	for _, id := range []string{"one", "each"} {
		exec(t, pool, `INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES ('`+id+`', 'H', 's:22', 'sftp', '', 1, '1 hour', 'available', 1)`)
	}
	store := func(id string, now time.Time, play ...func(*control.Outcomes)) {
		t.Helper()
		inTx(t, pool, func(tx pgx.Tx) error {
			o := &control.Outcomes{}
			for _, p := range play {
				p(o)
			}
			return control.CountFetches(t.Context(), tx, map[string]*control.Outcomes{id: o}, now)
		})
	}
	known := func(id string, now time.Time) control.Reputation {
		t.Helper()
		all, err := control.Choices(t.Context(), pool, now, id)
		if err != nil {
			t.Fatal(err)
		}
		return all[id].Reputation
	}
	told := func(r control.Reputation) string {
		return fmt.Sprintf("%.6f %.6f %.6f %.6f %.6f", r.Tries, r.Good, r.Corrupt, r.Bytes, r.Seconds)
	}
	if r := known("one", noon); r.Known() || r.Success() != 1 || r.Speed() != 0 {
		t.Errorf("of a source that was never fetched from is known: %+v", r)
	}
	good := func(o *control.Outcomes) { o.Brought(1000, 2*time.Second) }
	missed := func(o *control.Outcomes) { o.Missed(false) }
	corrupt := func(o *control.Outcomes) { o.Brought(1000, 2*time.Second); o.FoundCorrupt() }
	var all []func(*control.Outcomes)
	for range 40 {
		all = append(all, good, missed, good, corrupt)
	}
	store("one", noon, all...)
	for _, f := range all {
		store("each", noon, f)
	}
	one := known("one", noon)
	if each := known("each", noon); told(one) != told(each) {
		t.Errorf("told together %s, one by one %s", told(one), told(each))
	}
	if one.Tries > 50 || one.Tries < 45 || math.Abs(one.Corruption()-0.25) > 0.02 || math.Abs(one.Speed()-500) > 1e-6 {
		t.Errorf("of 160 fetches are counted %+v", one)
	}
	if later := known("one", noon.Add(72*time.Hour)); math.Abs(later.Tries-one.Tries/2) > 1e-9 || math.Abs(later.Speed()-500) > 1e-6 {
		t.Errorf("after three days: %+v, before %+v", later, one)
	}
	if later := known("one", noon.Add(365*24*time.Hour)); later.Known() || later.Success() < 0.999 || later.Speed() != 0 {
		t.Errorf("after a year it is not as if never tried: %+v", later)
	}
	store("one", noon.Add(72*time.Hour), good)
	if r := known("one", noon.Add(72*time.Hour)); math.Abs(r.Tries-(one.Tries/2*0.98+1)) > 1e-9 {
		t.Errorf("a fetch three days later is added to %+v: %+v", one, r)
	}
	exec(t, pool, "UPDATE control.source SET address = 'other:22' WHERE id = 'one'")
	if r := known("one", noon); r.Known() {
		t.Errorf("at another server is known: %+v", r)
	}
	store("one", noon, missed)
	if r := known("one", noon); told(r) != told(control.Reputation{Tries: 1}) {
		t.Errorf("at another server it does not begin anew: %+v", r)
	}
	if got := text(t, pool, "SELECT fetched, fetch_failures FROM control.source WHERE id = 'one'"); got != "(121,81)" {
		t.Errorf("counted for ever: %s", got)
	}
}
