// Package hostile attacks the program from outside: the built binary, real
// sockets, real engines. Its tests play servers that misbehave at one step of
// their conversation, programs that write to topics what nobody wrote, and
// another account of the same machine, and then look at what became of a good
// source beside them. It is run by make test-hostile, which also runs the tests
// of other packages for what was once found from outside. Each finding, and the
// tests that fail on a program that has it:
//
//	A1  a long text poisons the outbox            TestLongTexts; publish, pg
//	A2  any local account ends or empties it      TestAnotherAccount; internal/engine
//	A3  a slow server stops every centre          TestSlowServersDelayNobody, TestConversations
//	A4  memory without bound                      TestEndlessTalk
//	A5  a position taken twice                    TestForgedPositions; internal/chain, insert, restore
//	A6  centres are not separated                 TestAnotherCentresFiles; poll
//	A7  claimed sizes reserve the disk            TestClaimsTakeNoRoom
//	A8  an odd entry stops its source             TestOddEntries
//	A9  a damaged blob can't be healed            test/e2e TestDamagedBlobsHeal; internal/blob, unzip, validate
//	A10 events that stop a stage                  TestHostileTextsStopNothing, TestTopics, TestEveryStopHasAWayOn; tracker, sequence, plan, schemas
//	A11 outputs and readers                       queries/report TestCSVCells…, TestOutputs…, TestTheReadersLimits; chdb
//	B1  announcements that vanish                 TestAnnouncements; poll
//	B2  rows that say too little                  sequence, tracker, download, insert
//	B3  ignored names are kept nowhere            TestIgnoredNamesAreVisible
//	B4  suspension and overruns never happen      TestSourcesThatRest; schedule
//	B5  an emptied base makes everything gone     TestEmptiedBase
//	B6  an axis with one point                    queries/plot TestOneMoment
//	D4  readers that want more than to read       internal/engine/pgdoor TestAReaderOnlyReads, TestHostileConversations
//	C1  a marker at a log's end hangs readers     internal/kafka, topics, restore, replay, insert
//	C2  rebuilds lose rights                      tracker, insert TestRebuildKeeps…
//	C3  unknown schemes open a directory          TestUnknownSchemes
//	C4  restore does not see members              recovery/restore TestMembersAreSeenWithoutControl
//	C5  a verification looks like a kill          insert TestAMemberKnowsAVerification
//	C6  an unknown centre is answered by nothing  queries/report TestWhatIsNotKnown
//	C7  a library's words                         internal/xsdcheck TestTheEnginesWords
package hostile
