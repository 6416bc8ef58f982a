package config

import (
	"fmt"
	"path"
	"strings"

	"tributary/schemas"
)

// What may be done at its source with a file that is inserted.
const (
	DoneDelete = "delete"
	DoneMove   = "move"
	DoneMark   = "mark"
)

// DefaultMark is what a mark's name ends in beyond the file's.
const DefaultMark = ".done"

// DoneWith is what is done at its source with a file once all of it is inserted.
type DoneWith struct {
	Act string // one of the Done constants; empty: nothing
	// Argument is the directory, relative to the source's url, into which files are
	// moved, or what the names of marks end in.
	Argument string
}

// String writes it as the configuration does.
func (d DoneWith) String() string { return strings.TrimSpace(d.Act + " " + d.Argument) }

// Target is the path of what is made of a file's path, action/name: where it is moved
// to, or its mark; empty where nothing is made.
func (d DoneWith) Target(file string) string {
	switch d.Act {
	case DoneMove:
		return path.Join(d.Argument, file)
	case DoneMark:
		return file + d.Argument
	}
	return ""
}

// Done is what the key done_with of a source says.
func (s Source) Done() (DoneWith, error) {
	act, argument, _ := strings.Cut(strings.TrimSpace(s.DoneWith), " ")
	d := DoneWith{act, strings.TrimSpace(argument)}
	switch d.Act {
	case "":
		return d, nil
	case DoneDelete:
		if d.Argument != "" {
			return d, fmt.Errorf("says more than delete: write delete alone")
		}
		return d, nil
	case DoneMove:
		return d, d.checkDirectory()
	case DoneMark:
		if d.Argument == "" {
			d.Argument = DefaultMark
		}
		return d, d.checkSuffix()
	}
	return d, fmt.Errorf("%q is not known: write delete, move DIRECTORY, or mark SUFFIX", s.DoneWith)
}

// maxDoneArgument bounds directories and suffixes, in bytes: names stay shorter than
// servers allow.
const maxDoneArgument = 100

func (d DoneWith) checkDirectory() error {
	first, _, _ := strings.Cut(d.Argument, "/")
	switch {
	case d.Argument == "":
		return fmt.Errorf("names no directory: write move DIRECTORY, relative to url")
	case path.IsAbs(d.Argument) || path.Clean(d.Argument) != d.Argument || first == ".." || first == ".":
		return fmt.Errorf("%q is no directory below url: write it relative to that, and without dots that lead elsewhere", d.Argument)
	case len(d.Argument) > maxDoneArgument || schemas.Clean(d.Argument) != d.Argument:
		return fmt.Errorf("the directory is longer than %d bytes, or has characters that can't be shown", maxDoneArgument)
	}
	for _, action := range schemas.Actions() {
		if strings.EqualFold(first, action) {
			return fmt.Errorf("%q lies in %s, where files are looked for: choose another directory", d.Argument, action)
		}
	}
	return nil
}

func (d DoneWith) checkSuffix() error {
	switch {
	case !strings.HasPrefix(d.Argument, ".") || strings.Contains(d.Argument, "/") || len(d.Argument) < 2:
		return fmt.Errorf("%q can't end a mark's name: write a dot and what follows it, such as %s", d.Argument, DefaultMark)
	case strings.HasSuffix(strings.ToLower(d.Argument), ".zip") || strings.EqualFold(d.Argument, ".md5"):
		return fmt.Errorf("%q would make marks look like files of the centre: choose another, such as %s", d.Argument, DefaultMark)
	case len(d.Argument) > maxDoneArgument || schemas.Clean(d.Argument) != d.Argument:
		return fmt.Errorf("the suffix is longer than %d bytes, or has characters that can't be shown", maxDoneArgument)
	}
	return nil
}
