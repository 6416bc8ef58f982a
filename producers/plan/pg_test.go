package plan

import "tributary/internal/stage/sink"

// Work that was lost with a topic is requested again.
var _ sink.Restarter = (*Planner)(nil)
