package chdb

import "testing"

func TestSplitInsert(t *testing.T) {
	for _, c := range []struct {
		name, text, head, format, data string
		ok                             bool
	}{
		{name: "batch", text: "INSERT INTO t (a, b) FORMAT Native", head: "INSERT INTO t (a, b)", format: "Native", ok: true},
		{name: "data behind", text: "insert into t format CSV\n1,2\n3,4", head: "insert into t", format: "CSV", data: "1,2\n3,4", ok: true},
		{name: "windows line end", text: "INSERT INTO t FORMAT CSV \r\n1", head: "INSERT INTO t", format: "CSV", data: "1", ok: true},
		{name: "only one line end is skipped", text: "INSERT INTO t FORMAT TSV\n\na", head: "INSERT INTO t", format: "TSV", data: "\na", ok: true},
		{name: "settings", text: "INSERT INTO t SETTINGS x = 'FORMAT' FORMAT Native", head: "INSERT INTO t SETTINGS x = 'FORMAT'", format: "Native", ok: true},
		{name: "quoted names", text: "INSERT INTO `format` (\"FORMAT\") FORMAT Native", head: "INSERT INTO `format` (\"FORMAT\")", format: "Native", ok: true},
		{name: "comments", text: "/* FORMAT x */ INSERT -- FORMAT y\n INTO t FORMAT Native", head: "/* FORMAT x */ INSERT -- FORMAT y\n INTO t", format: "Native", ok: true},
		{name: "binary", text: "INSERT INTO t FORMAT Native\n\x01\n\x00", head: "INSERT INTO t", format: "Native", data: "\x01\n\x00", ok: true},
		{name: "values", text: "INSERT INTO t VALUES (1)"},
		{name: "format values", text: "INSERT INTO t FORMAT Values (1)"},
		{name: "select", text: "INSERT INTO t SELECT 1 FORMAT Native"},
		{name: "with", text: "INSERT INTO t WITH 1 AS x SELECT x FORMAT Native"},
		{name: "infile", text: "INSERT INTO t FROM INFILE 'x' FORMAT Native"},
		{name: "a select", text: "SELECT 1 FORMAT Native"},
		{name: "nothing", text: ""},
		{name: "no format name", text: "INSERT INTO t FORMAT"},
		{name: "an open quote", text: "INSERT INTO t 'FORMAT Native"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts, ok := splitInsert([]byte(c.text))
			if ok != c.ok || parts.head != c.head || parts.format != c.format || string(parts.data) != c.data {
				t.Errorf("got %q %q %q %v", parts.head, parts.format, parts.data, ok)
			}
		})
	}
}

func FuzzSplitInsert(f *testing.F) {
	f.Add([]byte("INSERT INTO t (a) FORMAT Native\n\x00"))
	f.Add([]byte("INSERT '\\"))
	f.Fuzz(func(t *testing.T, text []byte) {
		parts, ok := splitInsert(text)
		if ok && len(parts.head)+len(parts.format)+len(parts.data) > len(text) {
			t.Errorf("the parts of %q exceed it", text)
		}
	})
}
