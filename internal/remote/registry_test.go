package remote

import (
	"context"
	"strings"
	"testing"
)

func TestUnknownSchemeOpensNothing(t *testing.T) {
	c := Config{}.WithDefaults()
	r := Registry{{Scheme: "file", Example: "file:///path", Dial: func(context.Context, Config, Target, func(string, string)) (Session, error) { return nil, nil }}}
	for _, scheme := range []string{"", "gopher", "FILE", "local"} {
		s, err := r.open(context.Background(), c, Target{Scheme: scheme, Base: t.TempDir()}, func(string, string) {})
		if s != nil || Exception(err) != "protocol_unknown" || !strings.Contains(err.Error(), "scheme") {
			t.Errorf("%q opens %v, error %v", scheme, s, err)
		}
	}
}
