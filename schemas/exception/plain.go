package exception

// Plain is an exception in the words of those who made the file, who know neither the
// program nor its configuration.
type Plain struct {
	Title string // what is wrong, without a full stop
	Do    string // what they do about it, as whole sentences
}

// PlainOf returns how an exception is told to the centre whose file it concerns; ok is
// false for one that this program doesn't know, such as a finding of a data check.
// Only of what is the centre's to correct it says more than whose turn it is.
func PlainOf(name string) (p Plain, ok bool) {
	if p, ok = plain()[name]; ok {
		return p, true
	}
	if _, known := Find(name); !known {
		return Plain{}, false
	}
	switch {
	case MoveOf(name) == Nobody:
		return Plain{"It could not be fetched, or was withdrawn", "Nothing, if you withdrew it. Otherwise it is tried again by itself."}, true
	default:
		return Plain{"It waits for the data centre", "Nothing for now: somebody at the data centre acts, and asks you if they need you."}, true
	}
}

// Again is what a centre does with a document or a record once it is corrected.
const Again = "Then pack the documents again, and upload them under a new increment."

func plain() map[string]Plain {
	const (
		again  = "Correct it where your export writes it. " + Again
		repack = "Pack the documents again with a common zip program, and upload the file."
		upload = "Upload the file again, in binary mode."
		rename = "Rename the document, pack it again, and upload it under a new increment."
	)
	return map[string]Plain{
		"checksum_mismatch":   {"The file is not the one whose checksum lies beside it", "Upload both the file and its .md5 file again: one of them is old or damaged."},
		"checksum_unreadable": {"The .md5 file beside the file holds no checksum", "Correct the .md5 file, which holds 32 hexadecimal digits, or remove it."},
		"object_archived":     {"The file lies in an archive from which it can't be read", "Restore it from the archive class of its bucket, or keep it in another."},
		"file_too_large":      {"The file is too large", "Split it into smaller files, each under an increment of its own."},
		"name_too_long":       {"The file's name is too long", "Upload it under a shorter name."},

		"name_twin":          {"Another file's name differs only in capitals or accents", "Look whether both are meant, and withdraw one of them, or upload it under another name."},
		"zip_name_date":      {"The date in the file's name is not in the calendar", "Upload it under a name with the right date."},
		"zip_name_extension": {"The file's name has the wrong ending", "Upload it under a name with the right ending, or move it elsewhere if it is no data."},
		"zip_name_pattern":   {"The file's name does not have the agreed form", "Upload it under a name of the form that the message shows."},

		"corrupted_at_producer":   {"The archive is damaged", "Make the file again, and upload it."},
		"no_documents":            {"The archive has no document at its top", "Pack the documents themselves, not the folder that they are in, and upload the file again."},
		"zip_crc_mismatch":        {"An entry of the archive is damaged", upload},
		"zip_duplicate_entry":     {"Two entries of the archive have one name", "Pack each document once, and upload the file again."},
		"zip_encrypted":           {"An entry of the archive needs a password", "Pack the documents without a password, and upload the file again."},
		"zip_name_invalid":        {"An entry of the archive has a name that can't be used", "Pack the documents under plain names, and upload the file again."},
		"zip_name_mismatch":       {"An entry of the archive has two names", repack},
		"zip_nested":              {"The archive holds another archive", "Put the documents themselves into one archive, and upload it again."},
		"zip_not_an_archive":      {"The file is not a zip archive", "Pack the documents again, and upload the file in binary mode."},
		"zip_overlapping_entries": {"Entries of the archive overlap", repack},
		"zip_path_absolute":       {"An entry of the archive has a path from the root or from a drive", "Pack the documents from inside their folder, and upload the file again."},
		"zip_path_backslash":      {"An entry of the archive has a backslash in its name", repack},
		"zip_path_slip":           {"An entry of the archive leads out of its folder", "Pack the documents from inside their folder, and upload the file again."},
		"zip_size_mismatch":       {"An entry of the archive is larger or smaller than it says", repack},
		"zip_symlink":             {"An entry of the archive is a link, not a file", "Pack the documents as plain files, and upload the file again."},
		"zip_too_large":           {"The archive is too large once unpacked", "Make several smaller archives, each under an increment of its own."},
		"zip_too_many_entries":    {"The archive has too many entries", "Make several smaller archives, each under an increment of its own."},
		"zip_truncated":           {"The end of the archive is missing", upload},
		"zip_unsupported_method":  {"An entry of the archive is compressed in a way that can't be read", "Pack the documents with deflate, the common method, and upload the file again."},

		"document_name_date":      {"The date in a document's name is not in the calendar", rename},
		"document_name_extension": {"A document's name has the wrong ending", rename},
		"document_name_kind":      {"A document's name is of a kind that there is not", rename},
		"document_name_pattern":   {"A document's name does not have the agreed form", rename},

		"xml_doctype_refused": {"A document has a DOCTYPE line", "Remove that line; nothing else has to change. " + Again},
		"xml_encoding":        {"A document is not in the encoding that it declares", "Write it as UTF-8, and declare nothing else. " + Again},
		"xml_entity_refused":  {"A document uses an entity that XML does not have", "Use the character itself, or its number, such as &#160;. " + Again},
		"xml_limit":           {"A document is too large, too deep or has too long a text", "Split it, or see what is so large in it. " + Again},
		"xml_not_well_formed": {"A document is not XML", "Write it with a library for XML rather than by joining text. " + Again},
		"xml_version":         {"A document declares another version of XML than 1.0", "Declare version 1.0. " + Again},
		"xsd_invalid":         {"A document does not follow the schema", again},

		"centre_mismatch":    {"A document is of another centre than its file", "Put each centre's data into files of its own. " + Again},
		"duplicate_key":      {"The same record is twice in one document", again},
		"element_too_large":  {"One record is too large", "See whether it is meant, and split it. " + Again},
		"value_out_of_range": {"A date or a number is out of range", again},
	}
}
