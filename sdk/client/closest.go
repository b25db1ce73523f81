package client

// This file holds the guess which name was meant, for hints.

import "plexus/sdk/abi"

// Closest returns the known name that a wrong one was probably meant to be, or "".
func Closest(wrong string, known []string) string { return abi.Closest(wrong, known) }
