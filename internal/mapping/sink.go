package mapping

// ID is the identity of a natural key, or of a content: a hash.
type ID = [16]byte

// Row is one row as Read hands it on; it is valid during the call only.
type Row struct {
	Table *Table
	// Line is the row in COPY's text format, with its line end. Its columns are
	// those of Table.ColumnNames.
	Line []byte
	// Record is the ordinal of the record that the row lies under, or is the
	// row of; 0 if there is none.
	Record int32
	// Ordinal is the place of the row's element among all those of the document
	// that make rows, from 1.
	Ordinal int32
	// SourceLine says where the row's element begins, from 1.
	SourceLine int
}

// Record is a claim on a natural key, as Read hands it on behind all rows of
// the record. It is valid during the call only, but for Key.
type Record struct {
	Table   *Table
	Ordinal int32
	// Claim is the identity of the natural key.
	Claim [16]byte
	// Fingerprint is the identity of the content: of the values of all its rows,
	// and of their places relative to the record.
	Fingerprint [16]byte
	// Layout tells apart, among equal contents, those whose rows lie on other
	// lines relative to the record: equal contents of equal layout say where
	// each other's rows are.
	Layout int32
	// Key is the natural key as Postgres reads its columns, nil where one is
	// absent. It may be kept.
	Key []*string
	// Subject is the value of the table's subject column, or empty.
	Subject string
	// Line and Column say where the record's element begins, from 1; columns
	// count bytes of the UTF-8 form.
	Line, Column int
	// ByteFrom and ByteTo are where the element begins, and behind its end, in
	// the document's UTF-8 form without byte order mark.
	ByteFrom, ByteTo int64
}

// Sink takes what Read finds in a document. Its error ends the reading.
type Sink interface {
	// Row takes a row. Rows come in no certain order, but those of a record
	// come before it, and after the record before it.
	Row(*Row) error
	// Record takes a record.
	Record(*Record) error
}
