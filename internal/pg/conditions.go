package pg

import (
	"fmt"
	"strconv"
	"strings"
)

// Conditions are what a statement in the making demands, and its values. The zero value
// demands nothing.
type Conditions struct {
	Args []any    // values, in the order of their numbers
	All  []string // conditions, as the statement has them
}

// Arg is how the statement refers to a value.
func (c *Conditions) Arg(value any) string {
	c.Args = append(c.Args, value)
	return "$" + strconv.Itoa(len(c.Args))
}

// Add demands a condition, in which each %s is a value.
func (c *Conditions) Add(condition string, values ...any) {
	names := make([]any, len(values))
	for i, v := range values {
		names[i] = c.Arg(v)
	}
	c.All = append(c.All, fmt.Sprintf(condition, names...))
}

// Where is the clause that demands all of them; empty if there are none.
func (c *Conditions) Where() string {
	if len(c.All) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.All, " AND ")
}
