package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"tributary/internal/engine/pgdoor"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/topics"
)

// ErrMembers says that members are at work.
var ErrMembers = errors.New("members are running")

// requireNoMembers fails if members are at work, whatever control says: where its schema was
// dropped, their leases went with it. They are known by their sessions in the
// database, and by the consumer groups that they are in.
func (r *Restorer) requireNoMembers(ctx context.Context) error {
	sessions, err := r.sessions(ctx, r.Pool)
	if err != nil {
		return err
	}
	groups, err := r.groups(ctx)
	if err != nil {
		return err
	}
	seen := slices.Concat(sessions, groups)
	if len(seen) == 0 {
		return nil
	}
	err = fmt.Errorf("%w: %s. Stop all members, and restore again; one that was killed is seen in its groups until kafka.session_timeout is over. "+
		"If you know that none is running, give --force and a --reason", ErrMembers, strings.Join(seen, ", "))
	if r.Force {
		r.Log.Warn("control is restored beside what looks like members", "error", err, "reason", r.Reason)
		return nil
	}
	return err
}

// sessions are those of members in control's database.
func (r *Restorer) sessions(ctx context.Context, q pg.Querier) ([]string, error) {
	// Who reads may call itself what it likes.
	return pg.List(ctx, q, "look for sessions of members", pgx.RowTo[string], `SELECT application_name || coalesce(' at ' || host(client_addr), '') || ' (' || count(*) || ' sessions in the database)' FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = ANY($1) AND usename <> ALL($2)
		GROUP BY application_name, client_addr ORDER BY 1`, r.Members, []string{report.ReaderRole, pgdoor.User})
}

// groups are the consumer groups of stages that have members.
func (r *Restorer) groups(ctx context.Context) ([]string, error) {
	client, err := r.Connect()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	listed, err := kadm.NewClient(client).ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for consumer groups: %w", err)
	}
	var out []string
	for _, topic := range topics.Catalogue() {
		for _, stage := range topic.ReadBy {
			g, ok := listed[kafka.GroupName(r.Prefix, stage)]
			text := "the consumer group " + g.Group
			if ok && g.State != "Empty" && g.State != "Dead" && !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out, nil
}
