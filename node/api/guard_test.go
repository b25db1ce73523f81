package api_test

// This file tests that pages of other origins are kept out.

import (
	"testing"

	"plexus/node/api"
)

func TestHostAndOrigin(t *testing.T) {
	w := open(t, func(c *api.Config) { c.Hosts = []string{"plexus.example", "10.0.0.7:8765"} })
	for _, c := range []struct {
		header, value string
		ok            bool
	}{
		{"Host", "localhost", true},
		{"Host", "LOCALHOST:8765", true},
		{"Host", "localhost.:8765", true},
		{"Host", "127.0.0.1:9", true},
		{"Host", "127.8.8.8", true},
		{"Host", "[::1]:8765", true},
		{"Host", "[::1]", true},
		{"Host", "plexus.example", true},
		{"Host", "plexus.example:8765", true},
		{"Host", "10.0.0.7:8765", true},
		{"Host", "evil.example", false},
		{"Host", "localhost.evil.example", false},
		{"Host", "127.0.0.1.evil.example:8765", false},
		{"Host", "10.0.0.8", false},
		{"Host", "0.0.0.0:8765", false},
		{"Host", "evil.example:8765", false},
		{"Origin", "http://localhost:3000", true},
		{"Origin", "http://127.0.0.1:8765", true},
		{"Origin", "http://[::1]:8765", true},
		{"Origin", "https://plexus.example", true},
		{"Origin", "http://evil.example", false},
		{"Origin", "http://localhost.evil.example", false},
		{"Origin", "http://localhost@evil.example", false},
		{"Origin", "null", false},
		{"Origin", "", false},
		{"Origin", "file://", false},
		{"Origin", "http://evil.example:8765", false},
	} {
		r := w.do("GET", "/health", "", c.header, c.value)
		if c.ok && r.status != 200 {
			t.Errorf("%s %q: %d %s", c.header, c.value, r.status, r.body)
		}
		if !c.ok {
			wantProblem(t, r, 403, "")
		}
	}
	for _, path := range []string{"/spaces", "/mcp", "/openapi.json", "/nothing"} {
		wantProblem(t, w.do("POST", path, "{}", "Host", "evil.example"), 403, "host 'evil.example' is not served here")
		wantProblem(t, w.do("POST", path, "{}", "Origin", "http://evil.example"), 403, "origin 'http://evil.example' is not allowed")
	}
}
