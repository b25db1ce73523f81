package plugins

// This file holds the reading ahead: while a pass folds messages, a goroutine of its own reads the next ones from the store, decodes them and
// makes of them what guests see. It ends before the pass does.

import (
	"context"
	"iter"
	"sync"

	"plexus/graph"
)

// given is a message on its way into folds.
type given struct {
	key    graph.Key
	m      graph.Message
	ok     bool   // it is one that plugins see
	typ    string // m.Type()
	wanted bool   // a plugin of the pass may take it
	cbor   portable
}

// chunk is messages that are handed over together.
type chunk struct {
	list []given
	buf  []byte // where their texts lie
	err  error  // behind the list
}

// audience is what the plugins of a pass take.
type audience struct {
	types   map[string]bool
	replies bool // to messages without a type
}

func audienceOf(slots []*slot) audience {
	a := audience{types: map[string]bool{}}
	for _, s := range slots {
		for t := range s.plugin().accepts {
			a.types[t] = true
		}
		a.replies = a.replies || s.plugin().plugin.Replies
	}
	return a
}

func (a audience) takes(typ string) bool { return a.types[typ] || typ == "" && a.replies }

// reader reads ahead. Its names are its goroutine's; between two passes there is none.
type reader struct{ names names }

// ahead yields the visible messages of a Space with lo ≤ key < hi, at most so many (below zero: all). What it yields is the caller's until the next.
func (r *reader) ahead(ctx context.Context, space *graph.Space, lo, hi graph.Key, most int, to audience) iter.Seq2[*given, error] {
	return func(yield func(*given, error) bool) {
		if r.names == nil {
			r.names = names{}
		}
		reading, cancel := context.WithCancel(ctx)
		full, empty := make(chan *chunk, aheadChunks), make(chan *chunk, aheadChunks+2)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(full)
			r.read(reading, job{space.Range(reading, lo, hi), most, to}, full, empty)
		})
		defer wg.Wait()
		defer cancel()
		for c := range full {
			for i := range c.list {
				if !yield(&c.list[i], nil) {
					return
				}
			}
			if c.err != nil {
				yield(nil, c.err)
				return
			}
			empty <- c
		}
		if err := ctx.Err(); err != nil { // the reader may have ended for that without a word
			yield(nil, err)
		}
	}
}

// job is what is to be read.
type job struct {
	entries iter.Seq2[*graph.Entry, error]
	most    int
	to      audience
}

// read fills chunks and sends them, until all is read, an error was sent or ctx has ended.
func (r *reader) read(ctx context.Context, j job, full chan<- *chunk, empty <-chan *chunk) {
	c, size := new(chunk), aheadFirst
	send := func() bool {
		select {
		case full <- c:
		case <-ctx.Done():
			return false
		}
		select {
		case c = <-empty:
			*c = chunk{list: c.list[:0], buf: c.buf[:0]}
		default:
			c = new(chunk)
		}
		size = min(2*size, aheadMessages)
		return true
	}
	for e, err := range j.entries {
		if j.most == 0 {
			break
		}
		j.most--
		if err == nil {
			err = r.add(c, e, j.to)
		}
		c.err = err
		if (err != nil || len(c.list) >= size || len(c.buf) >= aheadBytes) && (!send() || err != nil) {
			return
		}
	}
	if len(c.list) > 0 {
		send()
	}
}

// add decodes a message and, where somebody may take it, makes what guests see.
func (r *reader) add(c *chunk, e *graph.Entry, to audience) (err error) {
	g := given{key: keyOf(e)}
	if g.m, g.ok = e.Message(); g.ok {
		g.typ = g.m.Type()
		if g.wanted = to.takes(g.typ); g.wanted {
			c.buf, g.cbor, err = r.names.portable(c.buf, g.m, g.typ)
		}
	}
	c.list = append(c.list, g)
	return err
}
