package node

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestUnusedConnectionsAreClosed holds against http.Server's ConnState and shutdown: what had no request is closed, what had one isn't.
func TestUnusedConnectionsAreClosed(t *testing.T) {
	pipe := func() (server, client net.Conn) {
		server, client = net.Pipe()
		t.Cleanup(func() { _, _ = server.Close(), client.Close() })
		return server, client
	}
	closed := func(c net.Conn) bool {
		_ = c.SetReadDeadline(time.Now())
		_, err := c.Read(make([]byte, 1))
		return errors.Is(err, io.EOF)
	}
	var u unused
	fresh, freshPeer := pipe()
	used, usedPeer := pipe()
	late, latePeer := pipe()
	u.state(fresh, http.StateNew)
	u.state(used, http.StateNew)
	u.state(used, http.StateActive)
	u.state(used, http.StateIdle)
	u.close()
	u.state(late, http.StateNew)
	if !closed(freshPeer) || closed(usedPeer) || !closed(latePeer) {
		t.Errorf("closed: new %t, used %t, new while stopping %t", closed(freshPeer), closed(usedPeer), closed(latePeer))
	}
}

// TestStopsBesideUnusedConnections stops a node on which somebody has opened a connection and said nothing.
func TestStopsBesideUnusedConnections(t *testing.T) {
	n := open(t, t.TempDir(), func(c *Config) { c.Listen = "127.0.0.1:0" })
	stop := run(t, n)
	c, err := net.Dial("tcp", n.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	eventually(t, "it serves", func() bool {
		r, err := http.Get(n.URL() + "/health")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection ends with %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
}
