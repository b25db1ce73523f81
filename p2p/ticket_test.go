package p2p

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"testing"

	ma "github.com/multiformats/go-multiaddr"
	"pgregory.net/rapid"

	"plexus/graph"
)

func aTicket(addrs ...string) Ticket {
	t := Ticket{Network: graph.BlockID([]byte("network")), Inviter: graph.NodeIDOf(ed25519.NewKeyFromSeed(make([]byte, 32)))}
	copy(t.Secret[:], "a secret of thirty-two bytes ...")
	for _, a := range addrs {
		t.Addrs = append(t.Addrs, ma.StringCast(a))
	}
	return t
}

func TestTicketText(t *testing.T) {
	in := aTicket("/ip4/192.168.1.7/udp/4765/quic-v1", "/ip4/192.168.1.7/tcp/4765", "/dns/example.org/tcp/4765")
	text := in.String()
	for _, s := range []string{text, strings.ToUpper(text), "  " + text + "\n", text[:40] + "\n" + text[40:80] + " \r\n\t" + text[80:]} {
		out, err := ParseTicket(s)
		if err != nil || out.String() != text {
			t.Errorf("%q: %v, %v", s, out, err)
		}
	}
}

func TestTicketsThatAreNone(t *testing.T) {
	good := aTicket("/ip4/192.168.1.7/udp/4765/quic-v1").String()
	swap := []byte(good)
	swap[30], swap[31] = swap[31], swap[30]
	many := aTicket()
	for i := range maxAddrs + 1 {
		many.Addrs = append(many.Addrs, ma.StringCast(fmt.Sprintf("/ip4/10.0.0.%d/tcp/1", i)))
	}
	long := aTicket("/dns/" + strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + "." + strings.Repeat("c", 60) + "/tcp/1")
	tests := []struct{ name, in, says string }{
		{"empty", "", "empty"},
		{"blank", " \n", "empty"},
		{"no ticket", "hello", "doesn't begin"},
		{"prefix alone", "plexus1", "cut off"},
		{"one character wrong", good[:20] + other(good[20]) + good[21:], "checksum"},
		{"one character wrong at the end", good[:len(good)-1] + other(good[len(good)-1]), ""},
		{"one left out", good[:20] + good[21:], ""},
		{"one doubled", good[:20] + good[20:21] + good[20:], ""},
		{"two swapped", string(swap), "checksum"},
		{"cut off", good[:len(good)-9], ""},
		{"a character no ticket has", good[:20] + "b" + good[21:], `character 21, 'b'`},
		{"a rune no ticket has", good[:20] + "ß" + good[21:], `character 21, 'ß'`},
		{"too long", "plexus1" + strings.Repeat("q", maxTicket), "characters long"},
		{"much too long", strings.Repeat("q", 1<<20), "characters long"},
		{"too many addresses", many.String(), "addresses"},
		{"too long an address", long.String(), "addresses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTicket(tt.in)
			if !errors.Is(err, ErrTicket) || !errors.Is(err, graph.ErrInvalid) {
				t.Fatalf("%v, %v", got, err)
			}
			if !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 300 {
				t.Errorf("says %q, want %q in it", err, tt.says)
			}
		})
	}
	if swap[30] == swap[31] {
		t.Error("the swap swapped nothing")
	}
	most := aTicket()
	most.Addrs = many.Addrs[:maxAddrs]
	if _, err := ParseTicket(most.String()); err != nil {
		t.Errorf("with %d addresses: %v", maxAddrs, err)
	}
}

// other returns another character of the alphabet.
func other(c byte) string {
	i := strings.IndexByte(ticketAlphabet, c)
	return ticketAlphabet[(i+1)%32:][:1]
}

func TestTicketTypos(t *testing.T) {
	good := aTicket("/ip4/192.168.1.7/udp/4765/quic-v1").String()
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(good)
		for range rapid.IntRange(1, 4).Draw(t, "typos") {
			i := rapid.IntRange(0, len(b)-1).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				b[i] = ticketAlphabet[rapid.IntRange(0, 31).Draw(t, "to")]
			case 1:
				b = append(b[:i], b[i+1:]...)
			case 2:
				b = append(b[:i], append([]byte{ticketAlphabet[rapid.IntRange(0, 31).Draw(t, "to")]}, b[i:]...)...)
			}
		}
		got, err := ParseTicket(string(b))
		if string(b) != good && err == nil {
			t.Fatalf("%q was taken: %v", b, got)
		}
	})
}

func TestTicketAddrs(t *testing.T) {
	tests := []struct {
		name     string
		in, want []string
	}{
		{"none", nil, nil},
		{"loopback alone", []string{"/ip4/127.0.0.1/tcp/1", "/ip4/127.0.0.1/udp/1/quic-v1"}, []string{"/ip4/127.0.0.1/udp/1/quic-v1", "/ip4/127.0.0.1/tcp/1"}},
		{
			"the best first, no loopback",
			[]string{"/ip4/127.0.0.1/tcp/1", "/ip4/10.0.0.1/tcp/1", "/ip6/fe80::1/tcp/1", "/ip4/10.0.0.1/udp/1/quic-v1", "/ip4/1.2.3.4/tcp/1"},
			[]string{"/ip4/1.2.3.4/tcp/1", "/ip4/10.0.0.1/udp/1/quic-v1", "/ip4/10.0.0.1/tcp/1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := addrTexts(ticketAddrs(parseAddrs(tt.in)))
			if strings.Join(got, " ") != strings.Join(tt.want, " ") {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzTicket(f *testing.F) {
	f.Add(aTicket().String())
	f.Add(aTicket("/ip4/192.168.1.7/udp/4765/quic-v1", "/dns/example.org/tcp/4765").String())
	f.Add("plexus1")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTicket(s)
		if err != nil {
			if !errors.Is(err, ErrTicket) {
				t.Fatalf("%v isn't ErrTicket", err)
			}
			return
		}
		again, err := ParseTicket(got.String())
		if err != nil || again.String() != got.String() {
			t.Fatalf("%q: %v", got, err)
		}
	})
}
