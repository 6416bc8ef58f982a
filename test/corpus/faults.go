package corpus

// What can be wrong with a file.
const (
	namePattern = "name_pattern" // the name breaks the form
	nameDate    = "name_date"    // February 31st
	nameCentre  = "name_centre"  // a centre that nobody knows

	zipTruncated = "truncated"
	zipCRC       = "crc"
	zipEncrypted = "encrypted"
	zipBomb      = "bomb"
	zipEmpty     = "no_documents"
	zipSlip      = "slip"
	zipAbsolute  = "absolute"
	zipBackslash = "backslash"
	zipSymlink   = "symlink"
	zipDuplicate = "duplicate"
	zipNested    = "nested"
	zipHTML      = "html"
)

// What can be wrong with a document.
const (
	docName       = "doc_name"        // the name breaks the form
	docNameCentre = "doc_name_centre" // the name is of another known centre
	docCentre     = "doc_centre"      // the content is of another known centre
	docInvalid    = "doc_invalid"     // breaks the schema
	docMalformed  = "doc_malformed"   // is no XML
	docDoctype    = "doc_doctype"     // has a document type declaration
	docUnknown    = "doc_unknown"     // an experiment on a specimen nobody sent
	docTwice      = "doc_twice"       // says two things about one experiment
)

func fileFaults() []string {
	return []string{zipTruncated, namePattern, zipCRC, nameCentre, zipSlip, zipEmpty, nameDate, zipEncrypted, zipBomb,
		zipAbsolute, zipBackslash, zipSymlink, zipDuplicate, zipNested, zipHTML}
}

func documentFaults() []string {
	return []string{docInvalid, docUnknown, docMalformed, docCentre, docDoctype, docName, docNameCentre, docTwice}
}

// end is where a fault leads: the expected phase and exceptions, of which any
// one may be shown, and a word that the message must have.
type end struct {
	phase      string
	exceptions []string
	message    string
}

const atProducer = "corrupted_at_producer"

// endOf a file with this fault; a good file has no such end.
func endOf(fault string) (end, bool) {
	// Damaged bytes with no other copy are the producer's fault; an archive that
	// is whole and refused is refused by the name of the rule.
	damaged := func(name string) (end, bool) { return end{"unzip", []string{atProducer}, name}, true }
	refused := func(name string) (end, bool) { return end{"unzip", []string{name}, ""}, true }
	switch fault {
	case namePattern:
		return end{"zip_name", []string{"zip_name_pattern"}, ""}, true
	case nameDate:
		return end{"zip_name", []string{"zip_name_date"}, ""}, true
	case nameCentre:
		return end{"zip_name", []string{"zip_name_centre"}, ""}, true
	case zipEmpty:
		return end{"unzip", []string{"no_documents"}, ""}, true
	case zipTruncated:
		return damaged("zip_truncated")
	case zipHTML:
		return damaged("zip_not_an_archive")
	case zipCRC:
		return damaged("zip_crc_mismatch")
	case zipEncrypted:
		return refused("zip_encrypted")
	case zipBomb:
		return refused("zip_ratio")
	case zipSlip:
		return refused("zip_path_slip")
	case zipAbsolute:
		return refused("zip_path_absolute")
	case zipBackslash:
		return refused("zip_path_backslash")
	case zipSymlink:
		return refused("zip_symlink")
	case zipDuplicate:
		return refused("zip_duplicate_entry")
	case zipNested:
		return refused("zip_nested")
	}
	return end{}, false
}

// endOfDocument with this fault. An unknown specimen is no such end: whether
// there is one is judged from the rows.
func endOfDocument(fault string) (end, bool) {
	switch fault {
	case docName:
		return end{phase: "xml_name", exceptions: []string{"document_name_pattern"}}, true
	case docInvalid:
		return end{phase: "xsd", exceptions: []string{"xsd_invalid"}}, true
	case docMalformed:
		return end{phase: "xsd", exceptions: []string{"xml_not_well_formed"}}, true
	case docDoctype:
		return end{phase: "xsd", exceptions: []string{"xml_doctype_refused"}}, true
	case docTwice:
		return end{phase: "upload", exceptions: []string{"duplicate_key"}}, true
	case docCentre, docNameCentre:
		return end{phase: "upload", exceptions: []string{"centre_mismatch"}}, true
	}
	return end{}, false
}
