package plan

import (
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

func pgOutbox() outbox.Outbox { return outbox.Outbox{Schema: control.Schema} }
func pgOffsets() pg.Offsets   { return pg.Offsets{Schema: control.Schema, Group: "test.plan"} }

// Work that was lost with a topic is requested again.
var _ sink.Restarter = (*Planner)(nil)
