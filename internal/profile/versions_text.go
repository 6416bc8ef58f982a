package profile

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What can't be read here goes into digests as it is, or as its error: whether
// it is good is for those to say who use it.

// schemaText is what a schema and all that it includes say, each file once, in
// the order in which they are first named.
func schemaText(fsys fs.FS, entry string) (out []string) {
	seen := map[string]bool{entry: true}
	for queue := []string{entry}; len(queue) > 0; queue = queue[1:] {
		text, includes := oneSchema(fsys, queue[0])
		out = append(out, text)
		for _, name := range includes {
			name = path.Join(path.Dir(queue[0]), name)
			if !seen[name] {
				seen[name] = true
				queue = append(queue, name)
			}
		}
	}
	return out
}

const xsdNamespace = "http://www.w3.org/2001/XMLSchema"

// oneSchema is what a file of a schema says, without comments, annotations and
// the white space between elements, and the files that it names. Attributes are
// sorted; prefixes stay, since values use them.
func oneSchema(fsys fs.FS, name string) (text string, includes []string) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err.Error(), nil
	}
	var b strings.Builder
	quoted := func(s string) { b.Write(must(json.Marshal(s))) }
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return b.String(), includes
		}
		if err != nil {
			return string(data), includes
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Space == xsdNamespace && t.Name.Local == "annotation" {
				if d.Skip() != nil {
					return string(data), includes
				}
				continue
			}
			b.WriteString("<")
			quoted(t.Name.Space + " " + t.Name.Local)
			slices.SortFunc(t.Attr, func(x, y xml.Attr) int {
				return strings.Compare(x.Name.Space+" "+x.Name.Local, y.Name.Space+" "+y.Name.Local)
			})
			for _, a := range t.Attr {
				quoted(a.Name.Space + " " + a.Name.Local)
				quoted(a.Value)
				if a.Name.Local == "schemaLocation" && t.Name.Space == xsdNamespace {
					includes = append(includes, a.Value)
				}
			}
		case xml.EndElement:
			b.WriteString(">")
		case xml.CharData:
			if s := strings.TrimSpace(string(t)); s != "" {
				quoted(s)
			}
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		return []byte(err.Error()) // no string fails to be written
	}
	return data
}

// mappingText gives what the mapping says of a kind: the kind's own part, and
// the tables that its rows go to.
func mappingText(fsys fs.FS) func(kind string) string {
	data, err := fs.ReadFile(fsys, File)
	var f struct {
		Tables []map[string]any `yaml:"tables"`
		Kinds  []map[string]any `yaml:"kinds"`
	}
	if err == nil {
		err = yaml.Unmarshal(data, &f)
	}
	return func(kind string) string {
		if err != nil {
			return err.Error() + string(data)
		}
		var parts []any
		used := map[any]bool{}
		for _, k := range f.Kinds {
			if k["name"] != kind {
				continue
			}
			k = maps.Clone(k)
			delete(k, "schema") // xsd's
			parts = append(parts, k)
			rows, _ := k["rows"].([]any)
			for _, row := range rows {
				if r, ok := row.(map[string]any); ok {
					used[r["table"]] = true
				}
			}
		}
		for _, t := range f.Tables {
			if used[t["name"]] {
				parts = append(parts, withoutComments(t))
			}
		}
		return string(must(json.Marshal(parts))) // which sorts keys
	}
}

// withoutComments is a table's part without what only people read.
func withoutComments(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, each := range v {
			if k != "comment" {
				out[k] = withoutComments(each)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, each := range v {
			out[i] = withoutComments(each)
		}
		return out
	}
	return value
}

// sqlText is the SQL of the profile's checks, and what else they may use, file by
// file in the order of their names.
func sqlText(fsys fs.FS) (out []string) {
	err := fs.WalkDir(fsys, "sql", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (name == "sql/context" || name == "sql/overview") {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || path.Ext(name) != ".sql" {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		out = append(out, name, plainSQL(string(data)))
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		out = append(out, err.Error())
	}
	return out
}

// meaning are comments that say something to the warehouse: the header of a check,
// but for what only people read, and what separates its queries.
var meaning = regexp.MustCompile(`^--\s?(?:level|on|needs):|^-- again\s*$`)

// plainSQL is SQL without comments that only people read, with single blanks where
// white space is; what is quoted comes after it, as it is.
func plainSQL(text string) string {
	goesOn := false // a header's line that has meaning may go on in the next
	var plain []byte
	var quoted []string
	add := func(s string) {
		for i := range len(s) {
			if s[i] != ' ' || len(plain) == 0 || plain[len(plain)-1] != ' ' {
				plain = append(plain, s[i])
			}
		}
	}
	for text != "" {
		s := text[:sqlWord(text)]
		text = text[len(s):]
		switch {
		case strings.HasPrefix(s, "--"):
			if !strings.HasPrefix(s, "--  ") || !goesOn {
				goesOn = meaning.MatchString(s)
			}
			if goesOn {
				add("\x01" + strings.TrimRight(s, " \t\r") + "\x01")
			} else {
				add(" ")
			}
		case len(s) > 1 && strings.HasPrefix(s, "/*"), strings.Trim(s, blanks) == "":
			add(" ")
		case len(s) > 1:
			quoted = append(quoted, s)
			add("\x00")
		default:
			add(s)
		}
	}
	return strings.TrimSpace(string(plain)) + "\x00" + strings.Join(quoted, "\x00")
}

const blanks = " \t\n\f\r"

// sqlWord is the length of a comment, a text or quoted name, or white space at the
// beginning of text, and 1 for anything else. It is written by hand because every
// command reads all of a profile's SQL when it starts.
func sqlWord(text string) int {
	switch {
	case strings.HasPrefix(text, "--"):
		if n := strings.IndexByte(text, '\n'); n >= 0 {
			return n
		}
		return len(text)
	case strings.HasPrefix(text, "/*"):
		return through(text, "/*", "*/")
	case strings.HasPrefix(text, "$$"):
		return through(text, "$$", "$$")
	case text[0] == '"':
		return through(text, `"`, `"`)
	case text[0] == '\'':
		n := 0
		for strings.HasPrefix(text[n:], "'") { // two of them are a quote within
			end := strings.IndexByte(text[n+1:], '\'')
			if end < 0 {
				return max(n, 1)
			}
			n += end + 2
		}
		return n
	}
	return max(len(text)-len(strings.TrimLeft(text, blanks)), 1)
}

// through is the length of what stands between begin, with which text begins, and
// end, both included; 1 without an end.
func through(text, begin, end string) int {
	if n := strings.Index(text[len(begin):], end); n >= 0 {
		return len(begin) + n + len(end)
	}
	return 1
}
