// Package archive reads zip files that strangers wrote.
//
// It has its own reader of the central directory, because general libraries
// are lenient where an ingest must not be: they accept entries that share
// bytes, names that differ between the directory and the entry's own header,
// duplicate names, and archives with bytes before or after them. Here every
// such thing is refused under a stable name, and one refused entry fails the
// whole archive: Open checks the structure, Verify checks the bytes, and only
// after Verify has come to its end may a caller act on what it found.
//
// A document is never copied out of its archive. A Member is a reference
// (offset, sizes, method, checksum) from which OpenMember reads the document
// again at any later time.
//
// Memory is bounded by Limits whatever the input claims: the directory is
// streamed, its size and its number of entries are checked first, and entries
// are inflated through one small buffer.
package archive

import (
	"fmt"
	"io"
)

// Compression methods that are read; all others are refused.
const (
	methodStore   = 0
	methodDeflate = 8
)

// Limits bounds what one archive may ask of its reader. A value of zero or
// less takes the default of DefaultLimits, so that no limit is off by mistake.
type Limits struct {
	MaxEntries    int     // entries of any kind, directories included
	MaxTotal      int64   // bytes of all entries together, uncompressed
	MaxRatio      float64 // uncompressed over compressed, for what is beyond RatioFree
	RatioFree     int64   // uncompressed bytes to which no ratio applies
	MaxNameLength int     // bytes of an entry's name as stored
	MaxDirectory  int64   // bytes of the central directory
}

// DefaultLimits returns 65,535 entries, 4 GiB in all, a ratio of 200 for what
// is beyond 1 MB, names of 1,024 bytes and a central directory of 8 MiB, which is
// room for as many entries with names of 80 bytes.
func DefaultLimits() Limits {
	return Limits{
		MaxEntries:    65535,
		MaxTotal:      4 << 30,
		MaxRatio:      200,
		RatioFree:     1 << 20,
		MaxNameLength: 1024,
		MaxDirectory:  8 << 20,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	if l.MaxEntries <= 0 {
		l.MaxEntries = d.MaxEntries
	}
	if l.MaxTotal <= 0 {
		l.MaxTotal = d.MaxTotal
	}
	if l.MaxRatio <= 0 {
		l.MaxRatio = d.MaxRatio
	}
	if l.RatioFree <= 0 {
		l.RatioFree = d.RatioFree
	}
	if l.MaxNameLength <= 0 {
		l.MaxNameLength = d.MaxNameLength
	}
	if l.MaxDirectory <= 0 {
		l.MaxDirectory = d.MaxDirectory
	}
	return l
}

// Member is one entry of an archive, and all that OpenMember needs to read it.
type Member struct {
	Name           string // as UTF-8, see Charset
	Charset        string // "utf-8", "cp437" if the stored name was not UTF-8, or "unicode-path" if a field beside it gives it
	Ordinal        int    // position in the central directory, from 0
	Document       bool   // at the root and named *.xml (lower case)
	Directory      bool   // name ends in a slash
	Offset         int64  // of the compressed data in the archive
	CompressedSize int64  // bytes
	Size           int64  // bytes, uncompressed
	Method         uint16 // 0 stored, 8 deflated
	CRC32          uint32 // IEEE, of the uncompressed bytes
	SHA256         string // lower-case hex of the uncompressed bytes; documents only, set by Verify
	MD5            string // the same
}

// The stable names of what an archive is refused for.
const (
	NotAnArchive       = "zip_not_an_archive"      // no end record, or bytes that belong to no archive
	Truncated          = "zip_truncated"           // bytes are missing
	Encrypted          = "zip_encrypted"           // an entry needs a password
	UnsupportedMethod  = "zip_unsupported_method"  // neither stored nor deflated
	PathSlip           = "zip_path_slip"           // a name with ".."
	PathAbsolute       = "zip_path_absolute"       // a name from the root or a drive
	PathBackslash      = "zip_path_backslash"      // a name with a backslash
	Symlink            = "zip_symlink"             // a link, device, pipe or socket
	DuplicateEntry     = "zip_duplicate_entry"     // two entries of one name, or of names that some programs take for one
	OverlappingEntries = "zip_overlapping_entries" // two entries share bytes
	TooManyEntries     = "zip_too_many_entries"    // Limits.MaxEntries
	TooLarge           = "zip_too_large"           // Limits.MaxTotal or MaxDirectory
	Ratio              = "zip_ratio"               // Limits.MaxRatio
	Nested             = "zip_nested"              // an archive in the archive
	CRCMismatch        = "zip_crc_mismatch"        // the bytes are not those that were packed
	SizeMismatch       = "zip_size_mismatch"       // a size is not what a header says
	NameMismatch       = "zip_name_mismatch"       // directory and entry name it differently
	NameInvalid        = "zip_name_invalid"        // empty, too long, or with control characters
	NoDocuments        = "no_documents"            // nothing at the root ends in .xml
)

// RefusedError says that the archive's own content is the reason, not the
// reading of it: another try on the same bytes ends the same way.
type RefusedError struct {
	Exception string // one of the constants of this package
	Entry     string // the entry's name, empty if it is about the archive
	Message   string // what was found, in words for a person
}

// Error returns exception, entry and message in one line.
func (e *RefusedError) Error() string {
	if e.Entry == "" {
		return e.Exception + ": " + e.Message
	}
	return fmt.Sprintf("%s: entry %s: %s", e.Exception, Quote(e.Entry), e.Message)
}

func refuse(exception, entry, format string, args ...any) error {
	return &RefusedError{Exception: exception, Entry: entry, Message: fmt.Sprintf(format, args...)}
}

// Archive is an archive whose structure has been checked. It is not safe for
// concurrent use.
type Archive struct {
	r       io.ReaderAt
	limits  Limits
	members []Member
}

// Open checks the structure of the archive in the first size bytes of r: end
// record, central directory, every name, every entry's own header, and that no
// two entries share bytes. It inflates nothing. What is wrong with the archive
// is a *RefusedError; any other error is a failure to read r.
func Open(r io.ReaderAt, size int64, l Limits) (*Archive, error) {
	l = l.withDefaults()
	end, err := readEnd(r, size)
	if err != nil {
		return nil, err
	}
	members, entries, err := readDirectory(r, end, l)
	if err != nil {
		return nil, err
	}
	if err := checkDeclared(members, l); err != nil {
		return nil, err
	}
	if err := locate(r, entries, end.directory); err != nil {
		return nil, err
	}
	documents := 0
	for i := range members {
		if members[i].Document {
			documents++
		}
	}
	if documents == 0 {
		return nil, refuse(NoDocuments, "", "none of its %d entries is a document (a name ending in .xml, not in a folder)", len(members))
	}
	return &Archive{r: r, limits: l, members: members}, nil
}

// Members returns all entries in the order of the central directory. The
// caller must not change them. Hashes are there after Verify.
func (a *Archive) Members() []Member { return a.members }

// checkDeclared applies the limits to what the headers say, so that an honest
// bomb is refused before a byte of it is inflated. Verify holds entries to
// their declared sizes, so a dishonest one gets no further.
func checkDeclared(members []Member, l Limits) error {
	var total, packed int64
	for i := range members {
		e := &members[i]
		if e.Size > l.MaxTotal-total {
			return refuse(TooLarge, e.Name, "its entries hold more than the limit of %d bytes", l.MaxTotal)
		}
		total += e.Size
		packed += e.CompressedSize
		if beyond(e.Size, e.CompressedSize, l) {
			return refuse(Ratio, e.Name, "%d bytes are packed into %d, the limit is a ratio of %g beyond the first %d bytes",
				e.Size, e.CompressedSize, l.MaxRatio, l.RatioFree)
		}
	}
	if beyond(total, packed, l) {
		return refuse(Ratio, "", "%d bytes are packed into %d, the limit is a ratio of %g beyond the first %d bytes",
			total, packed, l.MaxRatio, l.RatioFree)
	}
	return nil
}

func beyond(size, packed int64, l Limits) bool {
	return size > l.RatioFree && float64(size-l.RatioFree) > l.MaxRatio*float64(packed)
}
