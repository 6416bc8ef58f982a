package control

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// relabel prepares for sources being stored in this transaction, which may change under which name their sessions are counted: whatever is outstanding of
// a source at the address where it will be is counted under the new name at once, and
// what is outstanding at another address stays as it is. No credit is given until the
// transaction ends.
//
// It comes before the revision is drawn. Whoever ends a poll or counts outcomes of
// jobs has locked their rows by then, and waits for the revision or the source.
func relabel(ctx context.Context, tx pgx.Tx, all []Source) error {
	if err := lockCredit(ctx, tx); err != nil {
		return err
	}
	var ids, servers, addresses []string
	for _, s := range all {
		ids, servers, addresses = append(ids, s.ID), append(servers, s.Server), append(addresses, cmp.Or(s.Address, s.Server))
	}
	// Polls come first, since one that is being recorded may take long, and sessions
	// after jobs, since who begins one holds its job's row until the session is seen.
	for _, of := range []struct{ table, key, open string }{{"poll", "id", "o.state = 'running'"}, {"job", "id", "true"}, {"job_session", "job", "true"}} {
		if _, err := tx.Exec(ctx, fmt.Sprintf(`UPDATE control.%[1]s o SET server = n.server, address = n.address
			FROM (SELECT o.%[2]s AS key, n.server, n.address FROM unnest($1::text[], $2::text[], $3::text[]) n(source, server, address)
				JOIN control.%[1]s o ON o.source = n.source AND coalesce(nullif(o.address, ''), o.server) = n.address AND o.server <> n.server AND %[3]s
				ORDER BY 1 FOR UPDATE OF o) n WHERE o.%[2]s = n.key`, of.table, of.key, of.open), ids, servers, addresses); err != nil {
			return fmt.Errorf("count what is outstanding under the new names of servers: %w", err)
		}
	}
	return nil
}
