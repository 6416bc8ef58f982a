package strict

import (
	"strings"
	"testing"
	"testing/fstest"
)

type item struct {
	Name  Value    `yaml:"name"`
	Flag  bool     `yaml:"flag"`
	List  []Value  `yaml:"list"`
	Other Anything `yaml:"other"`
}

func TestDecode(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"good", "name: a\nflag: true\nlist: [x, 'y']\nother: {anything: [goes]}\n", ""},
		{"null", "name:\nlist:\n", ""},
		{"unknown", "nam: a", "f.yaml: line 1: nam is not a key that belongs here"},
		{"several", "nam: a\nfla: b\n", "f.yaml: line 1: nam is not a key that belongs here\nf.yaml: line 2: fla is not a key that belongs here"},
		{"twice", "name: a\nname: b", `f.yaml: line 2: mapping key "name" already defined at line 1`},
		{"list for a value", "name: [a]", "f.yaml: line 1: expected a single value"},
		{"value for a list", "list: a", "f.yaml: line 1: the text `a` is not what belongs here"},
		{"no truth", "flag: often", "f.yaml: line 1: the text `often` is not what belongs here"},
		{"group for a flag", "flag: {a: b}", "f.yaml: line 1: a group of keys is not what belongs here"},
		{"no YAML", "name: [", "f.yaml: line 1: did not find expected node content"},
		{"empty", "", "f.yaml: the file is empty"},
		{"two", "name: a\n---\nname: b\n", "f.yaml: there must be one YAML document in the file"},
		{"large", "name: " + strings.Repeat("a", MaxFile), "f.yaml has more than 1048576 bytes, which is the most that is read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Decode(fstest.MapFS{"f.yaml": {Data: []byte(tt.text)}}, "f.yaml", &item{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
	if err := Decode(fstest.MapFS{}, "f.yaml", &item{}); err == nil || !strings.Contains(err.Error(), "f.yaml") {
		t.Errorf("error %v", err)
	}
}

func TestValues(t *testing.T) {
	var i item
	if err := Decode(fstest.MapFS{"f.yaml": {Data: []byte("# c\nname: 'a b'\nlist:\n  - x\n")}}, "f.yaml", &i); err != nil {
		t.Fatal(err)
	}
	if i.Name != (Value{"a b", 2}) || i.List[0] != (Value{"x", 4}) {
		t.Errorf("%+v", i)
	}
}

func TestProblems(t *testing.T) {
	p := NewProblems("f.yaml")
	if p.Found() || p.Err() != nil {
		t.Error("there are problems from the start")
	}
	p.Add(3, "a.b", "must be %d", 7)
	p.Add(3, "a.b", "must be %d", 7)
	p.Add(0, "c", "is missing")
	if got, want := p.Err().Error(), "f.yaml: line 3: a.b must be 7\nf.yaml: c is missing"; got != want || !p.Found() {
		t.Errorf("problems %q, want %q", got, want)
	}
}
