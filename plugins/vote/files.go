//go:build !wasip1

package vote

// This file holds the sources as files, from which `plexus plugin new` makes a project.

import "embed"

// Files are the plugin's sources and what it says about itself.
//
//go:embed vote.go views.go vote_test.go manifest.json SKILL.md schema.json trace.json
var Files embed.FS
