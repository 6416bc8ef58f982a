package insert

import "testing"

func TestAppendText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"H.2024-01-01.1.specimen.impc.xml", "H.2024-01-01.1.specimen.impc.xml"},
		{"a\tb\nc\rd", `a\tb\nc\rd`},
		{`\N`, `\\N`},
		{`\.`, `\\.`},
		{"a\x00b", "a\uFFFDb"},
		{"µm, 10 °C", "µm, 10 °C"},
		{"\xff", "\xff"}, // Postgres says what is wrong with it
	} {
		if got := string(appendText([]byte("x"), c.in)); got != "x"+c.want {
			t.Errorf("%q: %q, not %q", c.in, got, "x"+c.want)
		}
	}
}
