package config

import (
	"strings"
	"testing"
)

func TestDoneWith(t *testing.T) {
	for text, want := range map[string]struct {
		is     DoneWith
		target string // of add/x.zip
		fault  string
	}{
		"":                  {},
		"delete":            {is: DoneWith{Act: DoneDelete}},
		"delete all":        {fault: "more than delete"},
		"move done":         {is: DoneWith{DoneMove, "done"}, target: "done/add/x.zip"},
		"move  done/by us":  {is: DoneWith{DoneMove, "done/by us"}, target: "done/by us/add/x.zip"},
		"move":              {fault: "names no directory"},
		"move /srv":         {fault: "no directory below url"},
		"move ../x":         {fault: "no directory below url"},
		"move a//b":         {fault: "no directory below url"},
		"move .":            {fault: "no directory below url"},
		"move add/done":     {fault: "lies in add"},
		"move Delete":       {fault: "lies in delete"},
		"move " + long(101): {fault: "longer than 100"},
		"mark":              {is: DoneWith{DoneMark, ".done"}, target: "add/x.zip.done"},
		"mark .seen":        {is: DoneWith{DoneMark, ".seen"}, target: "add/x.zip.seen"},
		"mark seen":         {fault: "can't end a mark"},
		"mark .":            {fault: "can't end a mark"},
		"mark ./a":          {fault: "can't end a mark"},
		"mark .ZIP":         {fault: "look like files"},
		"mark .md5":         {fault: "look like files"},
		"mark .a\x1b":       {fault: "can't be shown"},
		"keep":              {fault: "is not known"},
	} {
		got, err := Source{DoneWith: text}.Done()
		switch {
		case want.fault != "":
			if err == nil || !strings.Contains(err.Error(), want.fault) {
				t.Errorf("%q: %v, want %s", text, err, want.fault)
			}
		case err != nil || got != want.is || got.Target("add/x.zip") != want.target:
			t.Errorf("%q is %+v to %q, %v; want %+v to %q", text, got, got.Target("add/x.zip"), err, want.is, want.target)
		}
	}
}

func long(n int) string { return strings.Repeat("d", n) }
