package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"slices"
	"strconv"
)

// The versions of the code of the phases. They are raised by hand, by 1, with
// a change of code after which the phase judges or loads some document
// differently, though the profile is the same: what was done before is stale
// then, and "tributary replay --stale" finds it. A change that only makes a
// phase faster, or words a message better, leaves them alone.
const (
	// codeUnzip is that of consumers/unzip and internal/archive: which archives
	// are refused, which entries are documents, what a name says.
	codeUnzip = 1
	// codeXSD is that of consumers/validate and internal/xsdcheck: which
	// documents are valid.
	codeXSD = 1
	// codeUpload is that of internal/mapping and of loading in consumers/insert:
	// which rows a document becomes.
	codeUpload = 1
	// codeData is that of batch ends in consumers/insert: which records checks
	// see, and what becomes of their findings.
	codeData = 1
)

// versionDigits is how many hexadecimal digits of a digest are a version.
const versionDigits = 12

// Versions says by what each phase judges documents now. A version is a digest
// of the part of the profile that the phase uses and of the version of its
// code: it stays the same as long as the phase would do the same again.
// Comments, white space and the order of keys are no part of it, nor are limits
// of the configuration. Versions are written to JSON and read from it
// unchanged.
type Versions struct {
	// Unzip is of the rules for archives and documents' names.
	Unzip string `json:"unzip"`
	// XSD is, by kind, of the kind's schema and all that it includes.
	XSD map[string]string `json:"xsd"`
	// Upload is, by kind, of its mapping to tables.
	Upload map[string]string `json:"upload"`
	// Data is of the checks, and of the tables and views that they may use. It is
	// not of context and overview: these are kept up to date with what changes, and
	// what they once counted is counted anew by a rebuild of the warehouse only.
	Data string `json:"data"`
}

// Phases that have a version, as schemas.Phase names them.
const (
	phaseUnzip  = "unzip"
	phaseXSD    = "xsd"
	phaseUpload = "upload"
	phaseData   = "data"
)

// VersionedPhases are the phases that have a version, the earliest first.
func VersionedPhases() []string { return []string{phaseUnzip, phaseXSD, phaseUpload, phaseData} }

// Of is the version of a phase for documents of a kind; empty for a phase
// without versions, and for an unknown kind where they differ by kind.
func (v Versions) Of(phase, kind string) string {
	switch phase {
	case phaseUnzip:
		return v.Unzip
	case phaseXSD:
		return v.XSD[kind]
	case phaseUpload:
		return v.Upload[kind]
	case phaseData:
		return v.Data
	}
	return ""
}

// Equal reports whether every phase judges every kind as it does with other.
func (v Versions) Equal(other Versions) bool {
	return v.Unzip == other.Unzip && v.Data == other.Data && maps.Equal(v.XSD, other.XSD) && maps.Equal(v.Upload, other.Upload)
}

// Versions says by what each phase judges documents with this profile.
func (p *Profile) Versions() Versions {
	return Versions{Unzip: p.versions.Unzip, XSD: maps.Clone(p.versions.XSD), Upload: maps.Clone(p.versions.Upload), Data: p.versions.Data}
}

// takeVersions digests the parts of the profile.
func (p *Profile) takeVersions(fsys fs.FS) {
	kinds := p.kindNames()
	slices.Sort(kinds)
	names := append([]string{"unzip", p.document.extension, p.document.re.String(), strconv.Itoa(p.maxName)}, kinds...)
	v := Versions{Unzip: digest(codeUnzip, names...), XSD: map[string]string{}, Upload: map[string]string{}}
	mapping := mappingText(fsys)
	for _, k := range p.Kinds {
		v.XSD[k.Name] = digest(codeXSD, append([]string{"xsd", k.Schema}, schemaText(fsys, k.Schema)...)...)
		v.Upload[k.Name] = digest(codeUpload, "upload", mapping(k.Name))
	}
	v.Data = digest(codeData, append([]string{"data"}, sqlText(fsys)...)...)
	p.versions = v
}

// digest is the version that follows from parts, each told from its neighbours
// by its length.
func digest(code int, parts ...string) string {
	h := sha256.New()
	for _, part := range append([]string{strconv.Itoa(code)}, parts...) {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))[:versionDigits]
}
