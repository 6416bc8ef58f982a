package screen

import "testing"

func TestTextsObeyNobody(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"plain éж😀\ttab\nline": "plain éж😀\ttab\nline",
		"\x1b[31mred\x00\x7f":  `\x1b[31mred\x00\x7f`,
		"\u009b31m":            `\u009b31m`,
		"\u202egnp.zip":        `\u202egnp.zip`,
		"a\u2066b\u2028c":      `a\u2066b\u2028c`,
		"\U000E0041\u200b":     `\U000e0041\u200b`,
		"over\rwritten":        `over\rwritten`,
		"no \xff UTF-8":        `no \xff UTF-8`,
		"a \uFFFD that stood":  "a \uFFFD that stood",
		"क\u200dष":             "क\u200dष", // a joiner that writing needs
	} {
		got := Text(in)
		if got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
		if again := Text(got); again != got {
			t.Errorf("once more: %q", again)
		}
	}
	if got := Line("a\x1b[31mb\tc\u202ed\r\ne"); got != `a\x1b[31mb c\u202ed e` {
		t.Errorf("Line: %q", got)
	}
}
