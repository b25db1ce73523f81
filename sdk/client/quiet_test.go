package client

// This file tests, in virtual time, a stream that has died without a word.

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// mute is a transport whose first stream says one thing and then nothing, not even a keepalive.
type mute struct{ asked []string }

func (m *mute) RoundTrip(r *http.Request) (*http.Response, error) {
	m.asked = append(m.asked, r.Header.Get("Last-Event-ID"))
	var body io.Reader = strings.NewReader("id: m2\ndata: {\"id\":\"m2\"}\n\n")
	if len(m.asked) == 1 {
		body = io.MultiReader(strings.NewReader("id: m1\ndata: {\"id\":\"m1\"}\n\n"), silence{r.Context()})
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Header: http.Header{}, Request: r}, nil
}

type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func TestSilentStreamIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mute{}
		c := &Client{HTTP: &http.Client{Transport: m}}
		began := time.Now()
		n := 0
		for ev, err := range c.Listen(t.Context(), ListenQuery{SpaceID: "s"}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; ev.Message.ID == "m2" {
				break
			}
		}
		if n != 2 || m.asked[1] != "m1" {
			t.Errorf("%d events, asked after %v", n, m.asked)
		}
		if took := time.Since(began); took < quietFor || took > quietFor+2*firstPause {
			t.Errorf("took %s, want %s", took, quietFor)
		}
	})
}
