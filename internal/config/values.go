package config

import "time"

// Duration is a time.Duration written as in Go: 30s, 5m, 1h30m.
type Duration time.Duration

// D is the plain duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Bytes is a number of bytes, written plain or with kB, MB, GB, KiB, MiB, GiB.
type Bytes int64

// Secret is a reference to a secret: env:NAME or file:PATH. Only the reference
// is ever logged, stored or published; Resolve reads the secret itself.
type Secret string
