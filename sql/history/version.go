package history

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/storeversion"
)

// unknownSetting is ClickHouse's code for a setting that it does not know.
const unknownSetting = 115

// ServerVersion asks a server for its version, and refuses one that is too old
// with a *storeversion.TooOldError. One that is asked by HTTP and is too old for
// the client's first words can't say which version it is: it complains of them. So
// it does in no other error, though the address that was asked has these words, too.
func ServerVersion(ctx context.Context, conn driver.Conn) (string, error) {
	var version string
	err := conn.QueryRow(ctx, "SELECT version()").Scan(&version)
	var refused *clickhouse.Exception
	switch {
	case errors.As(err, &refused) && refused.Code == unknownSetting && strings.Contains(refused.Message, "client_protocol_version"),
		err != nil && strings.Contains(err.Error(), "Unknown setting client_protocol_version"):
		return "", storeversion.ClickHouse().TooOld("", "22 or older")
	case err != nil:
		return "", fmt.Errorf("ask ClickHouse for its version: %w", err)
	}
	return version, storeversion.ClickHouse().Check("", version)
}
