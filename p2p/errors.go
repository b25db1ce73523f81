package p2p

// This file holds what can be wrong with a ticket or a join. Each wraps one of graph's sentinels, by which the layers
// above choose status and exit codes; the text says what to do next.

import (
	"fmt"

	"plexus/graph"
)

// The ways a join ends badly.
var (
	ErrTicket        = fmt.Errorf("not a valid ticket: %w", graph.ErrInvalid)
	ErrTicketUnknown = fmt.Errorf("the inviter doesn't know this ticket; ask for a new one: %w", graph.ErrForbidden)
	ErrTicketExpired = fmt.Errorf("the ticket has expired; ask for a new one: %w", graph.ErrForbidden)
	ErrTicketUsedUp  = fmt.Errorf("the ticket has been used up; ask for a new one: %w", graph.ErrForbidden)
	ErrTicketRevoked = fmt.Errorf("the ticket was revoked; ask for a new one: %w", graph.ErrForbidden)
	ErrShutOut       = fmt.Errorf("this host's key was revoked in that network and never comes back; start with a new data dir: %w", graph.ErrForbidden)
	ErrNoAdmin       = fmt.Errorf("the inviter is no longer an admin and can't let anyone in; ask another admin for a ticket: %w", graph.ErrForbidden)
	ErrBusy          = fmt.Errorf("the inviter takes no more joins just now; try again in a minute: %w", graph.ErrUnavailable)
	ErrUnreachable   = fmt.Errorf("the inviter can't be reached: %w", graph.ErrUnavailable)
)

// saying is one of the above with what was found. Its text ends in graph's sentinel, as theirs do.
type saying struct {
	is, kind error
	text     string
}

func (s *saying) Error() string { return s.text + ": " + s.kind.Error() }

func (s *saying) Unwrap() []error { return []error{s.is, s.kind} }

// badTicket is an ErrTicket that says what is wrong.
func badTicket(format string, args ...any) error {
	return &saying{ErrTicket, graph.ErrInvalid, "not a valid ticket: " + fmt.Sprintf(format, args...)}
}

// unreachable is an ErrUnreachable that says what was tried.
func unreachable(format string, args ...any) error {
	return &saying{
		ErrUnreachable, graph.ErrUnavailable,
		fmt.Sprintf("the inviter can't be reached (%s); see that it runs (plexus status there) and that a network connects you", fmt.Sprintf(format, args...)),
	}
}
