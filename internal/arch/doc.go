// Package arch is the law of the house, as a test: which package may import which, what from outside may appear where,
// and who may start a goroutine. It has no code of its own.
package arch
