package node

// This file holds the words a person reads; ioa-http.md's answers stand here once.

import (
	"fmt"

	"plexus/graph"
	"plexus/node/api"
)

const shown = 128 // bytes of a caller's text that are said back

func clip(s string) string { return fmt.Sprintf("%.*s", shown, s) }

func notFound(what, id string) error {
	return &api.Fault{Kind: graph.ErrNotFound, Detail: fmt.Sprintf("%s '%s' not found", what, clip(id))}
}

func messageNotFound(id, space string) error {
	return &api.Fault{Kind: graph.ErrNotFound, Detail: fmt.Sprintf("Message '%s' not found in space '%s'", clip(id), space)}
}

func invalid(format string, a ...any) error {
	return &api.Fault{Kind: graph.ErrInvalid, Detail: fmt.Sprintf(format, a...)}
}

func conflict(format string, a ...any) error {
	return &api.Fault{Kind: graph.ErrConflict, Detail: fmt.Sprintf(format, a...)}
}

func forbidden(hint, format string, a ...any) error {
	return &api.Fault{Kind: graph.ErrForbidden, Detail: fmt.Sprintf(format, a...), Hint: hint}
}

func afterNotFound(id, space string) error {
	if space == "" {
		return invalid("after: '%s' not found", clip(id))
	}
	return invalid("after: '%s' not found in space '%s'", clip(id), space)
}
