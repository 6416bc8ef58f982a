package report

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tributary/internal/engine/chdb"
)

// ClickHouse's readonly = 1 refuses to write and most of what reaches outside
// of the database, but not all: DESCRIBE TABLE url(…) sends a request, file(…)
// as a function reads any file of the embedded engine, and that engine writes
// files for INTO OUTFILE, stops merges and kills queries all the same. So its
// own parser is asked first what a statement is; what can't be seen in its
// answer is refused.

// refuseOutside errs if the statement is none that reads, or if it names what
// reaches outside of the database.
func (c ClickHouse) refuseOutside(ctx context.Context, sql string) error {
	// Before all, as asking would already write the file.
	if chdb.NamesAFile(sql) {
		return errors.New("this command only reads the database: the words OUTFILE and INFILE are taken between plain quotes only, in a statement without comments")
	}
	rows, err := c.Conn.Query(ctx, "EXPLAIN AST "+sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	tree := syntax{sql: sql, table: -1}
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("read an answer of ClickHouse: %w", err)
		}
		node := strings.TrimLeft(line, " ")
		if err := tree.refuse(node, len(line)-len(node)); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !tree.begun {
		return errors.New("this command only reads the database, and ClickHouse does not say what this statement does: write it without FORMAT")
	}
	return nil
}

// syntax is what was seen of a statement's tree, whose nodes come parents
// first. Names between quotes may contain line breaks, and so make up nodes, but
// can't take one away.
type syntax struct {
	sql     string
	begun   bool
	table   int   // depth of the last node, where that is a TableExpression; else -1
	callers []int // depths of the functions around the node that call others by their names
	calls   bool  // there was one
}

// refuse errs if a node is none of a statement that only reads the database.
func (s *syntax) refuse(node string, depth int) error {
	kind, rest, _ := strings.Cut(node, " ")
	name, _, _ := strings.Cut(rest, " ")
	switch {
	case s.begun:
	case !readsOnly(node):
		return fmt.Errorf("this command only reads, and %s does not", kind)
	case strings.HasPrefix(node, "Show") && strings.Contains(s.sql, "("):
		return errors.New("this command only reads the database, and what brackets in SHOW do can't be seen: ask the tables of system in a SELECT")
	}
	s.begun = true
	table := s.table >= 0 && depth == s.table+1
	s.table = -1
	for len(s.callers) > 0 && depth <= s.callers[len(s.callers)-1] {
		s.callers = s.callers[:len(s.callers)-1]
	}
	switch kind {
	case "TableExpression":
		s.table = depth
	case "ColumnsApplyTransformer":
		return errors.New("this command only reads the database, and what APPLY calls can't be seen: write the function around the columns")
	case "Function":
		if reachesOutside(name) || table && !tableInside(name) {
			return fmt.Errorf("this command only reads the database, and the function %s reaches outside of it", name)
		}
		if callsByName(name) {
			s.callers, s.calls = append(s.callers, depth), true
		}
	case "Identifier":
		if reachesOutside(name) && s.called(depth) {
			return fmt.Errorf("this command only reads the database, and the function %[1]s reaches outside of it: write a column of that name with its table's before it, as in t.%[1]s", name)
		}
	}
	return nil
}

// called says whether a name at a depth may be a function's that another calls:
// whether it is an argument of such a one, or, where nodes could be made up,
// whether there is one at all.
func (s *syntax) called(depth int) bool {
	n := len(s.callers)
	return n > 0 && depth == s.callers[n-1]+2 || s.calls && mayBreakNames(s.sql)
}

// mayBreakNames says whether a name between quotes has a line break in it, or
// what makes one, or whether that can't be said for sure.
func mayBreakNames(sql string) bool {
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'' || c == '"' || c == '`':
			start := i
			for i++; i < len(sql) && sql[i] != c; i++ {
				if sql[i] == '\\' {
					i++
				}
			}
			if i >= len(sql) || c != '\'' && strings.ContainsAny(sql[start:i], "\n\r\\") {
				return true
			}
		case c == '$', c == '#', c >= 0x80, strings.HasPrefix(sql[i:], "--"), strings.HasPrefix(sql[i:], "/*"):
			return true
		}
	}
	return false
}

// callsByName says whether a function may be given another's name, and call it.
// Those that do so are for arrays and maps.
func callsByName(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "array", "arrayelement", "arrayjoin", "map":
		return false
	}
	return strings.HasPrefix(name, "array") || strings.HasPrefix(name, "map")
}

// readsOnly says whether the first node of a statement is one that reads.
func readsOnly(node string) bool {
	for _, kind := range []string{"Select", "Describe", "Show", "Exists", "Explain "} {
		if strings.HasPrefix(node, kind) {
			return true
		}
	}
	return false
}

// tableInside lists the functions that make tables of nothing else but their
// arguments and what is in the database. Others may come with each version.
func tableInside(name string) bool {
	switch strings.ToLower(name) {
	case "numbers", "numbers_mt", "zeros", "zeros_mt", "generate_series", "generateseries", "generaterandom", "values",
		"view", "merge", "null", "format", "mergetreeindex":
		return true
	}
	return false
}

// reachesOutside names functions that are refused wherever they stand.
func reachesOutside(name string) bool {
	return regexp.MustCompile(`(?i)^(file|url|s3|gcs|oss|cosn|hdfs|azureBlobStorage|remote|remoteSecure|cluster|clusterAllReplicas|.+Cluster|mysql|postgresql|mongodb|sqlite|odbc|jdbc|redis|executable|input|iceberg.*|deltaLake.*|hudi.*|paimon.*|ytsaurus|arrowFlight|python|catboostEvaluate|filesystem|arrowStream|eval|dictionary|loop|viewExplain|viewIfPermitted|fuzzQuery|ai(Classify|Embed|Extract|Generate|Translate))$`).MatchString(name)
}
