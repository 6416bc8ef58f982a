package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the size of the largest profile.yaml, in bytes.
const maxFile = 1 << 20

// value is a scalar that knows its line, so that what is wrong with it can be
// shown where it stands.
type value struct {
	text string
	line int
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (v *value) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: expected a single value", node.Line)
	}
	v.text, v.line = node.Value, node.Line
	return nil
}

// file is profile.yaml.
type file struct {
	Profile value `yaml:"profile"`
	Version value `yaml:"version"`
	Title   value `yaml:"title"`
	Names   struct {
		MaxLength value    `yaml:"max_length"`
		Zip       fileName `yaml:"zip"`
		Document  fileName `yaml:"document"`
	} `yaml:"names"`
	Kinds []struct {
		Name   value `yaml:"name"`
		Root   value `yaml:"root"`
		Schema value `yaml:"schema"`
	} `yaml:"kinds"`
	Centres []struct {
		ShortName value `yaml:"short_name"`
		FullName  value `yaml:"full_name"`
	} `yaml:"centres"`
}

type fileName struct {
	Extension value `yaml:"extension"`
	Form      value `yaml:"form"`
	Example   value `yaml:"example"`
	Pattern   value `yaml:"pattern"`
}

// Load reads the profile in fsys. An unknown or repeated key, a missing one, or
// a value that can't be used is an error that names the file, the line and the
// key.
func Load(fsys fs.FS) (*Profile, error) {
	data, err := fs.ReadFile(fsys, File)
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has %d bytes; %d are allowed", File, len(data), maxFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var f file
	if err := decoder.Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", File, plain(err))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there must be one YAML document in the file", File)
	}
	p := &Profile{fsys: fsys, Name: f.Profile.text, Version: f.Version.text, Title: f.Title.text}
	for _, step := range []func(*file) error{p.takeHead, p.takeKinds, p.takeCentres, p.takeNames} {
		if err := step(&f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// plain says what the YAML library found in one line and without its types.
func plain(err error) error {
	var several *yaml.TypeError
	if errors.As(err, &several) {
		words := make([]string, 0, len(several.Errors))
		for _, each := range several.Errors {
			each, _, _ = strings.Cut(each, " in type ")
			each = strings.Replace(each, " not found", " is not a key of a profile", 1)
			words = append(words, strings.Replace(each, "field ", "", 1))
		}
		return errors.New(strings.Join(words, "; "))
	}
	return err
}

// wrong is an error about one key.
func wrong(key string, v value, format string, args ...any) error {
	where := File + ": " + key
	if v.line > 0 {
		where = fmt.Sprintf("%s: line %d: %s", File, v.line, key)
	}
	return fmt.Errorf("%s %w", where, fmt.Errorf(format, args...))
}

// word is what names of profiles, kinds and centres are made of, so that they
// can stand in file names, messages and SQL values without surprises.
const word = "letters, digits, - and _"

func isWord(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

func (p *Profile) takeHead(f *file) error {
	if !isWord(p.Name) {
		return wrong("profile", f.Profile, "must be a name of %s, not %q", word, p.Name)
	}
	if p.Version == "" {
		return wrong("version", f.Version, "is missing")
	}
	return nil
}

func (p *Profile) takeKinds(f *file) error {
	if len(f.Kinds) == 0 {
		return wrong("kinds", value{}, "is missing: name at least one kind of document")
	}
	for i, k := range f.Kinds {
		key := fmt.Sprintf("kinds[%d].", i)
		switch {
		case !isWord(k.Name.text):
			return wrong(key+"name", k.Name, "must be a name of %s, not %q", word, k.Name.text)
		case p.KindOrder(k.Name.text) >= 0:
			return wrong(key+"name", k.Name, "repeats the kind %s", k.Name.text)
		case k.Root.text == "":
			return wrong(key+"root", k.Root, "is missing: name the root element of %s documents", k.Name.text)
		case !fs.ValidPath(k.Schema.text) || path.Ext(k.Schema.text) != ".xsd":
			return wrong(key+"schema", k.Schema, "must be the path of an .xsd file in the profile's folder, not %q", k.Schema.text)
		}
		if _, err := fs.Stat(p.fsys, k.Schema.text); err != nil {
			return wrong(key+"schema", k.Schema, "names a file that can't be read: %w", err)
		}
		p.Kinds = append(p.Kinds, Kind{Name: k.Name.text, Root: k.Root.text, Schema: k.Schema.text})
	}
	return nil
}

func (p *Profile) takeCentres(f *file) error {
	seen := make(map[string]bool, len(f.Centres))
	for i, c := range f.Centres {
		key := fmt.Sprintf("centres[%d].short_name", i)
		if !isWord(c.ShortName.text) {
			return wrong(key, c.ShortName, "must be a name of %s, not %q", word, c.ShortName.text)
		}
		fold := strings.ToLower(c.ShortName.text)
		if seen[fold] {
			return wrong(key, c.ShortName, "repeats the centre %s (case does not count)", c.ShortName.text)
		}
		seen[fold] = true
		p.Centres = append(p.Centres, Centre{ShortName: c.ShortName.text, FullName: c.FullName.text})
	}
	return nil
}

func (p *Profile) takeNames(f *file) error {
	p.maxName = 255
	if given := f.Names.MaxLength; given.line > 0 {
		n, err := strconv.Atoi(given.text)
		if err != nil || n < 1 || n > 1024 {
			return wrong("names.max_length", given, "must be a number of bytes from 1 to 1024, not %q", given.text)
		}
		p.maxName = n
	}
	var err error
	if p.zip, err = newPattern("names.zip.", f.Names.Zip, "centre", "year", "month", "day"); err != nil {
		return err
	}
	if p.document, err = newPattern("names.document.", f.Names.Document, "centre", "year", "month", "day", "kind"); err != nil {
		return err
	}
	p.zip.prefix, p.zip.noun = "zip_name", "file"
	p.document.prefix, p.document.noun = "document_name", "document"
	return p.tryExamples(f)
}

// newPattern compiles a pattern, anchored at both ends, and finds its groups.
func newPattern(key string, f fileName, required ...string) (pattern, error) {
	if f.Extension.text == "" {
		return pattern{}, wrong(key+"extension", f.Extension, "is missing")
	}
	if f.Form.text == "" {
		return pattern{}, wrong(key+"form", f.Form, "is missing: it tells people how to name files")
	}
	if f.Pattern.text == "" {
		return pattern{}, wrong(key+"pattern", f.Pattern, "is missing")
	}
	re, err := regexp.Compile(`\A(?:` + f.Pattern.text + `)\z`)
	if err != nil {
		return pattern{}, wrong(key+"pattern", f.Pattern, "is not a regular expression (RE2): %w", err)
	}
	pat := pattern{extension: f.Extension.text, form: f.Form.text, example: f.Example.text, re: re, group: make(map[string]int)}
	for i, name := range re.SubexpNames() {
		if name == "" {
			continue
		}
		if !slices.Contains(required, name) && name != "increment" {
			return pattern{}, wrong(key+"pattern", f.Pattern, "has the group %q, which means nothing here: use %s or increment", name, strings.Join(required, ", "))
		}
		if _, twice := pat.group[name]; twice {
			return pattern{}, wrong(key+"pattern", f.Pattern, "has the group %q twice", name)
		}
		pat.group[name] = i
	}
	for _, name := range required {
		if _, ok := pat.group[name]; !ok {
			return pattern{}, wrong(key+"pattern", f.Pattern, "lacks the group (?P<%s>...)", name)
		}
	}
	return pat, nil
}

// tryExamples checks that the examples shown to people are right, which catches
// most slips in a pattern.
func (p *Profile) tryExamples(f *file) error {
	centres, err := NewCentreSet(p.Centres...)
	if err != nil {
		return err
	}
	if _, bad := p.ParseZip(p.zip.example, centres); bad != nil && bad.Exception != "zip_name_centre" {
		return wrong("names.zip.example", f.Names.Zip.Example, "does not follow the profile's own rules: %w", bad)
	}
	if _, bad := p.ParseDocument(p.document.example, centres); bad != nil && bad.Exception != "document_name_centre" {
		return wrong("names.document.example", f.Names.Document.Example, "does not follow the profile's own rules: %w", bad)
	}
	return nil
}
