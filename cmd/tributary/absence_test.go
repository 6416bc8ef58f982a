//go:build !race

package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/queries/absence"
)

// What was dropped under a system that has run is told apart from what never
// was, and from names that people have mistyped.
func TestAbsence(t *testing.T) {
	cfg := config.Default()
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	t.Setenv("TEST_POSTGRES", enginetest.Postgres(t))
	cfg.Postgres.URL = "env:TEST_POSTGRES"
	s, err := openStores(t.Context(), cfg, slog.New(slog.DiscardHandler), need{Postgres: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, x := range []struct {
		schemas          string // that are made before
		asked, statement string
		want, not        string
	}{
		{"", "", "SELECT FROM tracker.file", "nothing is there yet: run tributary up: ", ""},
		{"", storeWarehouse, "SELECT FROM document", "nothing is there yet: run tributary up: ", ""},
		{"", storeTracker, "SELECT FROM others.file", "", "run"},
		{"control", "", "SELECT FROM tracker.file", "the schema tracker is not there, though Tributary has run here (found: control): tributary tracker rebuild makes it anew from the log: ", "run tributary up"},
		{"warehouse", storeTracker, "SELECT FROM file", "(found: control, warehouse): tributary tracker rebuild", ""},
		{"", "", "SELECT FROM warehouse.nosuch", `relation "warehouse.nosuch" does not exist`, "run"},
		{"", storeWarehouse, "SELECT FROM nosuch", `relation "nosuch" does not exist`, "run"},
		{"", "", "CREATE TABLE tracker.file ()", "tributary tracker rebuild", ""},
	} {
		for schema := range strings.FieldsSeq(x.schemas) {
			if _, err := s.Control.Exec(t.Context(), "CREATE SCHEMA "+schema); err != nil {
				t.Fatal(err)
			}
		}
		s.asked = x.asked
		_, err := s.Control.Exec(t.Context(), x.statement)
		err = s.explainAbsence(t.Context(), cfg, err)
		if err == nil || !strings.Contains(err.Error(), x.want) || x.not != "" && strings.Contains(err.Error(), x.not) {
			t.Errorf("%s of %q: %v; want %q and not %q", x.statement, x.asked, err, x.want, x.not)
		}
	}
}

// An engine that has lost its files says so in its own words only.
func TestLostFilesAreExplained(t *testing.T) {
	err := (&stores{}).explainAbsence(t.Context(), config.Default(), fmt.Errorf("verify: %w", &clickhouse.Exception{Code: absence.LostFile, Message: "Cannot open file /x/data.bin"}))
	if err == nil || !strings.Contains(err.Error(), "then run tributary history rebuild") || !strings.Contains(err.Error(), "data.bin") {
		t.Errorf("error is %v", err)
	}
}

// Only the configured database of the history is said to be made by up: any
// other that is not there was mistyped.
func TestAbsenceOfTheHistory(t *testing.T) {
	endpoint := enginetest.ClickHouse(t)
	there, nowhere := enginetest.Database(t, endpoint), "nowhere_"+enginetest.Name()
	for _, x := range []struct {
		configured, table string
		yet               bool
	}{
		{nowhere, "x", true},
		{nowhere, nowhere + ".x", true},
		{there, "nosuch.x", false},
		{there, "x", false},
	} {
		cfg := config.Default()
		cfg.ClickHouse.Database = x.configured
		conn, err := engine.OpenClickHouse(endpoint, x.configured)
		if err != nil {
			t.Fatal(err)
		}
		err = (&stores{}).explainAbsence(t.Context(), cfg, conn.Exec(t.Context(), "SELECT * FROM "+x.table))
		if err == nil || strings.Contains(err.Error(), "there is no history yet: run tributary up") != x.yet {
			t.Errorf("%s, where %s is configured: %v", x.table, x.configured, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
