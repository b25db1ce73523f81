package p2p

// This file holds what we hear of GossipSub's mesh. A peer that is grafted may have missed what was published before,
// and a full queue drops without a word: in both cases the Space is compared with that peer at once.

import (
	"strings"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"plexus/graph"
)

// meshed is a pubsub tracer: called from pubsub's own loop, it only leaves a note with the link.
type meshed struct{ h *Host }

// Graft is called when a peer has become one of those we push a topic's messages to.
func (m meshed) Graft(p peer.ID, topic string) { m.compare(p, topic) }

// DropRPC is called when a peer's queue was full.
func (m meshed) DropRPC(rpc *pubsub.RPC, p peer.ID) {
	for _, msg := range rpc.GetPublish() {
		m.compare(p, msg.GetTopic())
	}
}

func (m meshed) compare(p peer.ID, topic string) {
	text, ok := strings.CutPrefix(topic, topicPrefix)
	if !ok {
		return
	}
	space, err := graph.ParseID(text)
	if err != nil {
		return
	}
	if l := m.h.linkOf(p); l != nil {
		l.askSpace(space)
	}
}

// The rest of a tracer isn't needed.

// OnNewOutboundStream does nothing.
func (meshed) OnNewOutboundStream(peer.ID, protocol.ID) {}

// OnClosedOutboundStream does nothing.
func (meshed) OnClosedOutboundStream(peer.ID) {}

// Join does nothing.
func (meshed) Join(string) {}

// Leave does nothing.
func (meshed) Leave(string) {}

// Prune does nothing.
func (meshed) Prune(peer.ID, string) {}

// ValidateMessage does nothing.
func (meshed) ValidateMessage(*pubsub.Message) {}

// DeliverMessage does nothing.
func (meshed) DeliverMessage(*pubsub.Message) {}

// RejectMessage does nothing.
func (meshed) RejectMessage(*pubsub.Message, string) {}

// DuplicateMessage does nothing.
func (meshed) DuplicateMessage(*pubsub.Message) {}

// ThrottlePeer does nothing.
func (meshed) ThrottlePeer(peer.ID) {}

// RecvRPC does nothing.
func (meshed) RecvRPC(*pubsub.RPC) {}

// SendRPC does nothing.
func (meshed) SendRPC(*pubsub.RPC, peer.ID) {}

// SendRPCCompleted does nothing.
func (meshed) SendRPCCompleted(*pubsub.RPC, peer.ID, time.Duration) {}

// UndeliverableMessage does nothing.
func (meshed) UndeliverableMessage(*pubsub.Message) {}
