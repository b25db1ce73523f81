package access

// This file holds every bound of the package, with its reason. Each is tested at its edge.

const (
	MaxUses      = 10_000 // hosts one invite may admit: a ticket meant for more is a mistake
	MaxCutSpaces = 1024   // Spaces one statement may cut: more won't fit a payload with their authors
	MaxCutNodes  = 4096   // authors named in one statement, over all its Spaces; the payload's size binds earlier
)
