package e2e

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine"
	"tributary/test/wait"
)

// connected is a connection to the Postgres that runs, kept for the next look: for one that
// is begun for each look Postgres makes a process, which plans all anew, and that takes the
// processor from what is waited for.
func (s *system) connected() (*pgx.Conn, error) {
	s.t.Helper()
	at, running, err := engine.Attach(s.data())
	if err != nil || !running || at.Postgres == "" {
		return nil, errors.Join(errors.New("no engines are running"), err)
	}
	// It may be of engines that have ended since.
	if s.conn != nil && s.conn.Config().ConnString() == at.Postgres && s.conn.Ping(s.t.Context()) == nil {
		return s.conn, nil
	}
	s.disconnect()
	if s.conn, err = pgx.Connect(s.t.Context(), at.Postgres); err != nil {
		return nil, err
	}
	s.t.Cleanup(s.disconnect)
	return s.conn, nil
}

func (s *system) disconnect() {
	if s.conn != nil {
		_ = s.conn.Close(context.Background()) // Postgres may have ended
		s.conn = nil
	}
}

// queried asks the running Postgres, without a command.
func queried[T any](s *system, query string) ([]T, error) {
	s.t.Helper()
	conn, err := s.connected()
	if err != nil {
		return nil, err
	}
	rows, err := conn.Query(s.t.Context(), query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

// control asks the schema control of engines that run until the answer is empty.
func (s *system) control(ask func(*pgx.Conn) string) {
	s.t.Helper()
	eventually(s.t, wait.Patience(), func() string {
		conn, err := s.connected()
		if err != nil {
			return err.Error()
		}
		return ask(conn)
	})
}
