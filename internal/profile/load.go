package profile

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tributary/internal/profile/strict"
)

// value is a scalar that knows its line.
type value = strict.Value

// file is profile.yaml, without the mapping's part, which package mapping reads.
type file struct {
	Profile value `yaml:"profile"`
	Version value `yaml:"version"`
	Title   value `yaml:"title"`
	Same    value `yaml:"same_bytes"`
	Release value `yaml:"release"`
	Names   struct {
		MaxLength value    `yaml:"max_length"`
		Zip       fileName `yaml:"zip"`
		Document  fileName `yaml:"document"`
	} `yaml:"names"`
	Kinds []struct {
		Name   value `yaml:"name"`
		Root   value `yaml:"root"`
		Schema value `yaml:"schema"`

		Centre strict.Anything `yaml:"centre"`
		Rows   strict.Anything `yaml:"rows"`
	} `yaml:"kinds"`
	Centres []struct {
		ShortName value `yaml:"short_name"`
		FullName  value `yaml:"full_name"`
	} `yaml:"centres"`

	Tables    strict.Anything `yaml:"tables"`
	Reference strict.Anything `yaml:"reference"`
}

type fileName struct {
	Extension value `yaml:"extension"`
	Form      value `yaml:"form"`
	Example   value `yaml:"example"`
	Pattern   value `yaml:"pattern"`
}

// Load reads the profile in fsys. An unknown or repeated key, a missing one, or
// a value that can't be used is an error that names the file, the line and the
// key; the error returned joins one for each thing that is wrong.
func Load(fsys fs.FS) (*Profile, error) {
	var f file
	if err := strict.Decode(fsys, File, &f); err != nil {
		return nil, err
	}
	l := &loader{Profile: &Profile{fsys: fsys, Name: f.Profile.Text, Version: f.Version.Text, Title: f.Title.Text}, problems: strict.NewProblems(File)}
	l.takeHead(&f)
	l.takeKinds(&f)
	l.takeCentres(&f)
	l.takeNames(&f)
	if !l.problems.Found() {
		l.tryExamples(&f) // which needs all the rest
	}
	if l.problems.Found() {
		return nil, l.problems.Err()
	}
	l.takeVersions(fsys)
	return l.Profile, nil
}

// loader builds a profile, gathering what is wrong.
type loader struct {
	*Profile
	problems *strict.Problems
}

// wrong adds a problem with one key.
func (l *loader) wrong(key string, v value, format string, args ...any) {
	l.problems.Add(v.Line, key, format, args...)
}

// word is what names of profiles, kinds and centres are made of, so that they
// can stand in file names, messages and SQL values without surprises.
const word = "letters, digits, - and _"

func isWord(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

func (l *loader) takeHead(f *file) {
	if !isWord(l.Name) {
		l.wrong("profile", f.Profile, "must be a name of %s, not %q", word, l.Name)
	}
	if l.Version == "" {
		l.wrong("version", f.Version, "is missing")
	}
	l.SkipKnown = l.either("same_bytes", f.Same, "load", "skip", "whether a file is loaded whose bytes another file of its centre and action shows")
	l.Early = l.either("release", f.Release, "whole", "early", "whether what has ended of a batch is loaded before all of it has")
}

// either tells whether a key that decides about something has its other value, not the
// usual one, which it need not have.
func (l *loader) either(key string, v value, usual, other, about string) bool {
	if v.Text != usual && v.Text != other && v.Line > 0 {
		l.wrong(key, v, "must be %s (the default) or %s, not %q: %s", usual, other, v.Text, about)
	}
	return v.Text == other
}

func (l *loader) takeKinds(f *file) {
	if len(f.Kinds) == 0 {
		l.wrong("kinds", value{}, "is missing: name at least one kind of document")
	}
	for i, k := range f.Kinds {
		key := fmt.Sprintf("kinds[%d].", i)
		switch {
		case !isWord(k.Name.Text):
			l.wrong(key+"name", k.Name, "must be a name of %s, not %q", word, k.Name.Text)
		case l.KindOrder(k.Name.Text) >= 0:
			l.wrong(key+"name", k.Name, "repeats the kind %s", k.Name.Text)
		}
		if k.Root.Text == "" {
			l.wrong(key+"root", orAt(k.Root, k.Name), "is missing: name the root element of %s documents", k.Name.Text)
		}
		if !fs.ValidPath(k.Schema.Text) || path.Ext(k.Schema.Text) != ".xsd" {
			l.wrong(key+"schema", orAt(k.Schema, k.Name), "must be the path of an .xsd file in the profile's folder, not %q", k.Schema.Text)
		} else if _, err := fs.Stat(l.fsys, k.Schema.Text); err != nil {
			l.wrong(key+"schema", k.Schema, "names a file that can't be read: %w", err)
		}
		l.Kinds = append(l.Kinds, Kind{Name: k.Name.Text, Root: k.Root.Text, Schema: k.Schema.Text})
	}
}

// orAt gives an absent value the line of another.
func orAt(v, at value) value {
	v.Line = max(v.Line, at.Line)
	return v
}

func (l *loader) takeCentres(f *file) {
	seen := make(map[string]bool, len(f.Centres))
	for i, c := range f.Centres {
		key := fmt.Sprintf("centres[%d].short_name", i)
		if !isWord(c.ShortName.Text) {
			l.wrong(key, c.ShortName, "must be a name of %s, not %q", word, c.ShortName.Text)
			continue
		}
		fold := strings.ToLower(c.ShortName.Text)
		if seen[fold] {
			l.wrong(key, c.ShortName, "repeats the centre %s (case does not count)", c.ShortName.Text)
			continue
		}
		seen[fold] = true
		l.Centres = append(l.Centres, Centre{ShortName: c.ShortName.Text, FullName: c.FullName.Text})
	}
}

func (l *loader) takeNames(f *file) {
	l.maxName = 255
	if given := f.Names.MaxLength; given.Line > 0 {
		n, err := strconv.Atoi(given.Text)
		if err != nil || n < 1 || n > 1024 {
			l.wrong("names.max_length", given, "must be a number of bytes from 1 to 1024, not %q", given.Text)
		}
		l.maxName = n
	}
	l.zip = l.pattern("names.zip.", ".zip", f.Names.Zip, "centre", "year", "month", "day")
	l.document = l.pattern("names.document.", ".xml", f.Names.Document, "centre", "year", "month", "day", "kind")
	l.zip.prefix, l.zip.noun = "zip_name", "file"
	l.document.prefix, l.document.noun = "document_name", "document"
}

// pattern compiles a pattern, anchored at both ends, and finds its groups. What
// has not the format's own ending is never looked at, so the extension must end
// in it.
func (l *loader) pattern(key, ending string, f fileName, required ...string) pattern {
	switch {
	case f.Extension.Text == "":
		l.wrong(key+"extension", f.Extension, "is missing")
	case !strings.HasSuffix(f.Extension.Text, ending):
		l.wrong(key+"extension", f.Extension, "must end in %s, not be %q: others are not looked at", ending, f.Extension.Text)
	}
	if f.Form.Text == "" {
		l.wrong(key+"form", f.Form, "is missing: it tells people how to name files")
	}
	if f.Pattern.Text == "" {
		l.wrong(key+"pattern", f.Pattern, "is missing")
		return pattern{}
	}
	re, err := regexp.Compile(`\A(?:` + f.Pattern.Text + `)\z`)
	if err != nil {
		l.wrong(key+"pattern", f.Pattern, "is not a regular expression (RE2): %w", err)
		return pattern{}
	}
	pat := pattern{extension: f.Extension.Text, form: f.Form.Text, example: f.Example.Text, re: re, group: make(map[string]int)}
	for i, name := range re.SubexpNames() {
		if name == "" {
			continue
		}
		if !slices.Contains(required, name) && name != "increment" {
			l.wrong(key+"pattern", f.Pattern, "has the group %q, which means nothing here: use %s or increment", name, strings.Join(required, ", "))
		}
		if _, twice := pat.group[name]; twice {
			l.wrong(key+"pattern", f.Pattern, "has the group %q twice", name)
		}
		pat.group[name] = i
	}
	for _, name := range required {
		if _, ok := pat.group[name]; !ok {
			l.wrong(key+"pattern", f.Pattern, "lacks the group (?P<%s>...)", name)
		}
	}
	return pat
}

// tryExamples checks that the examples shown to people are right, which catches
// most slips in a pattern.
func (l *loader) tryExamples(f *file) {
	centres, err := NewCentreSet(l.Centres...)
	if err != nil {
		l.wrong("centres", value{}, "can't be used: %w", err)
		return
	}
	if _, bad := l.ParseZip(l.zip.example, centres); bad != nil && bad.Exception != "zip_name_centre" {
		l.wrong("names.zip.example", f.Names.Zip.Example, "does not follow the profile's own rules: %w", bad)
	}
	if _, bad := l.ParseDocument(l.document.example, centres); bad != nil && bad.Exception != "document_name_centre" {
		l.wrong("names.document.example", f.Names.Document.Example, "does not follow the profile's own rules: %w", bad)
	}
}
