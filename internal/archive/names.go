package archive

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// decodeName returns a stored name as UTF-8. What is not valid UTF-8 is taken
// for code page 437, the format's default, in which every byte is a character.
func decodeName(raw string) (name, charset string, err error) {
	if utf8.ValidString(raw) {
		return raw, "utf-8", nil
	}
	name, err = charmap.CodePage437.NewDecoder().String(raw)
	if err != nil {
		return "", "", refuse(NameInvalid, "", "the name %q is neither UTF-8 nor code page 437", raw)
	}
	return name, "cp437", nil
}

// checkName refuses names that could lead outside a folder, mislead a reader,
// or announce an archive in the archive.
func checkName(name string) error {
	if name == "" {
		return refuse(NameInvalid, "", "an entry has no name")
	}
	if strings.ContainsFunc(name, unicode.IsControl) {
		return refuse(NameInvalid, name, "its name has control characters")
	}
	if name[0] == '/' || hasDrive(name) {
		return refuse(PathAbsolute, name, "its name is an absolute path")
	}
	if strings.ContainsRune(name, '\\') {
		return refuse(PathBackslash, name, "its name has a backslash")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return refuse(PathSlip, name, "its name leads out of the archive's folder")
		}
	}
	lower := strings.ToLower(name)
	for _, suffix := range []string{".zip", ".jar", ".7z", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".rar"} {
		if strings.HasSuffix(lower, suffix) {
			return refuse(Nested, name, "archives in archives are not read")
		}
	}
	return nil
}

func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z'
}

// isDocument is the rule of the data's own world: *.xml in lower case, at the
// root.
func isDocument(name string) bool {
	return strings.HasSuffix(name, ".xml") && !strings.Contains(name, "/")
}

// cleanName makes names equal that a file system would take for one.
func cleanName(name string) string { return path.Clean(name) }
