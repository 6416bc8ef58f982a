// Package strict reads the YAML of a profile so that whatever is wrong with it
// can be shown where it stands: unknown, repeated and misplaced keys are
// errors, and values know their line.
package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxFile is the size of the largest file that Decode reads, in bytes.
const MaxFile = 1 << 20

// Value is a scalar that knows its line. The zero value is an absent one.
type Value struct {
	// Text is the scalar without quotes.
	Text string
	// Line counts from 1; 0 says that the value is absent.
	Line int
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *Value) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: expected a single value", node.Line)}}
	}
	v.Text, v.Line = node.Value, node.Line
	return nil
}

// Anything is a part of the file that others read.
type Anything struct{}

// UnmarshalYAML implements yaml.Unmarshaler.
func (*Anything) UnmarshalYAML(*yaml.Node) error { return nil }

// Decode reads the one YAML document of a file into into, a pointer to a
// struct. The error joins one error for each thing that is wrong; each names
// the file and, but for an unreadable file, the line.
func Decode(fsys fs.FS, name string, into any) error {
	f, err := fsys.Open(name)
	if err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return fmt.Errorf("reading the profile: %w", err)
	}
	if len(data) > MaxFile {
		return fmt.Errorf("%s has more than %d bytes, which is the most that is read", name, MaxFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		return plain(name, err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: there must be one YAML document in the file", name)
	}
	return nil
}

// plain says what the YAML library found without its types, each thing in a
// line of its own.
func plain(name string, err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the file is empty", name)
	}
	var several *yaml.TypeError
	if !errors.As(err, &several) {
		return fmt.Errorf("%s: %s", name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var all []error
	for _, each := range several.Errors {
		each, _, _ = strings.Cut(each, " in type ")
		each = strings.Replace(each, " not found", " is not a key that belongs here", 1)
		each = strings.Replace(each, "field ", "", 1)
		if head, _, ok := strings.Cut(each, " into "); ok {
			each = strings.NewReplacer("cannot unmarshal ", "", "!!seq", "a list", "!!map", "a group of keys", "!!str", "the text", "!!int", "the number", "!!bool", "").Replace(head) + " is not what belongs here"
		}
		all = append(all, fmt.Errorf("%s: %s", name, each))
	}
	return errors.Join(all...)
}

// Problems gathers what is wrong with one file. The zero value is not usable:
// make it with its file's name.
type Problems struct {
	file string
	all  []error
}

// NewProblems gathers problems of the named file.
func NewProblems(file string) *Problems { return &Problems{file: file} }

// Add adds a problem with a key at a line; 0 is an unknown line. The same one is
// kept once.
func (p *Problems) Add(line int, key, format string, args ...any) {
	where := p.file + ": " + key
	if line > 0 {
		where = fmt.Sprintf("%s: line %d: %s", p.file, line, key)
	}
	problem := fmt.Errorf("%s %w", where, fmt.Errorf(format, args...))
	for _, other := range p.all {
		if other.Error() == problem.Error() {
			return
		}
	}
	p.all = append(p.all, problem)
}

// Found says whether there is a problem.
func (p *Problems) Found() bool { return len(p.all) > 0 }

// Err joins the problems, each an error of its own; nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.all...) }
