// Package examples has no code of its own: each directory below is a scenario that runs by itself, `go run ./examples/NAME`. Its tests
// run them as a newcomer would.
package examples
