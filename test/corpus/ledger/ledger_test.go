package ledger

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func doc(action, file, entry string, upload int, keys ...string) *Document {
	d := &Document{Version: Version{FileInc: int(file[0]), Action: action, File: file, Document: entry, Upload: upload}, Archive: "x"}
	for _, k := range keys {
		d.Claims = append(d.Claims, &Claim{Type: "t", Key: k[:1], Content: k[1:]})
	}
	return d
}

// told is "file/entry key current finding" of every claim, in order.
func told(claims []*Claim) map[string]string {
	out := map[string]string{}
	for _, c := range claims {
		state := "superseded"
		switch {
		case c.Doc.Withdrawn:
			state = "withdrawn"
		case c.Current:
			state = "current"
		}
		if c.Finding != "" {
			state += " " + c.Finding
		}
		out[c.Doc.Name()+" "+c.Key+" "+string(rune('0'+c.Doc.Version.Upload))] = state
	}
	return out
}

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		docs []*Document
		want map[string]string
	}{
		"add, equal, other": {
			[]*Document{doc("add", "1", "a", 0, "k1"), doc("add", "2", "a", 0, "k1"), doc("add", "3", "a", 0, "k2")},
			map[string]string{"add/1/a k 0": "superseded", "add/2/a k 0": "superseded already_present", "add/3/a k 0": "current resubmitted"},
		},
		"edit": {
			[]*Document{doc("add", "1", "a", 0, "k1"), doc("edit", "2", "a", 0, "k2", "l1")},
			map[string]string{"add/1/a k 0": "superseded", "edit/2/a k 0": "current", "edit/2/a l 0": "current edit_of_unknown"},
		},
		"delete, and add again": {
			[]*Document{doc("add", "1", "a", 0, "k1"), doc("delete", "2", "a", 0, "k1", "l1"), doc("add", "3", "a", 0, "k1", "l1")},
			map[string]string{"add/1/a k 0": "superseded", "delete/2/a k 0": "superseded", "delete/2/a l 0": "superseded delete_of_unknown",
				"add/3/a k 0": "current", "add/3/a l 0": "current"},
		},
		"deleted twice": {
			[]*Document{doc("add", "1", "a", 0, "k1"), doc("delete", "2", "a", 0, "k1"), doc("delete", "3", "a", 0, "k1")},
			map[string]string{"add/1/a k 0": "superseded", "delete/2/a k 0": "superseded", "delete/3/a k 0": "superseded delete_of_unknown"},
		},
		"uploaded again": {
			[]*Document{doc("add", "1", "a", 0, "k1", "l1"), doc("add", "1", "b", 0, "m1"), doc("add", "1", "a", 1, "k2")},
			map[string]string{"add/1/a k 0": "withdrawn", "add/1/a l 0": "withdrawn", "add/1/b m 0": "withdrawn", "add/1/a k 1": "current"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				if d := cmp.Diff(test.want, told(Judge(test.docs))); d != "" {
					t.Error(d)
				}
				rand.Shuffle(len(test.docs), func(i, j int) { test.docs[i], test.docs[j] = test.docs[j], test.docs[i] })
			}
		})
	}
}

func TestUnloadRestores(t *testing.T) {
	docs := []*Document{doc("add", "1", "a", 0, "k1", "l1"), doc("add", "1", "b", 0, "m1"), doc("add", "1", "a", 1, "k2"), doc("edit", "2", "a", 0, "k3")}
	docs[2].Unload, docs[3].Unload = true, true
	want := map[string]string{"add/1/a k 0": "current", "add/1/a l 0": "current", "add/1/b m 0": "current", "add/1/a k 1": "withdrawn", "edit/2/a k 0": "withdrawn"}
	if d := cmp.Diff(want, told(Judge(docs))); d != "" {
		t.Error(d)
	}
}

func TestFailedUploadWithdrawsNothing(t *testing.T) {
	first, second := doc("add", "1", "a", 0, "k1"), doc("add", "1", "a", 1, "k2")
	second.Fails = true
	if d := cmp.Diff(map[string]string{"add/1/a k 0": "current"}, told(Judge([]*Document{first, second}))); d != "" {
		t.Error(d)
	}
}
