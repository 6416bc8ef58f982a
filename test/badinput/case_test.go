package badinput

import (
	"archive/zip"
	"io"
	"strings"

	"tributary/internal/archive"
)

// end is where an input leads. No exception means that it passes.
type end struct{ phase, exception string }

func (e end) String() string {
	if e.exception == "" {
		return e.phase + " done"
	}
	return e.phase + " " + e.exception
}

// bad is one named case.
type bad struct {
	// name says what is bad.
	name string
	// file is a file's name to judge, instead of its bytes.
	file *string
	// write makes the file's bytes.
	write func(io.Writer) error
	// schema judges the document instead of the profile's: its files by name, of
	// which a.xsd is the first.
	schema map[string]string
	// end is the file's end, or that of its documents.
	end end
	// ends are the ends of documents by entry name, where they differ.
	ends map[string]end
	// says is what the message must contain.
	says []string
	// line is where the error must be; 0 is not judged.
	line int
	// capped says that the last error must tell that there are more.
	capped bool
	// large says why it may take more than a second, and twice the memory.
	large string
	// keeps says why the disk may be another afterwards.
	keeps string
	// fetch tells how the server serves the file, for the download's own cases.
	fetch *served
}

// Names of a good file and its documents.
const (
	zipName    = "H.2013-06-19.1.impc.zip"
	specimen   = "H.2013-06-19.1.specimen.impc.xml"
	experiment = "H.2013-06-19.1.experiment.impc.xml"
)

const specimenNS = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen"
const procedureNS = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/procedure"

// The document's parts that a test writes around.
const (
	mouseOpen = `<mouse specimenID="1" isBaseline="1" gender="male" zygosity="wild type" litterId="1" pipeline="p" project="p" phenotypingCentre="H" DOB="2013-01-01"`
	specHead  = "<centreSpecimenSet xmlns=\"" + specimenNS + "\">\n<centre centreID=\"H\">\n"
	specTail  = "</centre>\n</centreSpecimenSet>\n"
	exprHead  = "<centreProcedureSet xmlns=\"" + procedureNS + "\">\n<centre centreID=\"H\" pipeline=\"p\" project=\"p\">\n"
	exprTail  = "</centre>\n</centreProcedureSet>\n"
)

// mouse is a specimen document with room for what a case puts in: before the
// root, into the mouse's tag, and into the mouse.
func mouse(before, attributes, inside string) string {
	return before + specHead + mouseOpen + attributes + ">" + inside + "</mouse>\n" + specTail
}

// run is an experiment document whose procedure holds inside.
func run(inside string) string {
	return exprHead + runOf("e1", inside) + exprTail
}

func runOf(id, inside string) string {
	return `<experiment experimentID="` + id + `" dateOfExperiment="2013-01-01"><specimenID>1</specimenID>` + "\n" +
		`<procedure procedureID="IMPC_X_001">` + inside + "</procedure></experiment>\n"
}

func status(text string) string { return "<statusCode>" + text + "</statusCode>" }

func good(name string) part {
	if strings.Contains(name, "experiment") {
		return part{name: name, data: []byte(run("")), method: deflate}
	}
	return part{name: name, data: []byte(mouse("", "", "")), method: deflate}
}

// raw is a file of these bytes.
func raw(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// zipped is an archive as laid out.
func zipped(l layout) func(io.Writer) error {
	return func(w io.Writer) error { return raw(l.bytes())(w) }
}

// entries is an archive of these entries.
func entries(parts ...part) func(io.Writer) error { return zipped(layout{parts: parts}) }

// xml is a file with one document, a specimen's unless its root says otherwise.
func xml(text string) func(io.Writer) error {
	entry := specimen
	if strings.Contains(text, "centreProcedureSet") {
		entry = experiment
	}
	// Stored, so that a ratio says nothing about the text.
	return entries(part{name: entry, data: []byte(text)})
}

// long is a file with one stored document, written piece by piece.
func long(entry string, pieces func(write func(string))) func(io.Writer) error {
	return func(w io.Writer) error {
		z := zip.NewWriter(w)
		f, err := z.CreateHeader(&zip.FileHeader{Name: entry, Method: zip.Store})
		if err != nil {
			return err
		}
		pieces(func(s string) {
			if err == nil {
				_, err = io.WriteString(f, s)
			}
		})
		if err != nil {
			return err
		}
		return z.Close()
	}
}

// many repeats a piece.
func many(n int, piece func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(piece(i))
	}
	return b.String()
}

func named(what, name, exception string, says ...string) bad {
	return bad{name: "name: " + what, file: &name, end: end{"zip_name", exception}, says: says}
}

func refusedZip(name string, write func(io.Writer) error, exception string, says ...string) bad {
	return bad{name: "zip: " + name, write: write, end: end{"unzip", exception}, says: says}
}

func refusedXML(name string, write func(io.Writer) error, exception string, says ...string) bad {
	return bad{name: "xml: " + name, write: write, end: end{"xsd", exception}, says: says}
}

func limits() archive.Limits { return archive.DefaultLimits() }
