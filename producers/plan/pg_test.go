package plan

import (
	"tributary/internal/pg"
	"tributary/sql/control"
)

func pgOutbox() pg.Outbox   { return pg.Outbox{Schema: control.Schema} }
func pgOffsets() pg.Offsets { return pg.Offsets{Schema: control.Schema, Group: "test.plan"} }
