package client

// This file holds the Client and how it makes one HTTP request: address, proof of who asks, retries, answers.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// DefaultURL is where a daemon listens unless told otherwise.
const DefaultURL = "http://127.0.0.1:8765"

// Client talks to one daemon. The zero value talks to DefaultURL without proof of who it is. A Client may be used
// by several goroutines once its fields are set.
type Client struct {
	URL       string // "" is DefaultURL; an access key may stand in its user part: http://KEY@host:port
	Token     string // owns one Node; sent as Authorization: Bearer
	AccessKey string // the host's key, for registering Nodes and the admin calls; sent as X-Access-Key
	NodeID    string // the Token's Node; "" lets the daemon say who that is

	// HTTP makes the requests; nil is a client of its own without a total timeout (streams live long).
	HTTP *http.Client

	// RetryFor is how long calls go on trying while the daemon can't be reached: a restart goes unseen. 0 fails at
	// once when nobody listens; a connection lost in mid-request is tried again either way, where that is safe.
	RetryFor time.Duration

	once sync.Once // guards the three below
	base string    // URL without user part and last slash
	key  string
	err  error
}

// sharedHTTP serves Clients without one of their own. Proxies are left out: a daemon is on loopback or named.
var sharedHTTP = &http.Client{Transport: &http.Transport{
	DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
	MaxIdleConnsPerHost: maxIdle,
	IdleConnTimeout:     idleTimeout,
	Proxy:               http.ProxyFromEnvironment,
	ForceAttemptHTTP2:   true,
}}

func (c *Client) setup() error {
	c.once.Do(func() {
		raw := c.URL
		if raw == "" {
			raw = DefaultURL
		}
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			c.err = &Error{
				Code: CodeInvalid, Detail: "the daemon's address is no http(s) URL",
				Hint: "give it as " + DefaultURL,
			}
			return
		}
		c.key = c.AccessKey
		if u.User != nil {
			if c.key == "" {
				c.key = u.User.Username()
			}
			u.User = nil
		}
		c.base = strings.TrimSuffix(u.String(), "/")
	})
	return c.err
}

// request is one call, kept so that it can be made again.
type request struct {
	method, path string // the path's parts are escaped already
	query        url.Values
	header       http.Header
	body         []byte    // sent again on a retry
	stream       io.Reader // sent once; then the call isn't retried
	replayable   bool      // making it twice does no more than once
}

// call makes the request until it is answered, and decodes the answer into out (nil: what it says is dropped).
func (c *Client) call(ctx context.Context, r request, out any) (http.Header, error) {
	var header http.Header
	err := c.try(ctx, r, func(resp *http.Response) error {
		header = resp.Header
		defer resp.Body.Close()
		if out == nil {
			_, err := io.Copy(io.Discard, resp.Body)
			return broken(ctx, err)
		}
		return broken(ctx, json.NewDecoder(resp.Body).Decode(out))
	})
	return header, err
}

// try makes the request and hands an answer of the 200s to read, again and again where that is safe and useful.
func (c *Client) try(ctx context.Context, r request, read func(*http.Response) error) error {
	if err := c.setup(); err != nil {
		return err
	}
	end := time.Now().Add(c.RetryFor)
	for n := 0; ; n++ {
		resp, err := c.send(ctx, r)
		if err == nil {
			err = read(resp)
		}
		if err == nil || !c.again(err, r, n, end) || pause(ctx, n) != nil {
			return err
		}
	}
}

// again says whether the nth failure is worth another try. What was refused at the door was never done, so anything
// may be asked again; a connection lost later leaves it open, so only what is replayable may.
func (c *Client) again(err error, r request, n int, end time.Time) bool {
	if r.stream != nil {
		return false
	}
	waiting := time.Now().Before(end)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), IsCode(err, CodeUnavailable):
		return waiting
	case IsUnreachable(err):
		return r.replayable && (waiting || n+1 < minTries)
	}
	return false
}

// send makes the request once.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	body := r.stream
	if body == nil && r.body != nil {
		body = bytes.NewReader(r.body)
	}
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	c.prove(req)
	resp, err := c.http().Do(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, problem(resp)
	}
	return resp, nil
}

func (c *Client) http() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return sharedHTTP
}

func (c *Client) prove(req *http.Request) {
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.key != "" {
		req.Header.Set("X-Access-Key", c.key)
	}
	if req.Body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
}

// lost turns a transport error into an *Error that wraps it; the address in it bears no key.
func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return &Error{
			Code: CodeUnreachable, Detail: fmt.Sprintf("no daemon answers at %s: %v", c.base, err),
			Hint: "start it with: plexus up", cause: err,
		}
	}
	return &Error{
		Code: CodeUnreachable, Detail: fmt.Sprintf("the connection to %s was lost: %v", c.base, err),
		Hint: "try again; plexus status says whether the daemon runs", cause: err,
	}
}

// broken names an answer that ended early; nil stays nil.
func broken(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var syn *json.SyntaxError
	if errors.As(err, &syn) {
		return &Error{Code: CodeInternal, Detail: "the answer is no JSON: " + err.Error(), Hint: "is this a Plexus daemon?", cause: err}
	}
	return &Error{Code: CodeUnreachable, Detail: "the connection was lost: " + err.Error(), Hint: "try again", cause: err}
}

// pause waits before try n+1: 50 ms, doubled up to maxPause.
func pause(ctx context.Context, n int) error {
	t := time.NewTimer(min(firstPause<<min(n, 10), maxPause))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
