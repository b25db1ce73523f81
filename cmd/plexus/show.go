package main

// This file holds how things look as text. What peers wrote is made safe for the terminal.

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"plexus/sdk/client"
)

// printMessage is two lines: who and when and what it refers to; then the content.
func printMessage(w io.Writer, m client.Message) {
	fmt.Fprintf(w, "%s  %s  %s", m.ID, m.CreatedAt, m.Sender)
	if m.ContentType != "" {
		fmt.Fprintf(w, "  [%s]", oneLine(m.ContentType, 64))
	}
	if m.SpaceID != "" {
		fmt.Fprintf(w, "  in %s", m.SpaceID)
	}
	if len(m.Refs.Messages) > 0 {
		fmt.Fprintf(w, "  follows %s", strings.Join(m.Refs.Messages, ","))
	}
	if len(m.Refs.Nodes) > 0 {
		fmt.Fprintf(w, "  for %s", strings.Join(m.Refs.Nodes, ","))
	}
	fmt.Fprintf(w, "\n    %s\n", indent(said(m.Content)))
}

// said is the text of {"text": …} alone, else the JSON.
func said(content json.RawMessage) string {
	var only map[string]json.RawMessage
	var text string
	if json.Unmarshal(content, &only) == nil && len(only) == 1 && json.Unmarshal(only["text"], &text) == nil {
		return plain(text)
	}
	return plain(string(content))
}

func indent(s string) string { return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ") }

func printSpace(w io.Writer, s client.SpaceInfo) {
	fmt.Fprintf(w, "%s  %s  %d messages", s.ID, oneLine(s.Name, 128), s.MessageCount)
	if len(s.Tags) > 0 {
		fmt.Fprintf(w, "  #%s", oneLine(strings.Join(s.Tags, " #"), 200))
	}
	fmt.Fprintln(w)
	for _, n := range s.Nodes {
		fmt.Fprintf(w, "    %s  %s\n", n.ID, oneLine(n.Name+": "+n.Description, 100))
	}
}

func printNode(w io.Writer, n client.Node) {
	fmt.Fprintf(w, "%s  %s", n.ID, oneLine(n.Name, 64))
	if n.Description != "" {
		fmt.Fprintf(w, "  %s", oneLine(n.Description, 80))
	}
	fmt.Fprintln(w)
}

func printPeer(w io.Writer, p client.PeerStatus) {
	state := "away"
	if p.Connected {
		state = "connected"
	}
	fmt.Fprintf(w, "%s  %s", p.ID, state)
	if p.Role != "" {
		fmt.Fprintf(w, "  %s", p.Role)
	}
	if p.LatencyMS > 0 {
		fmt.Fprintf(w, "  %.1f ms", p.LatencyMS)
	}
	switch {
	case p.InSync:
		fmt.Fprint(w, "  in sync")
	case p.LastSeen != "" && !p.Connected:
		fmt.Fprintf(w, "  last seen %s", p.LastSeen)
	}
	fmt.Fprintln(w)
	for _, d := range p.Spaces {
		fmt.Fprintf(w, "    %s differs: we lack %d, it lacks %d\n", d.Space, d.Missing, d.Ahead)
	}
}

func printStatus(w io.Writer, s client.Status) {
	fmt.Fprintf(w, "host     %s\nnetwork  %s", s.Host, s.Network)
	if s.Name != "" {
		fmt.Fprintf(w, " (%s)", oneLine(s.Name, 64))
	}
	fmt.Fprintf(w, "\nrole     %s\nversion  %s, up %.0f s\n", s.Role, s.Version, s.Uptime)
	if s.Offline {
		fmt.Fprintln(w, "offline  cut off by plexus offline; plexus online comes back")
	}
	if s.ClockOff != "" {
		fmt.Fprintf(w, "clock    %s\n", s.ClockOff)
	}
	for _, addr := range s.Addrs {
		fmt.Fprintf(w, "address  %s\n", addr)
	}
	for _, sp := range s.Spaces {
		fmt.Fprintf(w, "space    %s  %s  %d messages, %d entries, %d heads", sp.ID, oneLine(sp.Name, 64), sp.Messages, sp.Entries, sp.Heads)
		if sp.Waiting > 0 {
			fmt.Fprintf(w, ", %d waiting", sp.Waiting)
		}
		if sp.Forked > 0 {
			fmt.Fprintf(w, ", %d forked", sp.Forked)
		}
		fmt.Fprintln(w)
	}
	for _, p := range s.Peers {
		fmt.Fprint(w, "peer     ")
		printPeer(w, p)
	}
	for _, r := range s.Refused {
		fmt.Fprintf(w, "refused  plugin %s, file %s, in %d spaces: %s\n", plain(r.Plugin), plain(r.File), r.Spaces, oneLine(r.Why, 400))
	}
	for _, d := range s.Disagree {
		printDisagreement(w, d)
	}
}
