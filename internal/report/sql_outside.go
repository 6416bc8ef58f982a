package report

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// ClickHouse's readonly = 1 refuses to write and most of what reaches outside
// of the database, but not all: DESCRIBE TABLE url(…) sends a request, file(…)
// as a function reads any file of the embedded engine, and that engine stops
// merges and kills queries all the same. So its own parser is asked first what
// a statement is.

// refuseOutside errs if the statement is none that reads, or if it names what
// reaches outside of the database.
func (c ClickHouse) refuseOutside(ctx context.Context, sql string) error {
	rows, err := c.Conn.Query(ctx, "EXPLAIN AST "+sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	tableExpression := -1 // depth of the last line, where that is one
	for first := true; rows.Next(); first = false {
		var line string
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("read an answer of ClickHouse: %w", err)
		}
		node := strings.TrimLeft(line, " ")
		depth := len(line) - len(node)
		if first && !readsOnly(node) {
			word, _, _ := strings.Cut(node, " ")
			return fmt.Errorf("this command only reads, and %s does not", word)
		}
		if rest, ok := strings.CutPrefix(node, "Function "); ok {
			name, _, _ := strings.Cut(rest, " ")
			if reachesOutside(name) || depth == tableExpression+1 && tableExpression >= 0 && !tableInside(name) {
				return fmt.Errorf("this command only reads the database, and the function %s reaches outside of it", name)
			}
		}
		tableExpression = -1
		if strings.HasPrefix(node, "TableExpression") {
			tableExpression = depth
		}
	}
	return rows.Err()
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
		"view", "viewifpermitted", "merge", "null", "format", "mergetreeindex":
		return true
	}
	return false
}

// reachesOutside names functions that are refused wherever they stand.
func reachesOutside(name string) bool {
	return regexp.MustCompile(`(?i)^(file|url|s3|gcs|oss|cosn|hdfs|azureBlobStorage|remote|remoteSecure|cluster|clusterAllReplicas|.+Cluster|mysql|postgresql|mongodb|sqlite|odbc|jdbc|redis|executable|input|iceberg.*|deltaLake.*|hudi.*|paimon.*|ytsaurus|arrowFlight|python|catboostEvaluate)$`).MatchString(name)
}
