package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatTakesMoreIsNamed(t *testing.T) {
	was := parts{{Name: "a", Done: 3, Seconds: 1, Bytes: 1000, Pieces: 100}, {Name: "b", Done: 4, Seconds: 2, Bytes: 2000, Pieces: 200}}
	change := func(f func(p parts)) parts {
		is := append(parts(nil), was...)
		f(is)
		return is
	}
	for _, test := range []struct {
		name  string
		is    parts
		worse []string
		err   string
	}{
		{"the same", was, nil, ""},
		{"as much as is allowed", change(func(p parts) { p[0].Seconds, p[1].Bytes = 1.14, 2290 }), nil, ""},
		{"less", change(func(p parts) { p[0].Seconds, p[0].Bytes, p[0].Pieces = 0.5, 1, 1 }), nil, ""},
		{"the processor", change(func(p parts) { p[1].Seconds = 2.4 }), []string{"b: time of the processor, 1.20"}, ""},
		{"bytes and pieces", change(func(p parts) { p[0].Bytes, p[0].Pieces = 1200, 130 }), []string{"a: bytes, 1.20", "a: pieces of memory, 1.30"}, ""},
		{"other work", change(func(p parts) { p[1].Done = 5 }), nil, "b does 5, and b did 4"},
		{"another part", change(func(p parts) { p[1].Name = "c" }), nil, "c does 4, and b did 4"},
		{"fewer parts", was[:1], nil, "the work has 1 parts, and had 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := compare(was, test.is)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(test.err, said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.worse, v.worse); diff != "" {
				t.Error(diff)
			}
			if failed := v.err() != nil; failed != (len(test.worse) > 0) {
				t.Errorf("it fails: %t", failed)
			}
		})
	}
}
