package engine

// Pids are the process ids of the engines that have a process of their own, by
// name ("postgres", "clickhouse").
func (e *Engines) Pids() map[string]int {
	pids := map[string]int{}
	if e.postgres != nil {
		pids["postgres"] = e.postgres.Pid()
	}
	if e.clickhouse != nil {
		pids["clickhouse"] = e.clickhouse.Pid()
	}
	return pids
}
