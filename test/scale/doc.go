// Package scale holds the tests of what grows: control's statements on a
// database that knows very many hostings, and an outbox through which very many
// events go.
//
// The tests run the real roles on filled stores and look at what they cost:
// rows and pages, counted by Postgres, not times. They are skipped where
// Postgres is missing, and fail there instead if TRIBUTARY_REQUIRE_ENGINES is 1.
// Other variables: TRIBUTARY_SCALE_HOSTINGS, how many hostings control knows (a
// tenth of it is the number of files); TRIBUTARY_SCALE_LISTED, how many entries
// the listing shows that is compared with them; TRIBUTARY_SCALE_EVENTS, how many
// events go through the outbox; TRIBUTARY_SCALE_BACKLOG, how many files one source has
// while another has one; TRIBUTARY_SCALE_FLAT, how many files control knows in the table of
// what its statements take, which is written to TRIBUTARY_SCALE_PAGE. The same is done for insert and tracker in their own
// packages, where TRIBUTARY_SCALE_DOCUMENTS is how many documents there are. Pages and
// API are asked of a tracker with TRIBUTARY_SCALE_FILES files; with TRIBUTARY_PAGES_FILES
// and TRIBUTARY_PAGES_EVENTS each is compared with its slowest statement alone, which says
// more on a busy machine than a time does, and kept for another run in TRIBUTARY_TEST_DIR.
package scale
