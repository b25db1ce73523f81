package abi

// This file holds the guess which name was meant.

import "strings"

// Closest returns the known name that a wrong one was probably meant to be, or "": one that is at most a third of its letters away, or that it begins.
func Closest(wrong string, known []string) string {
	wrong = strings.ToLower(wrong)
	best, least := "", len(wrong)/3+1
	if len(wrong) > maxGuessed {
		return ""
	}
	for _, name := range known {
		d := distance(wrong, strings.ToLower(name))
		if len(wrong) >= 3 && strings.HasPrefix(strings.ToLower(name), wrong) {
			d = min(d, 1)
		}
		if d < least || d == least && best == "" && d < len(wrong) {
			best, least = name, d
		}
	}
	return best
}

const maxGuessed = 64 // bytes of a name worth a guess: the cost is the product of both lengths

// distance counts the letters to put in, take out, change or swap with the next.
func distance(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
