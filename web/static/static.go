// Package static holds what pages are shown with: style sheet, script, icon.
package static

import "embed"

// Files are served as they are.
//
//go:embed *.css *.js *.svg
var Files embed.FS
