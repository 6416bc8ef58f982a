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

var (
	// meaning are comments that say something to the warehouse: the header of a
	// check, but for what only people read, and what separates its queries.
	meaning = regexp.MustCompile(`^--\s?(?:level|on|needs):|^-- again\s*$`)
	// word of SQL as far as it matters here: a comment, a text or quoted name, or
	// white space.
	sqlWord = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|\$\$.*?\$\$|\s+`)
	blanks  = regexp.MustCompile(` +`)
)

// plainSQL is SQL without comments that only people read, with single blanks
// where white space is.
func plainSQL(text string) string {
	goesOn := false // a header's line that has meaning may go on in the next
	var texts []string
	text = sqlWord.ReplaceAllStringFunc(text, func(s string) string {
		switch {
		case strings.HasPrefix(s, "--"):
			if !strings.HasPrefix(s, "--  ") || !goesOn {
				goesOn = meaning.MatchString(s)
			}
			if !goesOn {
				return " "
			}
			return "\x01" + strings.TrimRight(s, " \t\r") + "\x01"
		case strings.HasPrefix(s, "/*") || strings.TrimSpace(s) == "":
			return " "
		}
		texts = append(texts, s)
		return "\x00" // kept as it is
	})
	return strings.TrimSpace(blanks.ReplaceAllString(text, " ")) + "\x00" + strings.Join(texts, "\x00")
}
