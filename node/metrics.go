package node

// This file counts, for Prometheus: everything is read when it is asked for, so that counting costs nothing in between.
// There is no label whose values others choose.

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plexus/graph"
)

// metrics is a prometheus.Collector over one node.
type metrics struct {
	node *Node

	spaces, entries, messages, held, forks, refused, nodes, hosts, peers, behind, disagree, uptime *prometheus.Desc
}

// newMetrics returns the handler of /metrics.
func newMetrics(n *Node) http.Handler {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("plexus_"+name, help, labels, nil)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(&metrics{
		node:     n,
		spaces:   desc("spaces", "Spaces of the current Network."),
		entries:  desc("entries", "Admitted entries in these Spaces."),
		messages: desc("messages", "Visible messages in these Spaces."),
		held:     desc("held_entries", "Entries that wait, by what they wait for.", "for"),
		forks:    desc("forked_authors", "Authors with two entries of one seq, over all Spaces."),
		refused:  desc("refused_entries_total", "Entries refused for good since the start, by the rule they broke.", "rule"),
		nodes:    desc("nodes", "Nodes of the Network that aren't revoked."),
		hosts:    desc("hosts", "Hosts of the Network that aren't revoked."),
		peers:    desc("peers_connected", "Other hosts connected now."),
		behind:   desc("peers_differing", "Connected hosts whose copy of some Space differed at the last exchange."),
		disagree: desc("plugin_states_differing", "Plugin states of members that differ from this host's though both hold the same messages."),
		uptime:   desc("uptime_seconds", "Seconds since the start."),
	})
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: 1})
}

// Describe is prometheus.Collector's.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.spaces, m.entries, m.messages, m.held, m.forks, m.refused, m.nodes, m.hosts, m.peers, m.behind, m.disagree, m.uptime,
	} {
		ch <- d
	}
}

// Collect is prometheus.Collector's.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	spaces, err := m.node.openSpaces()
	if err != nil {
		return // the node is closing
	}
	var t totals
	refused := map[graph.Rule]uint64{}
	for _, sp := range spaces {
		t.add(sp)
		for rule, n := range sp.Refused() {
			refused[rule] += n
		}
	}
	gauge(m.spaces, float64(len(spaces)))
	gauge(m.entries, float64(t.entries))
	gauge(m.messages, float64(t.messages))
	gauge(m.held, float64(t.parent), "parent")
	gauge(m.held, float64(t.future), "time")
	gauge(m.held, float64(t.stranger), "grant")
	gauge(m.forks, float64(t.forks))
	for rule, n := range refused {
		ch <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(n), string(rule))
	}
	m.members(gauge)
}

func (m *metrics) members(gauge func(*prometheus.Desc, float64, ...string)) {
	var nodes, hosts, peers, behind float64
	for _, at := range m.node.state().Nodes() {
		if !at.Revoked {
			nodes++
		}
	}
	for _, at := range m.node.state().Hosts() {
		if !at.Revoked {
			hosts++
		}
	}
	status, err := m.node.Status(context.Background())
	if err != nil {
		return
	}
	for _, p := range status.Peers {
		if !p.Connected {
			continue
		}
		peers++
		if !p.InSync {
			behind++
		}
	}
	gauge(m.nodes, nodes)
	gauge(m.hosts, hosts)
	gauge(m.peers, peers)
	gauge(m.behind, behind)
	gauge(m.disagree, float64(len(status.Disagree)))
	gauge(m.uptime, status.Uptime)
}

// totals adds Spaces up.
type totals struct {
	entries                  uint64
	messages, forks          int
	parent, future, stranger int
}

func (t *totals) add(sp *graph.Space) {
	t.entries += sp.Digest().Count
	t.messages += sp.Count()
	t.forks += len(sp.Forks())
	parent, future, stranger := sp.HeldCounts()
	t.parent, t.future, t.stranger = t.parent+parent, t.future+future, t.stranger+stranger
}
