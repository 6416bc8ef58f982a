//go:build !race

package statements

// together are the functions whose statements are put together when they run from what
// only a store, a profile or a person says, each with what that is. What the test knows
// of them is prepared too, but may fail. The list may only become shorter.
func together() map[string]string {
	return map[string]string{
		"(*consumers/history.History).insert":               "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/history.filler).add":                   "the columns of a row, which its struct tells, and the name of a table that is being built",
		"consumers/history.noteRefilled":                    "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/history.rebuild).drop":                 "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/history.rebuild).follow":               "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/history.verification).explain":         "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/history.verification).hashes":          "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/history.verification).span":            "the columns of a row, which its struct tells, and the name of a table that is being built",
		"(*consumers/insert.judgement).group":               "the tables, columns and checks of a profile",
		"(*consumers/insert.judgement).violations":          "the tables, columns and checks of a profile",
		"(*consumers/insert.writer).batchEnd":               "the tables, columns and checks of a profile",
		"(*consumers/insert.writer).copyFrom":               "the tables, columns and checks of a profile",
		"(*consumers/insert.writer).loadReference":          "the tables, columns and checks of a profile",
		"(*consumers/tracker.build).each":                   "the columns of rows that were added by name, and the names of the tables",
		"(*consumers/tracker.store).upsertFew":              "the columns of rows that were added by name, and the names of the tables",
		"(*consumers/tracker.store).upsertMany":             "the columns of rows that were added by name, and the names of the tables",
		"internal/engine/pgdoor.makeRole":                   "a database or a role that there is none of yet",
		"(*internal/engine/postgres.Server).createDatabase": "a database or a role that there is none of yet",
		"(*producers/publish.Publisher).publish":            "the schema whose the outbox is",
		"(*queries/asof.Reader).Latest":                     "the conditions of notification rules",
		"(*queries/asof.past).count":                        "the temporary tables that are made of the migrations of the tracker",
		"(*queries/asof.past).make":                         "the temporary tables that are made of the migrations of the tracker",
		"(*queries/asof.past).read":                         "the temporary tables that are made of the migrations of the tracker",
		"(*queries/asof.past).statistics":                   "the temporary tables that are made of the migrations of the tracker",
		"queries/export.open":                               "the tables and columns of a profile",
		"(*queries/lineage.Reader).Find":                    "the tables and columns of a profile, and the columns of a row that was added by name",
		"(*queries/lineage.Reader).claims":                  "the tables and columns of a profile, and the columns of a row that was added by name",
		"(*queries/lineage.Reader).document":                "the tables and columns of a profile, and the columns of a row that was added by name",
		"(*queries/lineage.Reader).documents":               "the tables and columns of a profile, and the columns of a row that was added by name",
		"(*queries/lineage.Reader).read":                    "the tables and columns of a profile, and the columns of a row that was added by name",
		"(*queries/profilecheck.Report).prepareOne":         "the statements of a profile, and a database that has a random name",
		"queries/profilecheck.candidates":                   "the statements of a profile, and a database that has a random name",
		"queries/profilecheck.scratch":                      "the statements of a profile, and a database that has a random name",
		"queries/report.Ask":                                "what people ask, and the rights that their role gets",
		"(queries/report.ClickHouse).refuseOutside":         "what people ask, and the rights that their role gets",
		"(queries/report.Postgres).curb":                    "what people ask, and the rights that their role gets",
		"(queries/report.Postgres).makeReader":              "what people ask, and the rights that their role gets",
		"(queries/report.Postgres).query":                   "what people ask, and the rights that their role gets",
		"(queries/report.Postgres).show":                    "what people ask, and the rights that their role gets",
		"queries/report.QualityStands":                      "what people ask, and the rights that their role gets",
		"queries/report.SQL":                                "what people ask, and the rights that their role gets",
		"queries/report.columns":                            "what people ask, and the rights that their role gets",
		"queries/report.streamWith":                         "the order and the conditions that a filter asks for",
		"recovery/replay.ask":                               "the predicate that a person gives, and the phase",
		"recovery/replay.findPhase":                         "the predicate that a person gives, and the phase",
		"sql/beside.Lock":                                   "the schemas, tables and columns that Postgres tells of",
		"(sql/beside.Pair).Count":                           "the schemas, tables and columns that Postgres tells of",
		"(sql/beside.Pair).Differ":                          "the schemas, tables and columns that Postgres tells of",
		"(sql/beside.Pair).Differences":                     "the schemas, tables and columns that Postgres tells of",
		"(sql/beside.Swap).In":                              "the schemas, tables and columns that Postgres tells of",
		"sql/control.AddAcquisition":                        "the columns of a row that was added by name",
		"sql/control.OrderNotice":                           "the columns of a row that was added by name",
		"sql/control.StoreDrop":                             "the columns of a row that was added by name",
		"sql/control.StoreRetry":                            "the columns of a row that was added by name",
		"sql/control.insertOperation":                       "the columns of a row that was added by name",
		"sql/history.CreateEvent":                           "the table that is made, and what ClickHouse tells of",
		"sql/history.runAll":                                "the table that is made, and what ClickHouse tells of",
		"sql/outbox.AddLetters":                             "the schema whose the outbox is",
		"sql/warehouse.AnalyzeBuilt":                        "the tables, columns and views of a profile, and those that Postgres tells of",
		"sql/warehouse.carryLists":                          "the tables, columns and views of a profile, and those that Postgres tells of",
		"sql/warehouse.copyOut":                             "the tables, columns and views of a profile, and those that Postgres tells of",
		"sql/warehouse.dropViews":                           "the tables, columns and views of a profile, and those that Postgres tells of",
		"(*sql/warehouse.profile).alter":                    "the tables, columns and views of a profile, and those that Postgres tells of",
		"(*sql/warehouse.profile).wanted":                   "the tables, columns and views of a profile, and those that Postgres tells of",
		"sql/warehouse.runAll":                              "the tables, columns and views of a profile, and those that Postgres tells of",
	}
}

// elsewhere are files with statements that go another way than by the clients: each
// engine's own, and those that the pages offer to people.
func elsewhere() []string {
	return []string{
		"internal/engine/chdb/child.go", "internal/engine/chdb/hello.go", "internal/engine/chdb/outside.go", // between the engine and its process
		"internal/engine/pgdoor/statement.go", // what Postgres is asked instead of what is refused
		"internal/mapping/candidate.go",       // a profile's
		"consumers/insert/check.go",           // made of a profile
		"web/pages/sql.go",                    // links of the page where people ask
	}
}
