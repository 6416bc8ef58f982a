package archive

import (
	"encoding/binary"
	"hash/crc32"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// What a name's bytes were taken for, see Member.Charset.
const (
	charsetUTF8  = "utf-8"
	charsetCP437 = "cp437"
	charsetField = "unicode-path"
)

// decodeName returns a stored name as UTF-8. The format's rule is code page 437
// without flag 11 and UTF-8 with it, but writers forget the flag, so that valid
// UTF-8 is taken for that; in code page 437 every byte is a character. Beside
// the name a writer may put a Unicode path field, which then counts, unless the
// name itself leaves nothing to be said otherwise.
func decodeName(raw string, flags uint16, extra []byte) (name, charset string, err error) {
	switch {
	case utf8.ValidString(raw):
		name, charset = raw, charsetUTF8
	case flags&flagUTF8 != 0:
		return "", "", refuse(NameInvalid, "", "the name %s says that it is UTF-8 and is not", Quote(raw))
	default:
		if name, err = charmap.CodePage437.NewDecoder().String(raw); err != nil {
			return "", "", refuse(NameInvalid, "", "the name %s is neither UTF-8 nor code page 437", Quote(raw))
		}
		charset = charsetCP437
	}
	other, has := unicodePath(extra, raw)
	switch {
	case !has || other == name:
		return name, charset, nil
	case !utf8.ValidString(other):
		return "", "", refuse(NameInvalid, name, "its Unicode name is not UTF-8")
	case flags&flagUTF8 != 0 || isASCII(raw):
		return "", "", refuse(NameMismatch, name, "its Unicode name is another: %s", Quote(other))
	}
	return other, charsetField, nil
}

// unicodePath finds the field in which some writers repeat a name as UTF-8. Its
// checksum ties it to the name: when the name was changed since, it is void.
func unicodePath(extra []byte, raw string) (string, bool) {
	const tagPath, head, version = 0x7075, 5, 1
	field, has := fieldOf(extra, tagPath)
	if !has || len(field) < head || field[0] != version || binary.LittleEndian.Uint32(field[1:]) != crc32.ChecksumIEEE([]byte(raw)) {
		return "", false
	}
	return string(field[head:]), true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// maxQuoted is how many bytes of a name a message quotes.
const maxQuoted = 120

// Quote makes a name that a stranger chose safe to print, and short: printable
// characters only, in quotes, of no more than its first 120 bytes.
func Quote(name string) string {
	if len(name) <= maxQuoted {
		return strconv.Quote(name)
	}
	end := maxQuoted
	for end > maxQuoted-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return strconv.Quote(name[:end]) + "..."
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
	for _, suffix := range []string{".zip", ".jar", ".7z", ".gz", ".tgz", ".tar", ".bz2", ".xz", ".rar", ".zst", ".lzma", ".zipx"} {
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

// cleanName makes names equal that every file system takes for one.
func cleanName(name string) string { return path.Clean(name) }
