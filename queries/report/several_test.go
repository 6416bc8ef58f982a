package report

import "testing"

func TestSeveral(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want bool
	}{
		{"SELECT 1", false},
		{"SELECT 1; SELECT 2", true},
		{"SELECT ';'", false},
		{`SELECT '\';' , 2`, false},
		{"SELECT 1 -- ; \n", false},
		{"SELECT 1 -- ; \n; SELECT 2", true},
		{"SELECT /* ; */ 1", false},
		{"SELECT /* ; */ 1; SELECT 2", true},
		{"SELECT /**/ 1; SELECT 2", true},
		{"SELECT /*/ ; 1", false},
		{"SELECT 1 /* ;", false},
		{"SELECT 1 /*", false},
		{"SELECT 1 /", false},
	} {
		if got := several(c.sql); got != c.want {
			t.Errorf("%q: %v, not %v", c.sql, got, c.want)
		}
	}
}
