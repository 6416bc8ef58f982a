package report

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// What went wrong with a request is told without its address, which holds all
// settings.
func TestAddressesAreLeftOut(t *testing.T) {
	err := explainedClickHouse(fmt.Errorf("query: %w", &url.Error{Op: "Post", URL: "http://localhost?readonly=1", Err: context.DeadlineExceeded}))
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "readonly") || !strings.Contains(err.Error(), "took too long") {
		t.Errorf("error is %v", err)
	}
}
