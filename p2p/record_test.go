package p2p

import (
	"crypto/rand"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
)

// Whose a record claims to be is read without proof; a forged one is found out before it is believed.
func TestWhoSignedARecord(t *testing.T) {
	seal := func() (peer.ID, []byte) {
		key, pub, err := crypto.GenerateEd25519Key(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		id, err := peer.IDFromPublicKey(pub)
		if err != nil {
			t.Fatal(err)
		}
		env, err := record.Seal(&peer.PeerRecord{PeerID: id, Seq: 1}, key)
		if err != nil {
			t.Fatal(err)
		}
		b, err := env.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return id, b
	}
	id, good := seal()
	if got, err := signerOf(good); err != nil || got != id {
		t.Errorf("%s, %v", got, err)
	}
	if pr, err := openRecord(good); err != nil || pr.PeerID != id {
		t.Errorf("%v", err)
	}
	good[len(good)-1] ^= 1 // the signature stands last
	if got, err := signerOf(good); err != nil || got != id {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := openRecord(good); err == nil {
		t.Error("a forged record is believed")
	}
	for name, b := range map[string][]byte{"empty": nil, "too long": make([]byte, maxRecord+1), "no envelope": {1}} {
		if _, err := signerOf(b); err == nil {
			t.Errorf("%s: it has a signer", name)
		}
	}
}
