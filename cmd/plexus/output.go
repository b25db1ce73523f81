package main

// This file holds the printing contract: stdout is payload, stderr the rest; text for people, JSON for programs, JSON
// Lines only with --stream; every error has a code, a hint and an exit code.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"plexus/graph"
	"plexus/sdk/client"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2 // wrong use, invalid input
	exitUnreachable = 3 // no daemon
	exitAuth        = 4
	exitTimeout     = 5
)

// print writes v as JSON, or as text the way the verb says.
func (a *app) print(v any, text func(io.Writer)) error {
	if a.output == "json" {
		return a.printJSON(v)
	}
	text(a.out)
	return nil
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if !a.stream {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

// printAll writes a list: text line by line, one JSON array, or with --stream a JSON document a line.
func printAll[T any](a *app, items []T, text func(io.Writer, T)) error {
	switch {
	case a.stream:
		for _, it := range items {
			if err := a.printJSON(it); err != nil {
				return err
			}
		}
	case a.output == "json":
		if items == nil {
			items = []T{}
		}
		return a.printJSON(items)
	default:
		for _, it := range items {
			text(a.out, it)
		}
	}
	return nil
}

// streamFlag gives a verb --stream.
func (a *app) streamFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.stream, "stream", false, "print JSON Lines, one document a line")
}

// note tells the person something that is no payload.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.err, format+"\n", args...)
}

// fail prints err and returns its exit code.
func (a *app) fail(err error) int {
	e := asError(err)
	if a.output == "json" || a.stream {
		var out struct {
			Error struct {
				Code    string `json:"code"`
				Message string `json:"message"`
				Hint    string `json:"hint,omitempty"`
			} `json:"error"`
		}
		out.Error.Code, out.Error.Message, out.Error.Hint = e.Code, e.Detail, e.Hint
		enc := json.NewEncoder(a.err)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(out)
	} else {
		a.note("plexus: %s", plain(e.Detail))
		if e.Hint != "" {
			a.note("hint: %s", plain(e.Hint))
		}
	}
	return exitCode(e.Code)
}

// asError gives any error its code.
func asError(err error) *client.Error {
	var e *client.Error
	if errors.As(err, &e) {
		if prefix, ok := strings.CutSuffix(err.Error(), e.Detail); ok && prefix != "" {
			c := *e
			c.Detail = err.Error()
			return &c
		}
		return e
	}
	code := client.CodeInternal
	for _, row := range []struct {
		is   error
		code string
	}{
		{context.DeadlineExceeded, client.CodeTimeout},
		{graph.ErrInvalid, client.CodeInvalid},
		{graph.ErrUnauthorized, client.CodeUnauthorized},
		{graph.ErrForbidden, client.CodeForbidden},
		{graph.ErrTooLarge, client.CodeTooLarge},
		{graph.ErrNotFound, client.CodeNotFound},
		{graph.ErrConflict, client.CodeConflict},
		{graph.ErrClosed, client.CodeUnavailable},
		{graph.ErrUnavailable, client.CodeUnavailable},
	} {
		if errors.Is(err, row.is) {
			code = row.code
			break
		}
	}
	return &client.Error{Code: code, Detail: withoutSentinel(err.Error())}
}

// withoutSentinel takes the names of codes out of a text for people.
func withoutSentinel(s string) string {
	for _, sentinel := range []error{
		graph.ErrInvalid, graph.ErrNotFound, graph.ErrConflict, graph.ErrUnavailable, graph.ErrForbidden, graph.ErrUnauthorized, graph.ErrTooLarge,
	} {
		s = strings.TrimSuffix(s, ": "+sentinel.Error())
		s = strings.Replace(s, ": "+sentinel.Error()+": ", ": ", 1)
		s = strings.TrimPrefix(s, sentinel.Error()+": ")
	}
	return s
}

func exitCode(code string) int {
	switch code {
	case client.CodeInvalid, client.CodeTooLarge:
		return exitUsage
	case client.CodeUnreachable, client.CodeUnavailable:
		return exitUnreachable
	case client.CodeUnauthorized, client.CodeForbidden:
		return exitAuth
	case client.CodeTimeout:
		return exitTimeout
	}
	return exitFailure
}

// wrongUse is an error of the command line, exit 2.
func wrongUse(hint, format string, args ...any) error {
	return &client.Error{Code: client.CodeInvalid, Detail: fmt.Sprintf(format, args...), Hint: hint}
}

// usageError is what cobra says about unknown verbs, flags and numbers of arguments.
func usageError(err error, path string) error {
	var e *client.Error
	if errors.As(err, &e) {
		return err
	}
	return wrongUse(path+" --help shows how", "%s", firstLine(err.Error()))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// plain makes text that others wrote safe for a terminal: control characters become visible.
func plain(s string) string {
	bad := func(r rune) bool {
		return (unicode.IsControl(r) && r != '\n' && r != '\t') || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
	}
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if bad(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine is plain without line breaks, at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	r := []rune(s)
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
