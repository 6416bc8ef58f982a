package exception

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the module's folder.
var root = filepath.Join("..", "..")

// source is what the module's own code, without tests, says of exceptions.
//
// It follows the word: what is assigned to, compared with, passed as or
// returned as something named exception. Constants are resolved across
// packages; variables are not followed, since what they hold was given its
// name at another such place.
type source struct {
	consts  map[string]map[string]string // package's path to names to values
	takes   map[string]map[int]bool      // functions by package and name to the parameters that are exceptions
	found   map[string][]string          // exceptions to the places
	unknown []string                     // places where a name is put together
}

// scanned are the folders whose code gives exceptions.
func scanned() []string {
	return []string{"cmd", "consumers", "internal", "producers", "schemas", "sql", "topics"}
}

type goFile struct {
	pkg     string // path below the module
	name    string
	file    *ast.File
	imports map[string]string // names to paths below the module
}

func readSource(t *testing.T) *source {
	t.Helper()
	s := &source{consts: map[string]map[string]string{}, takes: map[string]map[int]bool{}, found: map[string][]string{}}
	set := token.NewFileSet()
	var files []*goFile
	for _, dir := range scanned() {
		err := filepath.WalkDir(filepath.Join(root, dir), func(p string, d fs.DirEntry, err error) error {
			// ClickHouse's own exceptions are another matter.
			if err == nil && d.IsDir() && (d.Name() == "testdata" || strings.HasSuffix(filepath.ToSlash(p), "internal/engine") || strings.HasSuffix(filepath.ToSlash(p), "schemas/exception")) {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(set, p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, filepath.Dir(p))
			if err != nil {
				return err
			}
			files = append(files, &goFile{pkg: filepath.ToSlash(rel), name: filepath.ToSlash(p), file: f, imports: imports(f)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		s.declare(f)
	}
	for _, f := range files {
		s.read(f, set)
	}
	return s
}

func imports(f *ast.File) map[string]string {
	out := map[string]string{}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		rest, own := strings.CutPrefix(p, "tributary/")
		if err != nil || !own {
			continue
		}
		name := path.Base(rest)
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = rest
	}
	return out
}

func isException(name string) bool { return strings.EqualFold(name, "exception") }

// declare notes a file's constants, and which of its functions take exceptions.
func (s *source) declare(f *goFile) {
	if s.consts[f.pkg] == nil {
		s.consts[f.pkg] = map[string]string{}
	}
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok != token.CONST {
				return true
			}
			for _, spec := range n.Specs {
				v, ok := spec.(*ast.ValueSpec)
				for i := 0; ok && i < min(len(v.Names), len(v.Values)); i++ {
					if text, ok := s.resolve(f, v.Values[i]); ok {
						s.consts[f.pkg][v.Names[i].Name] = text
					}
				}
			}
		case *ast.FuncDecl:
			i, name := 0, f.pkg+"."+n.Name.Name
			for _, field := range n.Type.Params.List {
				for _, param := range field.Names {
					if isException(param.Name) {
						if s.takes[name] == nil {
							s.takes[name] = map[int]bool{}
						}
						s.takes[name][i] = true
					}
					i++
				}
			}
			if isException(n.Name.Name) && i == 1 {
				s.takes[name] = map[int]bool{0: true}
			}
		}
		return true
	})
}

// resolve returns the text of a literal or a constant.
func (s *source) resolve(f *goFile, x ast.Expr) (string, bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			text, err := strconv.Unquote(x.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return s.resolve(f, x.X)
	case *ast.Ident:
		text, ok := s.consts[f.pkg][x.Name]
		return text, ok
	case *ast.SelectorExpr:
		if pkg, ok := x.X.(*ast.Ident); ok {
			text, ok := s.consts[f.imports[pkg.Name]][x.Sel.Name]
			return text, ok
		}
	}
	return "", false
}

// named says whether an expression's name is the word.
func named(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return isException(x.Name)
	case *ast.SelectorExpr:
		return isException(x.Sel.Name)
	}
	return false
}

// read finds the exceptions of a file.
func (s *source) read(f *goFile, set *token.FileSet) {
	take := func(x ast.Expr) { s.take(f, set, x) }
	ast.Inspect(f.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if named(n.Key) {
				take(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if named(left) && len(n.Lhs) == len(n.Rhs) {
					take(n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if isException(name.Name) && i < len(n.Values) {
					take(n.Values[i])
				}
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && named(n.X) {
				take(n.Y)
			}
		case *ast.SwitchStmt:
			if n.Tag == nil || !named(callee(n.Tag)) && !named(n.Tag) {
				return true
			}
			for _, clause := range n.Body.List {
				for _, x := range clause.(*ast.CaseClause).List {
					take(x)
				}
			}
		case *ast.CallExpr:
			for i := range s.takes[f.called(n.Fun)] {
				// A method of another type may have the same name, and takes
				// a sentence there.
				if i < len(n.Args) {
					if text, ok := s.resolve(f, n.Args[i]); !ok || !strings.Contains(text, " ") {
						take(n.Args[i])
					}
				}
			}
		case *ast.FuncDecl:
			if strings.HasPrefix(strings.ToLower(n.Name.Name), "exception") && n.Body != nil {
				ast.Inspect(n.Body, func(n ast.Node) bool {
					if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
						take(r.Results[0])
					}
					return true
				})
			}
		}
		return true
	})
}

// called is the function's package and name. What is selected from something
// other than a package is taken for a method of the file's own package.
func (f *goFile) called(x ast.Expr) string {
	if sel, ok := x.(*ast.SelectorExpr); ok {
		if id, ok := sel.X.(*ast.Ident); ok && f.imports[id.Name] != "" {
			return f.imports[id.Name] + "." + sel.Sel.Name
		}
	}
	return f.pkg + "." + nameOf(x)
}

func nameOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// callee is what a call calls, or nil.
func callee(x ast.Expr) ast.Expr {
	if c, ok := x.(*ast.CallExpr); ok {
		return c.Fun
	}
	return nil
}

// take notes an exception where it can be resolved.
func (s *source) take(f *goFile, set *token.FileSet, x ast.Expr) {
	place := set.Position(x.Pos()).String()
	switch x := x.(type) {
	case *ast.BinaryExpr:
		if f.pkg != "internal/profile" { // whose names are read on their own
			s.unknown = append(s.unknown, place)
		}
	case *ast.CallExpr:
		if nameOf(x.Fun) == "Or" { // cmp.Or
			for _, a := range x.Args {
				s.take(f, set, a)
			}
		}
	default:
		if text, ok := s.resolve(f, x); ok && text != "" {
			s.found[text] = append(s.found[text], place)
		}
	}
}

// ruleNames are the names that package profile puts together: the prefixes of
// its two patterns, and the rules that it judges.
func ruleNames(t *testing.T) []string {
	t.Helper()
	prefixes, rules := map[string]bool{}, map[string]bool{}
	set := token.NewFileSet()
	for _, name := range []string{"names.go", "load.go"} {
		f, err := parser.ParseFile(set, filepath.Join(root, "internal", "profile", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		literal := func(x ast.Expr, into map[string]bool) {
			if b, ok := x.(*ast.BasicLit); ok && b.Kind == token.STRING {
				if text, err := strconv.Unquote(b.Value); err == nil {
					into[text] = true
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if nameOf(left) == "prefix" && len(n.Lhs) == len(n.Rhs) {
						literal(n.Rhs[i], prefixes)
					}
				}
			case *ast.CallExpr:
				if nameOf(n.Fun) == "bad" && len(n.Args) > 0 {
					literal(n.Args[0], rules)
				}
			}
			return true
		})
	}
	if len(prefixes) != 2 || len(rules) < 4 {
		t.Fatalf("prefixes %v and rules %v: the code is not as this test thinks", prefixes, rules)
	}
	var out []string
	for prefix := range maps.Keys(prefixes) {
		for rule := range maps.Keys(rules) {
			// A file's name has no kind.
			if name := prefix + "_" + rule; name != "zip_name_kind" {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}
