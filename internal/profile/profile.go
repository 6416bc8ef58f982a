// Package profile reads a profile: the data that makes Tributary fit one
// organisation's files. It knows how files and documents are named, which kinds
// of document there are and in which order they load, which schema judges each
// kind, and which centres produce them. Other parts of a profile, such as the
// mapping of elements to tables, lie in the same folder and are read by others
// through FS.
package profile

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tributary/schemas/impc"
)

// File is the name of the file that Load reads in a profile's folder.
const File = "profile.yaml"

// Profile is a profile as loaded. It doesn't change, and is safe for use by
// several goroutines.
type Profile struct {
	// Name is the profile's name, such as "impc".
	Name string
	// Version names this state of the profile; documents are loaded with a
	// named version.
	Version string
	// Title is the name for people. It may be empty.
	Title string
	// Kinds are the kinds of document, in the order in which they load.
	Kinds []Kind
	// SkipKnown says that a file whose bytes another file of its centre and action shows
	// is not loaded: who uploads a file twice, under two names, means nothing by it.
	SkipKnown bool
	// Early says that what is complete of a batch is ordered, and loaded, before all of
	// it is.
	Early bool
	// Centres are the centres that the profile brings along. A configuration
	// may add to them.
	Centres []Centre

	fsys     fs.FS
	zip      pattern
	document pattern
	maxName  int
	versions Versions
}

// Kind is one kind of document.
type Kind struct {
	// Name stands in document names.
	Name string
	// Root is the local name of the root element.
	Root string
	// Schema is the path of the kind's schema in the profile's folder.
	Schema string
}

// Centre is an institute that produces data.
type Centre struct {
	// ShortName is the canonical spelling.
	ShortName string
	// FullName is for people. It may be empty.
	FullName string
}

// Builtin loads a profile that is part of the program. The one there is now is
// "impc".
func Builtin(name string) (*Profile, error) {
	switch name {
	case "impc":
		return Load(impc.FS)
	}
	return nil, fmt.Errorf("there is no built-in profile %q: use impc, or the path of a folder, such as ./%s", name, name)
}

// FS returns the profile's folder. It is for reading only.
func (p *Profile) FS() fs.FS { return p.fsys }

// KindOrder returns the place of a kind in the order of loading, from 0, or -1
// if the profile has no such kind.
func (p *Profile) KindOrder(kind string) int {
	return slices.IndexFunc(p.Kinds, func(k Kind) bool { return k.Name == kind })
}

// SchemaFS returns the folder of the schema for a kind of document, which holds
// all that the schema imports, and the schema's file name in it. An unknown
// kind is an error.
func (p *Profile) SchemaFS(kind string) (fsys fs.FS, entry string, err error) {
	order := p.KindOrder(kind)
	if order < 0 {
		return nil, "", fmt.Errorf("profile %s has no kind of document %q: it has %s", p.Name, kind, strings.Join(p.kindNames(), ", "))
	}
	dir, file := path.Split(p.Kinds[order].Schema)
	if dir == "" {
		return p.fsys, file, nil
	}
	fsys, err = fs.Sub(p.fsys, path.Clean(dir))
	if err != nil {
		return nil, "", fmt.Errorf("opening the schemas of profile %s: %w", p.Name, err)
	}
	return fsys, file, nil
}

func (p *Profile) kindNames() []string {
	names := make([]string, 0, len(p.Kinds))
	for _, kind := range p.Kinds {
		names = append(names, kind.Name)
	}
	return names
}
