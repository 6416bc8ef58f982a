//go:build synctests && !wasip1

package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tributary/schemas"
)

// laws checks the tables and the log once all members have ended.
func (in *installation) laws() {
	s := in.s
	in.lawL1()
	s.lawL2(in.current)
	in.claims()
	in.lawL3()
	in.lawL4()
	in.lawL5()
	s.lawL6(in.log)
	s.lawL7()
	s.lawL9()
	in.lawL10()
}

// lawL1: every look and every file is in exactly one class, and the right one.
func (in *installation) lawL1() {
	s := in.s
	for _, row := range in.must(`SELECT format('look %s of %s at %s is %s', k.look, f.name, k.source, k.class) FROM control.look k JOIN control.file f ON f.id = k.file
		WHERE k.class IN ('unsettled', 'announced', 'waiting') ORDER BY 1`) {
		s.violate("L1", "%s", row)
	}
	for _, f := range s.scene.files {
		got := in.must(classSQL, f.id(), f.class == classGood, s.settledAt())
		if len(got) == 0 {
			if f.class != classGone {
				s.violate("L1", "%s was never seen", f.name)
			}
			continue
		}
		c := strings.Split(got[0], "\t")
		class, phase, open := c[0], c[1], c[2] == "true"
		want := map[string][]string{
			classGood: {"complete"}, classCorrupt: {"failed"}, classBadSum: {"failed"}, classEmpty: {"failed"},
			classGone: {"complete", "gone", "failed"}, className: {"rejected by its name"},
		}[f.class]
		if !slices.Contains(want, class) {
			s.violate("L1", "%s (%s) is %s, not %s", f.name, f.class, class, strings.Join(want, " or "))
		}
		where := map[string]schemas.Phase{classCorrupt: schemas.Unzip, classEmpty: schemas.Unzip, classBadSum: schemas.ZipMD5, className: schemas.ZipName}[f.class]
		if where == "" || open {
			continue
		}
		if f.class != className && phase != string(where) {
			s.violate("L1", "%s (%s) failed at %s, not at %s", f.name, f.class, phase, where)
		}
		if ends, err := in.shownEnds(f); err != nil || ends[""] != failedAt(where) {
			s.violate("L1", "%s (%s) is shown at %v (%v), not at %v", f.name, f.class, ends[""], err, failedAt(where))
		}
	}
}

// classSQL is the class of a file by its last acquisition, or by that which a
// duplicate repeats, with the phase in which it failed. What fails for good is
// tried again for as long as it is there: $2 says not to pass over such a try
// that is open. The third column says that its end is not known yet: such a try
// is open, or the last one could not fetch it while faults struck, up to $3.
const classSQL = `SELECT concat_ws(E'\t', CASE WHEN f.exception <> '' THEN 'rejected by its name' WHEN r.id IS NULL THEN 'nothing' WHEN r.state <> 'ended' THEN 'pending'
		WHEN r.result = 'cancelled' THEN r.exception ELSE r.result END, coalesce(r.phase, ''),
		(EXISTS (SELECT FROM control.acquisition WHERE file = f.id AND state <> 'ended') OR coalesce(r.phase = 'download' AND r.ended_at < $3, false))::text)
	FROM control.file f
	LEFT JOIN LATERAL (SELECT * FROM control.acquisition WHERE file = f.id AND (state = 'ended' OR $2) ORDER BY id DESC LIMIT 1) a ON true
	LEFT JOIN control.attempt t ON a.result = 'duplicate' AND t.file = f.id AND t.run = a.run AND t.attempt = f.current_attempt
	LEFT JOIN control.acquisition r ON r.id = coalesce(t.acquisition, a.id)
	WHERE f.id = $1`

// current are the documents of a file whose claims count.
func (in *installation) current(file string) map[string]string {
	out := map[string]string{}
	for _, row := range in.must(`SELECT entry || E'\t' || sha256 FROM warehouse.document WHERE file = $1 AND state = 'loaded' AND NOT withdrawn`, file) {
		entry, sha, _ := strings.Cut(row, "\t")
		if out[entry] != "" {
			in.s.violate("L2", "%s of %s counts twice", entry, file)
		}
		out[entry] = sha
	}
	return out
}

// claims checks L2 for what documents claim: on every key the greatest claim
// that is not withdrawn is current, unless it says that the key is gone.
func (in *installation) claims() {
	for _, row := range in.must(`SELECT format('%s %s: %s claims are current, of position %s; that of %s should be: %s', g.record_type, g.natural_key, n.n, n.at, g.position, NOT g.tombstone)
		FROM (SELECT DISTINCT ON (c.claim) c.* FROM warehouse.claim c JOIN warehouse.document d USING (position) WHERE NOT d.withdrawn
			ORDER BY c.claim, d.version_key DESC, c.position DESC, c.ordinal DESC) g
		JOIN (SELECT claim, count(*) FILTER (WHERE is_current) AS n, max(position) FILTER (WHERE is_current) AS at FROM warehouse.claim GROUP BY claim) n USING (claim)
		WHERE n.n <> CASE WHEN g.tombstone THEN 0 ELSE 1 END OR n.at <> g.position ORDER BY 1`) {
		in.s.violate("L2", "%s", row)
	}
	for _, row := range in.must(`SELECT format('%s %s is current, of a document that is withdrawn', c.record_type, c.natural_key) FROM warehouse.claim c
		JOIN warehouse.document d USING (position) WHERE c.is_current AND d.withdrawn ORDER BY 1`) {
		in.s.violate("L2", "%s", row)
	}
}

// lawL3: the log gives each position once, in order, and the warehouse has
// applied just these.
func (in *installation) lawL3() {
	s := in.s
	var applied []*schemas.DocumentOrdered
	documents := map[string]string{}
	texts := map[int64]string{}
	for _, l := range in.log {
		o, ok := l.m.Body.(*schemas.DocumentOrdered)
		if !ok {
			continue
		}
		text := string(l.rec.Value)
		if o.Position <= int64(len(applied)) {
			if texts[o.Position] != text {
				s.violate("L3", "position %d is told twice, differently", o.Position)
			}
			continue // a late publisher sent it again
		}
		texts[o.Position] = text
		applied = append(applied, o)
		if o.What == schemas.PositionDocument {
			state := "failed"
			if o.Result == schemas.Valid {
				state = "loaded"
			}
			documents[fmt.Sprint(o.Position)] = fmt.Sprintf("%s %s %s %s", o.File, o.Entry, o.SHA256, state)
		}
	}
	s.lawL3(applied)
	s.lawChain(in.log)
	got := map[string]string{}
	for _, row := range in.must(`SELECT format(E'%s\t%s %s %s %s', position, file, entry, sha256, state) FROM warehouse.document`) {
		position, text, _ := strings.Cut(row, "\t")
		got[position] = text
	}
	if !maps.Equal(documents, got) {
		s.violate("L3", "document.ordered has documents %v, the warehouse %v", documents, got)
	}
	next := fmt.Sprint(len(applied) + 1)
	if at := in.must(`SELECT next_position::text FROM warehouse.state`); !slices.Equal(at, []string{next}) {
		s.violate("L3", "the warehouse waits for position %v, document.ordered ends before %s", at, next)
	}
	if at := in.must(`SELECT next::text FROM control.position`); !slices.Equal(at, []string{next}) {
		s.violate("L3", "control gives position %v next, document.ordered ends before %s", at, next)
	}
}

// lawL10: whatever was concluded to be gone had been taken away before.
func (in *installation) lawL10() {
	for _, l := range in.log {
		d, ok := l.m.Body.(*schemas.FileDiscovered)
		if !ok || d.Change != "gone" {
			continue
		}
		v := in.s.servers[sceneSources()[d.Source]]
		left, gone := v.left[d.Source+"/"+d.Action+"/"+d.FileName]
		if !gone || l.m.Time.Before(left) {
			in.s.violate("L10", "%s is concluded to be gone from %s, where it is", d.FileName, d.Source)
		}
	}
}
