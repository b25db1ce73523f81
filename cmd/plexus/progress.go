package main

// This file holds what long transfers say meanwhile, on standard error.

import (
	"io"
	"time"
)

// progress counts bytes on their way and says so every progressEvery; short work says nothing.
type progress struct {
	*app
	what string
	n    int64
	next time.Time
}

func (a *app) progress(what string) *progress {
	return &progress{app: a, what: what, next: time.Now().Add(progressEvery)}
}

func (p *progress) add(n int) {
	p.n += int64(n)
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(progressEvery)
		p.note("%s: %.1f MB", p.what, float64(p.n)/1e6)
	}
}

// reader counts what is read through it.
func (p *progress) reader(r io.Reader) io.Reader { return counted{r: r, p: p} }

// writer counts what is written through it.
func (p *progress) writer(w io.Writer) io.Writer { return counted{w: w, p: p} }

type counted struct {
	r io.Reader
	w io.Writer
	p *progress
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.add(n)
	return n, err
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.p.add(n)
	return n, err
}
