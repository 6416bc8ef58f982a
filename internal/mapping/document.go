package mapping

import "fmt"

// The stable names of what is wrong with a document itself.
const (
	Unreadable     = "document_unreadable" // not XML, or not in a known encoding
	CentreMismatch = "centre_mismatch"     // the document's centre is not its file's
	ValueRange     = "value_out_of_range"  // a value that the warehouse's type can't hold
	TooLarge       = "element_too_large"   // one element holds more than can be kept while it is read
	DuplicateKey   = "duplicate_key"       // the same natural key twice in a document
)

// DocumentError is an error of the document itself: its outcome, and no reason
// to stop or to try again.
type DocumentError struct {
	Exception    string // a stable name
	Line, Column int    // 0 when unknown
	Message      string
}

func (e *DocumentError) Error() string {
	return fmt.Sprintf("%s at line %d, column %d: %s", e.Exception, e.Line, e.Column, e.Message)
}

// Document says what Read must know of a document.
type Document struct {
	Kind     string
	Centre   string // the file's centre, which the document must name
	Position int64
}

// maxShort is the length in bytes of the longest text in a column that is
// indexed, part of a key, or a subject. Postgres refuses longer ones (from about
// 2,700 bytes), and no identifier is that long.
const maxShort = 500
