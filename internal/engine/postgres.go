package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"tributary/internal/engine/broker"
	"tributary/internal/engine/install"
	"tributary/internal/engine/pgdoor"
	"tributary/internal/engine/postgres"
)

// chooseAccount finds out whom Postgres is to run as, which decides who must
// be able to get through the directories.
func chooseAccount(o Options) (*postgres.Account, error) {
	if !o.Postgres {
		return postgres.Self(), nil
	}
	return postgres.ChooseAccount(filepath.Join(o.DataDir, "postgres"))
}

func (e *Engines) startPostgres(ctx context.Context, o Options, found install.Found) error {
	data := filepath.Join(o.DataDir, "postgres")
	bin, err := choosePostgres(data, found)
	if err != nil {
		return err
	}
	s := postgres.New(postgres.Options{
		DataDir: data, SocketDir: filepath.Join(e.run, "pg"), BinDir: bin, NoSync: o.NoSync, Logger: o.Logger,
		Account: e.account, Password: e.secrets["postgres"], PasswordRole: passwordRole(o),
	})
	if err := s.Start(ctx); err != nil {
		return err
	}
	e.postgres = s
	e.endpoints.Postgres = s.DSN(postgres.Name)
	return e.openDoor(ctx, o)
}

// passwordRole is the role that others come in as, if they may.
func passwordRole(o Options) string {
	if o.PostgresAddr == "" {
		return ""
	}
	return pgdoor.User
}

// openDoor lets others read Postgres where that is configured.
func (e *Engines) openDoor(ctx context.Context, o Options) (err error) {
	if o.PostgresAddr == "" {
		return nil
	}
	dsn, password := e.endpoints.Postgres, e.secrets[secretPostgresReader]
	if e.door, err = pgdoor.Open(ctx, pgdoor.Options{
		Addr: o.PostgresAddr, Socket: filepath.Join(e.run, "pg", ".s.PGSQL.5432"), DSN: dsn, Database: postgres.Name, Role: o.PostgresRole,
		Prepare:  func(ctx context.Context) error { return o.PreparePostgresRole(ctx, dsn) },
		Password: password, Logger: o.Logger,
	}); err != nil {
		return err
	}
	at := e.door.Addr()
	e.endpoints.PostgresListener = &Listener{Address: at, Mechanism: broker.Mechanism, Database: postgres.Name, Users: map[string]string{pgdoor.User: password}}
	o.Logger.Info("the embedded Postgres can be read by who logs in as reader, whose password is in engines.json", "address", at)
	return nil
}

// choosePostgres returns the programs to run a cluster with: only the version
// that made it can.
func choosePostgres(data string, found install.Found) (bin string, err error) {
	if len(found.Postgres) == 0 {
		return "", fmt.Errorf("Postgres %d or newer is not installed: run tributary engines fetch (or make engines), "+
			"or install it with the system's packages; looked in %v besides", install.MinPostgres, found.Searched)
	}
	made, err := postgres.Version(data)
	if err != nil {
		return "", err
	}
	if made == "" {
		return found.Postgres[0].BinDir, nil
	}
	var have []int
	for _, pg := range found.Postgres {
		if fmt.Sprint(pg.Major) == made {
			return pg.BinDir, nil
		}
		have = append(have, pg.Major)
	}
	return "", fmt.Errorf("%s was made by Postgres %s, and only %v is installed: install Postgres %s again, "+
		"or upgrade the directory with pg_upgrade", data, made, have, made)
}
