package mapping

import (
	"fmt"
	"strings"
)

// schema is where all generated tables and views are.
const schema = "warehouse"

// SQLColumn is a column of a generated table.
type SQLColumn struct {
	Name, Type string // Type as Postgres's catalogue shows it
	NotNull    bool
	Comment    string
}

// SQLColumns lists the columns of the table's relation, in the order of
// ColumnNames.
func (t *Table) SQLColumns() []SQLColumn {
	out := []SQLColumn{{"position", "bigint", true, "the document that brought the row: its place in the order"}}
	if t.Under != nil {
		out = append(out, SQLColumn{"record", "integer", true, "ordinal of the row of " + t.Under.Name + " that it belongs to"})
	}
	out = append(out, SQLColumn{"ordinal", "integer", true, "the row's place among all rows of its document, from 1"})
	if t.HasParentColumn {
		out = append(out, SQLColumn{"parent", "integer", true, "ordinal of the row that encloses it, of " + tableNames(t.Parents)})
	}
	out = append(out, SQLColumn{"line", "integer", true, "line of its element in the document, from 1"})
	for _, c := range t.Columns {
		out = append(out, SQLColumn{c.Name, c.SQLType(), c.Required, c.Comment})
	}
	return out
}

// PrimaryKey lists the columns of the table's primary key.
func (t *Table) PrimaryKey() []string {
	if t.Under != nil {
		return []string{"position", "record", "ordinal"}
	}
	return []string{"position", "ordinal"}
}

// SQLColumns lists the columns of the reference table's relation.
func (r *Reference) SQLColumns() []SQLColumn {
	var out []SQLColumn
	for _, c := range r.Columns {
		out = append(out, SQLColumn{c.Name, c.SQLType(), c.Required, c.Comment})
	}
	return out
}

// Relation is the reference table's name without the schema.
func (r *Reference) Relation() string { return "reference_" + r.Name }

// DDL returns the statements that make all tables of the mapping, with their
// indexes and comments. They are in an order in which they can be run, and do
// nothing where a table is there; they don't alter one that is.
func (m *Mapping) DDL() []string {
	var out []string
	for _, t := range m.Tables {
		out = append(out, create(t.Name, t.Comment, t.SQLColumns(), t.PrimaryKey())...)
		for _, c := range t.Columns {
			if c.Index {
				out = append(out, fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s_%s_ix ON %s.%s (%s)", t.Name, c.Name, schema, t.Name, c.Name))
			}
		}
	}
	for _, r := range m.References {
		out = append(out, create(r.Relation(), r.Comment, r.SQLColumns(), r.Key)...)
	}
	return out
}

// create makes a table. Rows of content are written once, in the order of the
// primary key, and never changed, so pages are filled, and the primary key is
// the only index but for those that a profile asks for.
func create(name, comment string, columns []SQLColumn, key []string) []string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s.%s (", schema, name)
	for _, c := range columns {
		fmt.Fprintf(&b, "\n  %s %s", c.Name, c.Type)
		if c.NotNull {
			b.WriteString(" NOT NULL")
		}
		b.WriteString(",")
	}
	fmt.Fprintf(&b, "\n  PRIMARY KEY (%s))", strings.Join(key, ", "))
	out := []string{b.String(), fmt.Sprintf("COMMENT ON TABLE %s.%s IS %s", schema, name, quote(comment))}
	for _, c := range columns {
		out = append(out, fmt.Sprintf("COMMENT ON COLUMN %s.%s.%s IS %s", schema, name, c.Name, quote(c.Comment)))
	}
	return out
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// ViewName is the name, without the schema, of the view that shows the table's
// rows once for each claim; empty for a table without records.
func (t *Table) ViewName() string {
	if t.Under == nil && !t.Record {
		return ""
	}
	return "claimed_" + t.Name
}

// Views returns the statements that make the views claimed_TABLE. Content is
// stored once and may belong to several claims; a view shows it once for each,
// with the claim's own coordinates.
func (m *Mapping) Views() []string {
	var out []string
	for _, t := range m.Tables {
		if t.ViewName() != "" {
			out = append(out, t.view()...)
		}
	}
	return out
}

// viewColumns are the columns of the table's rows t as the claim c has them.
func (t *Table) viewColumns() []SQLColumn {
	columns := []SQLColumn{{Name: "c.position", Comment: "the claim's document: its place in the order"},
		{Name: "c.ordinal AS record", Comment: "the claim's ordinal in its document"},
		{Name: "t.ordinal + c.ordinal - c.content_ordinal AS ordinal", Comment: "the row's place among all rows of the claim's document, from 1"}}
	if t.HasParentColumn && !t.Record {
		columns = append(columns, SQLColumn{Name: "t.parent + c.ordinal - c.content_ordinal AS parent", Comment: "ordinal, in the claim's document, of the row that encloses it, of " + tableNames(t.Parents)})
	}
	columns = append(columns,
		SQLColumn{Name: "t.line + c.line_shift AS line", Comment: "line of the row's element in the claim's document, from 1"},
		SQLColumn{Name: "c.claim", Comment: "identity of the natural key"},
		SQLColumn{Name: "c.centre AS claim_centre", Comment: "the centre that claims it"},
		SQLColumn{Name: "c.is_current", Comment: "whether this is what holds now: the greatest claim on its key that is not withdrawn, and no tombstone"},
		SQLColumn{Name: "c.tombstone", Comment: "whether the claim says that the key is gone"})
	for _, c := range t.Columns {
		columns = append(columns, SQLColumn{Name: "t." + c.Name, Comment: c.Comment})
	}
	return columns
}

// content is the condition under which a row t is content of the claim c, and
// the record table of both.
func (t *Table) content() (join string, record *Table) {
	if t.Under != nil {
		return "t.position = c.content_position AND t.record = c.content_ordinal", t.Under
	}
	return "t.position = c.content_position AND t.ordinal = c.content_ordinal", t
}

func columnList(columns []SQLColumn) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return strings.Join(names, ",\n  ")
}

func (t *Table) view() []string {
	join, record := t.content()
	columns := t.viewColumns()
	var out []string
	view := schema + "." + t.ViewName()
	out = append(out, fmt.Sprintf("CREATE OR REPLACE VIEW %s AS\nSELECT %s\nFROM %s.claim c JOIN %s.%s t ON %s\nWHERE c.record_type = %s",
		view, columnList(columns), schema, schema, t.Name, join, quote(record.Name)),
		fmt.Sprintf("COMMENT ON VIEW %s IS %s", view, quote(t.Comment+": one row for each claim and row of its content")))
	for _, c := range columns {
		name := c.Name[strings.LastIndexAny(c.Name, " .")+1:]
		out = append(out, fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", view, name, quote(c.Comment)))
	}
	return out
}
