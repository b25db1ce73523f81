// Package conformance is the suite's cases as files, for the binary to carry. README.md says what they mean.
package conformance

import "embed"

// Files are the suites: JSON, one file each.
//
//go:embed *.json
var Files embed.FS
