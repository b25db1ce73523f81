package p2p

// This file holds what can be wrong with a ticket or a join. Each wraps one of graph's sentinels, by which the layers
// above choose status and exit codes; the text says what to do next.

import (
	"fmt"

	"plexus/graph"
)

// The ways a join ends badly.
var (
	ErrTicket        = fmt.Errorf("%w: not a valid ticket", graph.ErrInvalid)
	ErrTicketUnknown = fmt.Errorf("%w: the inviter doesn't know this ticket; ask for a new one", graph.ErrForbidden)
	ErrTicketExpired = fmt.Errorf("%w: the ticket has expired; ask for a new one", graph.ErrForbidden)
	ErrTicketUsedUp  = fmt.Errorf("%w: the ticket has been used up; ask for a new one", graph.ErrForbidden)
	ErrTicketRevoked = fmt.Errorf("%w: the ticket was revoked; ask for a new one", graph.ErrForbidden)
	ErrShutOut       = fmt.Errorf("%w: this host's key was revoked in that network and never comes back; start with a new data dir", graph.ErrForbidden)
	ErrNoAdmin       = fmt.Errorf("%w: the inviter is no longer an admin and can't let anyone in; ask another admin for a ticket", graph.ErrForbidden)
	ErrBusy          = fmt.Errorf("%w: the inviter takes no more joins just now; try again in a minute", graph.ErrUnavailable)
	ErrUnreachable   = fmt.Errorf("%w: the inviter can't be reached; see that it runs (plexus status there) and that a network connects you", graph.ErrUnavailable)
)
