//go:build synctests && !wasip1

package sim

import (
	"fmt"
	"slices"
	"strings"

	"tributary/schemas"
)

// end is where something stands when all is done.
type end struct{ phase, status string }

func (e end) String() string { return "(" + e.phase + ", " + e.status + ")" }

func failedAt(p schemas.Phase) end { return end{string(p), string(schemas.Failed)} }

// wantDoc is the end of a document that was judged. An observation needs its
// station: known tells whether the documents' one is listed.
func (f *sceneFile) wantDoc(n int, d sceneDoc, known bool) end {
	switch {
	case !d.valid && n%3 == 1:
		return failedAt(schemas.XMLName)
	case !d.valid:
		return failedAt(schemas.XSD)
	case n%2 == 1 && f.action != schemas.Delete && !known:
		return failedAt(schemas.Data)
	}
	return end{string(schemas.Overview), string(schemas.Done)}
}

// wantEnds are the ends of a good file, under "", and of its documents.
func (f *sceneFile) wantEnds(known bool) map[string]end {
	out := map[string]end{"": {string(schemas.Overview), string(schemas.Done)}}
	for n, d := range f.versions[len(f.versions)-1].docs {
		e := f.wantDoc(n, d, known)
		out[d.entry] = e
		// A file shows the earliest phase in which a document failed.
		if first := out[""]; e.status == string(schemas.Failed) && (first.status != e.status || schemas.Phase(e.phase).ID() < schemas.Phase(first.phase).ID()) {
			out[""] = e
		}
	}
	return out
}

// shownEnds are the ends of a file and its documents as the tracker shows them.
func (in *installation) shownEnds(f *sceneFile) (map[string]end, error) {
	rows, err := in.ask(`SELECT '' || E'\t' || phase || E'\t' || status FROM tracker.file WHERE file = $1 AND action = $2
		UNION ALL SELECT document || E'\t' || phase || E'\t' || status FROM tracker.document WHERE file = $1 AND action = $2`, f.name, f.action)
	if err != nil {
		return nil, err
	}
	out := map[string]end{}
	for _, row := range rows {
		c := strings.Split(row, "\t")
		if _, twice := out[c[0]]; twice {
			return nil, fmt.Errorf("%s of %s is shown twice", c[0], f.name)
		}
		out[c[0]] = end{c[1], c[2]}
	}
	return out, nil
}

// stationKnown tells whether a current document lists the station that all
// reports of a network name.
func (in *installation) stationKnown(network string) (bool, error) {
	rows, err := in.ask(`SELECT 'yes' FROM warehouse.claimed_station WHERE is_current AND network = $1 AND code = '1'`, network)
	return len(rows) > 0, err
}

// wrongEnds says which good files and documents the tracker does not show at
// the end that they should have.
func (in *installation) wrongEnds() (out []string) {
	for _, f := range in.s.scene.files {
		if f.class != classGood {
			continue
		}
		known, err := in.stationKnown(f.centre)
		if err != nil {
			return []string{err.Error()}
		}
		got, err := in.shownEnds(f)
		if err != nil {
			return []string{err.Error()}
		}
		want := f.wantEnds(known)
		for entry, w := range want {
			if g, ok := got[entry]; !ok {
				out = append(out, fmt.Sprintf("%s %s/%s is not shown", f.action, f.name, entry))
			} else if g != w {
				out = append(out, fmt.Sprintf("%s %s/%s is shown at %s, not %s", f.action, f.name, entry, g, w))
			}
		}
		for entry := range got {
			if _, ok := want[entry]; !ok {
				out = append(out, fmt.Sprintf("%s %s/%s is shown, and should not be", f.action, f.name, entry))
			}
		}
	}
	slices.Sort(out)
	return out
}
