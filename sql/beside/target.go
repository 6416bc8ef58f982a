package beside

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
)

// Target says in which schema statements act that are written for another. The
// zero value is the schema that they are written for.
type Target struct {
	From, To string
	// Unlogged has tables made that a crash of the database empties, and of which it
	// keeps no log: for what nobody needs then.
	Unlogged bool
}

var createTable = regexp.MustCompile(`(?i)\bCREATE TABLE\b`)

// SQL is SQL that does in the schema To what the given SQL does in the schema
// From: every name qualified with the one is qualified with the other. Texts and
// comments stay as they are, but for names of the schema or of its tables that
// are cast to an object's identity ('warehouse'::regnamespace).
func (t Target) SQL(sql string) string {
	if t.From == t.To {
		return sql
	}
	var out strings.Builder
	plain := 0
	for i := 0; i < len(sql); {
		n := textLength(sql, i)
		if n == 0 {
			i++
			continue
		}
		out.WriteString(t.plain(sql[plain:i]))
		text := sql[i : i+n]
		i += n
		plain = i
		if strings.HasPrefix(strings.TrimLeft(sql[i:], " "), "::reg") {
			text = strings.Replace(text, "'"+t.From, "'"+t.To, 1)
		}
		out.WriteString(text)
	}
	out.WriteString(t.plain(sql[plain:]))
	return out.String()
}

// plain is SQL between texts and comments.
func (t Target) plain(sql string) string {
	if t.Unlogged {
		sql = createTable.ReplaceAllString(sql, "CREATE UNLOGGED TABLE")
	}
	return t.Qualify(sql)
}

// textLength is the length of the text or comment that begins at a place; 0 if
// none does.
func textLength(sql string, at int) int {
	rest := sql[at:]
	switch {
	case rest[0] == '\'':
		escapes := at > 0 && (sql[at-1] == 'E' || sql[at-1] == 'e') && (at == 1 || !inName(sql[at-2]|0x20))
		for i := 1; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && escapes:
				i++
			case rest[i] == '\'':
				return i + 1 // a doubled one begins another text
			}
		}
		return len(rest)
	case strings.HasPrefix(rest, "--"):
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			return i + 1
		}
		return len(rest)
	case strings.HasPrefix(rest, "/*"):
		if i := strings.Index(rest[2:], "*/"); i >= 0 {
			return i + 4
		}
		return len(rest)
	}
	return 0
}

// Qualify replaces the schema in all qualified names, wherever they stand.
func (t Target) Qualify(sql string) string {
	var out strings.Builder
	lower := strings.ToLower(sql)
	from := 0
	for i := 0; ; {
		n := strings.Index(lower[i:], t.From)
		if n < 0 {
			out.WriteString(sql[from:])
			return out.String()
		}
		at := i + n
		i = at + len(t.From)
		if qualifies(lower, at, i) {
			out.WriteString(sql[from:at])
			out.WriteString(t.To)
			from = i
		}
	}
}

// qualifies tells whether what is between two places, the schema's name, is a
// whole word with a dot and a name behind it.
func qualifies(sql string, from, to int) bool {
	if from > 0 && (inName(sql[from-1]) || sql[from-1] == '.') {
		return false
	}
	rest := strings.TrimLeft(strings.TrimPrefix(sql[to:], `"`), " \t\r\n")
	if !strings.HasPrefix(rest, ".") {
		return false
	}
	rest = strings.TrimLeft(rest[1:], " \t\r\n")
	return rest != "" && (rest[0] == '"' || rest[0] == '*' || rest[0] == '_' || rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 0x80)
}

func inName(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 0x80
}

// Files are SQL files that are written for the schema From, as they are for To.
func (t Target) Files(files fs.FS) fs.FS { return targetFiles{files, t} }

type targetFiles struct {
	fs.FS
	target Target
}

// Open opens a file; its text is that for the target.
func (f targetFiles) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	defer file.Close()
	text, err := fs.ReadFile(f.FS, name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return &targetFile{bytes.NewReader([]byte(f.target.SQL(string(text)))), info}, nil
}

type targetFile struct {
	*bytes.Reader
	info fs.FileInfo // of the file as it is written; nobody asks for its size
}

func (f *targetFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *targetFile) Close() error               { return nil }
