package node

// This file holds what is the host's own: status, invites, joining, verify, export and import. Revoke is in network.go.

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"plexus/graph"
	"plexus/graph/access"
	"plexus/node/api"
	"plexus/p2p"
	"plexus/sdk/client"
)

// alone is what needs peers and has none.
func alone() error {
	return &api.Fault{Kind: graph.ErrUnavailable, Detail: "this node runs without peers", Hint: "start it without --no-p2p"}
}

// Status says how the host and its Spaces are.
func (n *Node) Status(ctx context.Context) (client.Status, error) {
	g := n.network()
	s := client.Status{
		Host: n.Host().String(), Network: g.ID.String(), Name: g.Name, Role: n.state().Role(n.Host()).String(),
		Version: n.cfg.Version, Addrs: []string{}, Uptime: n.cfg.Now().Sub(n.started).Seconds(),
		Spaces: []client.SpaceStatus{}, Peers: []client.PeerStatus{},
	}
	spaces, err := n.openSpaces()
	if err != nil {
		return s, err
	}
	for _, sp := range spaces {
		s.Spaces = append(s.Spaces, spaceStatus(sp))
	}
	for _, r := range n.plugins.Refusals() {
		s.Refused = append(s.Refused, client.RefusedPlugin(r))
	}
	if n.peers == nil {
		return s, ctx.Err()
	}
	if addrs := n.peers.Addrs(); addrs != nil {
		s.Addrs = addrs
	}
	s.Offline, s.ClockOff = n.peers.Offline(), clockText(n.peers.ClockOff())
	for _, p := range n.peers.Peers() {
		s.Peers = append(s.Peers, n.peerStatus(p))
	}
	s.Disagree = n.disagreements(graph.ID{})
	return s, ctx.Err()
}

func spaceStatus(sp *graph.Space) client.SpaceStatus {
	d := sp.Digest()
	parent, future, stranger := sp.HeldCounts()
	return client.SpaceStatus{
		ID: sp.ID().String(), Name: sp.Genesis().Name, Entries: d.Count, Messages: sp.Count(), Heads: len(sp.Heads()),
		Digest: hex.EncodeToString(d.Heads[:]), Waiting: parent + future + stranger, Forked: len(sp.Forks()),
	}
}

func (n *Node) peerStatus(p p2p.PeerStatus) client.PeerStatus {
	out := client.PeerStatus{
		ID: p.ID.String(), Connected: p.Connected, Role: p.Role, Addrs: p.Addrs,
		LatencyMS: float64(p.Latency.Microseconds()) / 1000, InSync: p.InSync,
	}
	if !p.LastSeen.IsZero() {
		out.LastSeen = graph.TimeOf(p.LastSeen).String()
	}
	for _, d := range p.Differ {
		out.Spaces = append(out.Spaces, client.PeerDiffer{Space: d.Space.String(), Missing: d.Missing, Ahead: d.Ahead})
	}
	return out
}

// clockText says in a sentence that our clock is off; "" while it is right as far as is known.
func clockText(c p2p.Clock) string {
	if c.Disagree == 0 {
		return ""
	}
	side := "behind"
	if c.Off < 0 {
		side = "ahead of"
	}
	s := fmt.Sprintf("this clock is %s %s the peers' (%d of %d disagree by more than %s)",
		c.Off.Abs().Round(time.Second), side, c.Disagree, c.Peers, graph.MaxFuture)
	if c.Wrong() {
		s += "; nothing is sent until it is set right"
	}
	return s
}

// clockRight refuses to send while most peers say that our clock is wrong.
func (n *Node) clockRight() error {
	if n.peers == nil {
		return nil
	}
	if c := n.peers.ClockOff(); c.Wrong() {
		return &api.Fault{Kind: graph.ErrUnavailable, Detail: clockText(c), Hint: "set this machine's clock"}
	}
	return nil
}

// SetOffline leaves the peers, or comes back to them.
func (n *Node) SetOffline(_ context.Context, offline bool) error {
	if n.peers == nil {
		return alone()
	}
	n.peers.SetOffline(offline)
	return nil
}

// Invite makes a ticket; it is told once.
func (n *Node) Invite(ctx context.Context, in client.InviteCreate) (client.Invite, error) {
	role := access.Writer
	if in.Role != "" {
		r, err := access.ParseRole(in.Role)
		if err != nil {
			return client.Invite{}, invalid("role must be 'admin', 'writer' or 'reader'")
		}
		role = r
	}
	if in.Uses < 0 || in.Uses > access.MaxUses {
		return client.Invite{}, invalid("uses must be between 1 and %d", access.MaxUses)
	}
	uses, life := max(in.Uses, 1), 24*time.Hour
	if in.ExpiresIn != "" {
		d, err := time.ParseDuration(in.ExpiresIn)
		if err != nil || d <= 0 {
			return client.Invite{}, invalid("expires_in must be a duration, like 30m or 24h")
		}
		life = d
	}
	if n.peers == nil {
		return client.Invite{}, alone()
	}
	expires := n.cfg.Now().Add(life)
	ticket, id, err := n.peers.Invite(ctx, role.String(), uses, expires)
	if err != nil {
		return client.Invite{}, err
	}
	if err := n.members.catchUp(ctx, n.members.network()); err != nil {
		return client.Invite{}, err
	}
	return client.Invite{
		ID: id, Ticket: ticket, Role: role.String(), Uses: uses, Expires: graph.TimeOf(expires).String(),
	}, nil
}

// Invites lists those of the Network.
func (n *Node) Invites(context.Context) ([]client.Invite, error) {
	out := []client.Invite{}
	for _, i := range n.state().Invites() {
		c := client.Invite{ID: i.Hash.String(), Role: i.Role.String(), Uses: i.Uses, Used: i.Used, Revoked: i.Revoked}
		if i.Expires != 0 {
			c.Expires = i.Expires.String()
		}
		out = append(out, c)
	}
	return out, nil
}

// RevokeInvite ends an invite; who came by it stays.
func (n *Node) RevokeInvite(ctx context.Context, id string) error {
	h, err := access.ParseHash(id)
	if err != nil {
		return notFound("Invite", id)
	}
	if _, err := n.state().Invite(h); err != nil {
		return notFound("Invite", id)
	}
	return n.say(ctx, access.Uninvite(h))
}

// Join takes a ticket and makes its Network the current one. The Nodes of this host are enrolled there; Spaces of the
// Network before stay readable by ID, and are named in the result.
func (n *Node) Join(ctx context.Context, ticket string) (client.JoinResult, error) {
	if n.peers == nil {
		return client.JoinResult{}, alone()
	}
	n.joining.Lock()
	defer n.joining.Unlock()
	if out, member := n.memberBy(ticket); member {
		return out, nil
	}
	got, err := n.peers.Join(ctx, ticket)
	if err != nil {
		return client.JoinResult{}, err
	}
	out := client.JoinResult{Network: got.Network.ID.String(), Name: got.Network.Name, Role: got.Role, Inviter: got.Inviter.String()}
	if got.Network.ID == n.members.network() {
		return out, n.members.catchUp(ctx, got.Network.ID)
	}
	behind, err := n.openSpaces()
	if err != nil {
		return out, err
	}
	for _, sp := range behind {
		out.LeftBehind = append(out.LeftBehind, sp.Genesis().Name)
	}
	if err := n.moveTo(ctx, got.Network); err != nil {
		return out, fmt.Errorf("switch to network %s: %w", got.Network.ID, err)
	}
	return out, nil
}

// memberBy says whether a ticket is for the Network this host is in already: then there is nothing to do, be it used up
// by now or not, so that a service started with a ticket can be started again.
func (n *Node) memberBy(ticket string) (client.JoinResult, bool) {
	t, err := p2p.ParseTicket(ticket)
	role := n.state().Role(n.Host())
	if err != nil || t.Network != n.members.network() || role == access.None || t.Inviter == n.Host() {
		return client.JoinResult{}, false
	}
	g := n.network()
	return client.JoinResult{Network: g.ID.String(), Name: g.Name, Role: role.String(), Inviter: t.Inviter.String()}, true
}

// moveTo makes another Network the current one.
func (n *Node) moveTo(ctx context.Context, g graph.Genesis) error {
	if _, err := n.log.Create(ctx, g); err != nil {
		return err
	}
	if err := n.rec.setNetwork(g.ID); err != nil {
		return err
	}
	if err := n.members.use(ctx, g.ID); err != nil {
		return err
	}
	n.peers.SetNetwork(g)
	n.peers.RightsChanged(n.log.Last())
	select {
	case n.switched <- struct{}{}:
	default:
	}
	return n.enrolAll(ctx)
}

// Verify walks every Space, hashes, signatures, rules, and each index against the entries, and what the Spaces share.
func (n *Node) Verify(ctx context.Context) (client.VerifyReport, error) {
	shared, err := n.log.Check(ctx)
	if err != nil {
		return client.VerifyReport{}, fmt.Errorf("verify: %w", err)
	}
	out := client.VerifyReport{Problems: append([]string{}, shared.Problems...)}
	for _, id := range n.log.Spaces() {
		sp, err := n.log.Space(id)
		if err != nil {
			return out, err
		}
		r, err := sp.Check(ctx)
		if err != nil {
			return out, fmt.Errorf("verify space %s: %w", id, err)
		}
		if sp.Genesis().Kind != graph.GenesisNetwork {
			out.Spaces++
		}
		out.Entries += r.Entries
		out.Messages += r.Messages
		for _, p := range r.Problems {
			out.Problems = append(out.Problems, fmt.Sprintf("space %s: %s", id, p))
		}
	}
	return out, nil
}

// Rebuild makes every index anew from the entries, and then verifies all. Nothing may be running.
func (n *Node) Rebuild(ctx context.Context) (client.VerifyReport, error) {
	if n.running.Load() {
		return client.VerifyReport{}, conflict("a running node can't rebuild its indexes; stop it first")
	}
	for _, id := range n.log.Spaces() {
		sp, err := n.log.Space(id)
		if err != nil {
			return client.VerifyReport{}, err
		}
		if err := sp.Rebuild(ctx); err != nil {
			return client.VerifyReport{}, fmt.Errorf("rebuild space %s: %w", id, err)
		}
	}
	return n.Verify(ctx)
}

// Export writes a Space as a CAR file.
func (n *Node) Export(ctx context.Context, spaceID string, w io.Writer) error {
	sp, err := n.space(spaceID)
	if err != nil {
		return err
	}
	_, err = sp.Export(ctx, w)
	return err
}

// Import reads a CAR file made by Export; every block goes in at the same door as one from a peer.
func (n *Node) Import(ctx context.Context, r io.Reader) (client.ImportResult, error) {
	sp, got, err := n.log.Import(ctx, r)
	if err != nil {
		return client.ImportResult{}, err
	}
	if n.peers != nil {
		n.peers.Follow(sp.ID())
	}
	if err := n.members.catchUp(ctx, sp.ID()); err != nil && !errors.Is(err, graph.ErrNotFound) {
		return client.ImportResult{}, err
	}
	return client.ImportResult{
		Space: sp.ID().String(), New: len(got.New), Known: got.Known, Held: len(got.Held), Refused: len(got.Refused),
	}, nil
}
