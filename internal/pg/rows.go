package pg

import (
	"encoding/json"
	"fmt"
)

// JSON is the text of rows for jsonb_to_recordset: how a statement takes many
// rows at once. It panics only on values that encoding/json refuses, which
// row structs do not hold.
func JSON(rows any) string {
	b, err := json.Marshal(rows)
	if err != nil {
		panic(fmt.Sprintf("rows that cannot be JSON: %v", err))
	}
	return string(b)
}
