package chdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Dial returns a client for an endpoint: "unix:/path/of.sock" for the embedded
// engine, or a server's address as clickhouse-go writes it, for example
// clickhouse://user:password@host:9000/database or https://user:password@host:8443.
// If database is not empty it replaces the address's. Nothing is sent yet.
func Dial(endpoint, database string) (driver.Conn, error) {
	if endpoint == "" {
		return nil, errors.New("no ClickHouse: give an address, or run the embedded one")
	}
	o, err := dialOptions(endpoint)
	if err != nil {
		return nil, err
	}
	if database != "" {
		o.Auth.Database = database
	}
	conn, err := clickhouse.Open(o)
	if err != nil {
		return nil, fmt.Errorf("ClickHouse at %s: %w", redact(endpoint), err)
	}
	return conn, nil
}

func dialOptions(endpoint string) (*clickhouse.Options, error) {
	socket, ok := strings.CutPrefix(endpoint, "unix:")
	if !ok {
		return serverOptions(endpoint)
	}
	return &clickhouse.Options{
		Protocol: clickhouse.HTTP,
		Addr:     []string{"localhost"}, // any name: DialContext decides
		DialContext: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
		DialTimeout:     10 * time.Second,
		MaxOpenConns:    8,
		MaxIdleConns:    8,
		ConnMaxLifetime: time.Hour,
	}, nil
}

// serverOptions reads the address of a server.
func serverOptions(endpoint string) (*clickhouse.Options, error) {
	// The text may hold a password, so causes, which quote it, are not shown.
	unreadable := fmt.Errorf("ClickHouse's address %s can't be read: write it as clickhouse://user:password@host:9000/database", redact(endpoint))
	scheme, _, _ := strings.Cut(endpoint, "://")
	switch scheme {
	case "clickhouse", "tcp", "http":
	case "https":
		// The client wants to be told twice.
		u, err := url.Parse(endpoint)
		if err != nil {
			return nil, unreadable
		}
		q := u.Query()
		q.Set("secure", "true")
		u.RawQuery = q.Encode()
		endpoint = u.String()
	default:
		return nil, unreadable
	}
	o, err := clickhouse.ParseDSN(endpoint)
	if err != nil {
		return nil, unreadable
	}
	return o, nil
}

// redact leaves of an address what may be shown.
func redact(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "(given)"
	}
	return u.Scheme + "://" + u.Host
}
