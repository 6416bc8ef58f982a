package why

import (
	"strconv"
	"strings"
)

// twins warns of other names that the source shows beside the file's, and that some file
// systems take for one.
func (f *Facts) twins(a *Answer) {
	if f.Source == nil {
		return
	}
	directory, others := f.Source.Twins.Of(f.Action, f.Name)
	if len(others) == 0 {
		return
	}
	for i, name := range others {
		others[i] = strconv.QuoteToASCII(directory + "/" + name) // in which accents differ
	}
	a.prove("name_twin: %s shows %s beside it, which differs only in case or in how accents are written: both are taken as files of their own", f.SourceID, strings.Join(others, ", "))
}
