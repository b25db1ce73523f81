package client

// This file holds the calls that need the host's access key: registering Nodes, invites, joining, verify, export.

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// Register makes a Node on the daemon's host and returns its token; in.AccessKey "" is the Client's. With a Token of
// an existing Node set and in.ID equal to that Node, it is returned instead.
func (c *Client) Register(ctx context.Context, in AuthRegister) (AuthResponse, error) {
	var out AuthResponse
	if err := c.setup(); err != nil {
		return out, err
	}
	if in.AccessKey == "" {
		in.AccessKey = c.key
	}
	err := c.post(ctx, "/auth/register", in, &out, false)
	return out, err
}

// Health reports nil where a daemon answers.
func (c *Client) Health(ctx context.Context) error { return c.get(ctx, "/health", nil, nil) }

// Ready reports nil where the daemon serves.
func (c *Client) Ready(ctx context.Context) error { return c.get(ctx, "/ready", nil, nil) }

// Status says how the host is.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var out Status
	err := c.get(ctx, "/admin/status", nil, &out)
	return out, err
}

// Invite makes a ticket.
func (c *Client) Invite(ctx context.Context, in InviteCreate) (Invite, error) {
	var out Invite
	err := c.post(ctx, "/admin/invites", in, &out, false)
	return out, err
}

// Invites lists the tickets made, without their secrets.
func (c *Client) Invites(ctx context.Context) ([]Invite, error) {
	var out []Invite
	err := c.get(ctx, "/admin/invites", nil, &out)
	return out, err
}

// RevokeInvite ends a ticket.
func (c *Client) RevokeInvite(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/admin/invites/" + url.PathEscape(id), replayable: true}, nil)
	return err
}

// Revoke shuts a host or a Node out of the Network.
func (c *Client) Revoke(ctx context.Context, subject string) error {
	return c.post(ctx, "/admin/revoke", map[string]string{"subject": subject}, nil, true)
}

// Join makes the host a member of the ticket's Network.
func (c *Client) Join(ctx context.Context, ticket string) (JoinResult, error) {
	var out JoinResult
	err := c.post(ctx, "/admin/join", map[string]string{"ticket": ticket}, &out, false)
	return out, err
}

// SetOffline cuts the host off from all others, or lets it come back.
func (c *Client) SetOffline(ctx context.Context, offline bool) error {
	return c.post(ctx, "/admin/offline", map[string]bool{"offline": offline}, nil, true)
}

// Verify walks everything the host stores.
func (c *Client) Verify(ctx context.Context) (VerifyReport, error) {
	var out VerifyReport
	err := c.post(ctx, "/admin/verify", json.RawMessage("{}"), &out, true)
	return out, err
}

// Export writes a Space as a CAR file.
func (c *Client) Export(ctx context.Context, spaceID string, w io.Writer) error {
	r := request{method: http.MethodGet, path: "/admin/spaces/" + url.PathEscape(spaceID) + "/export"}
	return c.try(ctx, r, func(resp *http.Response) error {
		defer resp.Body.Close()
		_, err := io.Copy(w, resp.Body)
		return broken(ctx, err)
	})
}

// Import adds the entries of a CAR file.
func (c *Client) Import(ctx context.Context, r io.Reader) (ImportResult, error) {
	var out ImportResult
	_, err := c.call(ctx, request{
		method: http.MethodPost, path: "/admin/import", stream: r,
		header: http.Header{"Content-Type": {"application/vnd.ipld.car"}},
	}, &out)
	return out, err
}
