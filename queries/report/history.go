package report

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// HistoryPosition tells how much the history holds, as digits: others whenever events
// have come. It costs next to nothing, whatever the history holds.
func HistoryPosition(ctx context.Context, conn driver.Conn) (string, error) {
	var rows uint64
	if err := conn.QueryRow(ctx, "SELECT count() FROM event").Scan(&rows); err != nil {
		return "", fmt.Errorf("read how much the history holds: %w", err)
	}
	return strconv.FormatUint(rows, 10), nil
}
