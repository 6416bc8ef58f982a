package history_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/engine"
	"tributary/internal/engine/enginetest"
	"tributary/internal/storeversion"
	"tributary/internal/storewait"
	"tributary/sql/history"
)

func TestServerVersion(t *testing.T) {
	conn, err := engine.OpenClickHouse(enginetest.ClickHouse(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if version, err := history.ServerVersion(t.Context(), conn); err != nil || version == "" {
		t.Errorf("the engine's version: %q, %v", version, err)
	}
}

// A ClickHouse that does not understand the client's first words, as 18.16
// answers them by HTTP, is too old, and nothing is made in it.
func TestMigrateRefusesAnOldServer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintln(w, "Code: 115, e.displayText() = DB::Exception: Unknown setting client_protocol_version, e.what() = DB::Exception")
	}))
	defer s.Close()
	open := func(database string) (driver.Conn, error) { return engine.OpenClickHouse(s.URL, database) }
	err := history.Migrate(t.Context(), open, "tributary")
	var old *storeversion.TooOldError
	if !errors.As(err, &old) || old.Requirement.Server != "ClickHouse" {
		t.Errorf("a server of before: %v", err)
	}
}

// A ClickHouse that dies while it is asked is away, and not too old.
func TestAServerThatDiesIsNotTooOld(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	conn, err := engine.OpenClickHouse(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err = history.ServerVersion(t.Context(), conn); err == nil || !storewait.Away(err) {
		t.Errorf("a server that dies: %v", err)
	}
}
