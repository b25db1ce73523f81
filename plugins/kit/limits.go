package kit

// This file holds the bounds of what is tried.

const (
	Orders = 50  // random topological orders a test delivers: enough that each pair of concurrent messages comes both ways round
	Fuzzed = 400 // messages with contents made up

	maxMessages = 10_000 // of a trace: it is run by whoever installs the plugin
	maxTrace    = 1 << 20
	raceVotes   = 100  // messages of a poll in a race
	raceVoters  = 50   // who vote in it
	raceBatch   = 1000 // entries added at once
	fuzzers     = 64   // authors of made-up messages: few enough to speak twice, enough to be concurrent
)
