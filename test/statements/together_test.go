//go:build !race

package statements

// together are the functions whose statements are put together when they run, each with
// what of them only a store, a profile or a person says, or depends on what there is. What
// the test knows of them is prepared too, but may fail. The list may only become shorter.
func together() map[string]string {
	return map[string]string{
		"(*consumers/history.History).insert":               "the columns of a row, which row.go names beside what each holds",
		"(*consumers/history.filler).add":                   "the columns of a row, and the table that a rebuild fills, which is named after when it began",
		"consumers/history.noteRefilled":                    "a row of values for each part that was refilled",
		"(*consumers/history.rebuild).drop":                 "the table that a rebuild fills or has replaced, whose name was chosen when it began",
		"(*consumers/history.rebuild).follow":               "the table that a rebuild fills, the columns of a row, and a range of offsets for each partition",
		"(*consumers/history.verification).explain":         "those of the columns of a row that differ",
		"(*consumers/history.verification).hashes":          "a hash of all columns of a row",
		"(*consumers/history.verification).counted":         "a hash of all columns of a row",
		"(*consumers/insert.judgement).group":               "how the profile's table finds the records that its checks are about",
		"(*consumers/insert.judgement).violations":          "the profile's checks, as many as judge one table together",
		"(*consumers/insert.writer).batchEnd":               "the profile's own statements for context and overview",
		"(*consumers/insert.writer).copyFrom":               "the profile's table that is copied to, with its columns",
		"(*consumers/insert.writer).loadReference":          "the profile's reference table that is emptied",
		"(*consumers/tracker.build).each":                   "the definitions of indexes and constraints, as Postgres tells them of the live tracker",
		"(*consumers/tracker.store).eachRow":                "the columns of rows that were added by name",
		"(*consumers/tracker.store).emptyTemps":             "the temporary tables of those that were written",
		"(*consumers/tracker.store).replace":                "the columns of rows that were added by name",
		"internal/engine/pgdoor.makeRole":                   "what of the role differs from how it should be, and the verifier of its password, for which such a statement takes no parameter",
		"(*internal/engine/postgres.Server).createDatabase": "nothing, but CREATE DATABASE can't be prepared, nor tried where the database is",
		"(*producers/publish.Publisher).publish":            "the schema whose outbox is published: LISTEN takes no parameter",
		"(*queries/asof.Reader).Latest":                     "the condition of a notification's rule",
		"(*queries/asof.past).count":                        "the condition for the events that a question is about: a file's, a source's, or all",
		"(*queries/asof.past).make":                         "the tracker's migrations, rewritten so that they make temporary tables",
		"(*queries/asof.past).read":                         "the condition for the events that a question is about: a file's, a source's, or all",
		"(*queries/asof.past).statistics":                   "the temporary tables, as Postgres names them",
		"queries/export.open":                               "the profile's tables and columns of which a document is written again",
		"(*queries/lineage.Reader).Find":                    "the columns of a document, which are added by name with what they are read into",
		"(*queries/lineage.Reader).claims":                  "the columns of a claim, which are added by name with what they are read into",
		"(*queries/lineage.Reader).document":                "the columns of a document, which are added by name with what they are read into",
		"(*queries/lineage.Reader).documents":               "the columns of a document, which are added by name with what they are read into",
		"(*queries/lineage.Reader).read":                    "the profile's table that a row lies in, and its columns",
		"(*queries/profilecheck.Report).prepareOne":         "a statement of the profile that is checked",
		"queries/profilecheck.candidates":                   "the views of the profile that is checked",
		"queries/profilecheck.scratch":                      "the name of a database, which is drawn at random",
		"internal/pg.createSchema":                          "the schema of a store, or the one that is built beside it: CREATE SCHEMA takes no parameter",
		"queries/report.Ask":                                "what a person asks",
		"(queries/report.ClickHouse).refuseOutside":         "what a person asks, of which ClickHouse is to say what it does",
		"(queries/report.Postgres).curb":                    "the name of the database, and the functions that Postgres says would reach outside",
		"(queries/report.Postgres).makeReader":              "CREATE or ALTER, and the verifier of a password, for which such a statement takes no parameter",
		"(queries/report.Postgres).query":                   "what a person asks",
		"(queries/report.Postgres).show":                    "the schemas that are there: GRANT takes no parameter",
		"queries/report.QualityStands":                      "a sum for each way in which documents stand in quality control",
		"queries/report.SQL":                                "what a person asks",
		"queries/report.Columns":                            "what a person asks",
		"queries/report.streamWith":                         "the conditions, the order and the limit of a filter",
		"recovery/replay.ask":                               "the predicate that a person gives",
		"recovery/replay.findPhase":                         "the predicate that a person gives, and where the versions of the phase stand",
		"sql/beside.Look":                                   "the name of a snapshot, for which such a statement takes no parameter",
		"sql/beside.Lock":                                   "the tables of a schema, as Postgres names them",
		"(sql/beside.Pair).count":                           "the columns of a table, as Postgres tells them",
		"(sql/beside.Pair).Differ":                          "the columns and the key of a table, as Postgres tells them",
		"(sql/beside.Pair).Differences":                     "the columns and the key of a table, as Postgres tells them, and the side that is asked about",
		"(sql/beside.Swap).In":                              "the rights, owners and sequences that are carried over, each a statement that Postgres itself writes",
		"sql/control.AddAcquisition":                        "the columns of a row that was added by name",
		"sql/control.OrderNotice":                           "the columns of a dead letter, and those of what is decided about it",
		"sql/control.StoreDrop":                             "the columns of a dead letter, and those of what is decided about it",
		"sql/control.StoreRetry":                            "the columns of a dead letter, and those of what is decided about it",
		"sql/control.insertOperation":                       "the columns of a row that was added by name",
		"sql/history.CreateEvent":                           "the table that a rebuild makes, in place of the live one's name in the statements",
		"sql/history.runAll":                                "the statements of a folder that are new here, and a row of values for each",
		"sql/warehouse.AnalyzeBuilt":                        "the tables of the schema that a rebuild has filled, as Postgres names them",
		"sql/warehouse.carryLists":                          "the profile's lists, and those of their columns that both schemas have",
		"sql/warehouse.copyOut":                             "the columns of the profile's table that is hashed",
		"sql/warehouse.dropViews":                           "the views that the profile has made before",
		"(*sql/warehouse.profile).alter":                    "the columns that the profile's tables lack",
		"(*sql/warehouse.profile).wanted":                   "the tables that every warehouse has, as Postgres names them",
		"sql/warehouse.runAll":                              "the statements that make the profile's tables, views and functions, all at once",
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
