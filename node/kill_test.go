package node

// This file kills a node in the middle of sends, again and again: what it acknowledged is there afterwards.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"plexus/node/api"
	"plexus/sdk/client"
)

const writers = 8

// killed is the process that is killed: it sends as fast as it can and prints each message that was acknowledged; or it tries a callback for ever.
func killed(dir, callback string) {
	run := sendForEver
	if callback != "" {
		run = func(dir string) error { return calledBack(dir, callback) }
	}
	if err := run(dir); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

func sendForEver(dir string) error {
	ctx := context.Background()
	n, err := Open(Config{Dir: dir, NoP2P: true, Listen: "none"})
	if err != nil {
		return err
	}
	b, err := os.ReadFile(dir + "/access.key")
	if err != nil {
		return err
	}
	r, err := n.Register(ctx, client.AuthRegister{NodeCreate: client.NodeCreate{Name: "killed", Description: "d"}, AccessKey: strings.TrimSpace(string(b))}, "")
	if err != nil {
		return err
	}
	s, err := n.As(r.ID)
	if err != nil {
		return err
	}
	info, err := s.Space(ctx, client.SpaceCreate{Name: "plan"})
	if err != nil {
		return err
	}
	fmt.Println("token", r.Token, r.ID, info.ID)
	var out sync.Mutex
	failed := make(chan error)
	for w := range writers {
		go func() { failed <- sendMany(ctx, s, info.ID, r.ID, w, &out) }()
	}
	return <-failed
}

// sendMany sends, every second message under an idempotency key.
func sendMany(ctx context.Context, s api.Service, space, id string, writer int, out *sync.Mutex) error {
	for i := 0; ; i++ {
		in := client.SendMessage{Content: content(fmt.Sprint(writer, " ", i)), Refs: &client.Ref{Nodes: []string{id}}}
		if i%2 == 0 {
			in.IdempotencyKey = fmt.Sprintf("%s-%d-%d", id, writer, i)
		}
		m, err := s.Send(ctx, space, in)
		if err != nil {
			return err
		}
		out.Lock()
		fmt.Println("sent", m.ID, in.IdempotencyKey)
		out.Unlock()
	}
}

// acked is what one killed process said.
type acked struct {
	token, id, space string
	messages         map[string]string // message → idempotency key
}

// killOnce starts the process, lets it send for a while and kills it.
func killOnce(t *testing.T, dir string, after int) acked {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PLEXUS_TEST_KILLED="+dir)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := acked{messages: map[string]string{}}
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		f := strings.Split(lines.Text(), " ")
		switch f[0] {
		case "token":
			got.token, got.id, got.space = f[1], f[2], f[3]
		case "sent":
			got.messages[f[1]] = f[2]
		default:
			t.Fatal(lines.Text())
		}
		if len(got.messages) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := lines.Err(); err != nil && err != io.ErrClosedPipe {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return got
}

func TestKilledInTheMiddleOfSends(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	total := 0
	for round := range kills {
		got := killOnce(t, dir, 1+r.IntN(300))
		total += len(got.messages)
		start := time.Now()
		n := open(t, dir)
		took := time.Since(start)
		if id, err := n.Authenticate(t.Context(), got.token); err != nil || id != got.id {
			t.Fatalf("round %d: the token is gone: %v", round, err)
		}
		checkAcked(t, n, got)
		report, err := n.Verify(t.Context())
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("round %d: verify: %v, %v", round, report.Problems, err)
		}
		if round == kills-1 {
			t.Logf("%d acknowledged, %d there, opened in %s", total, report.Messages, took)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkAcked looks for every acknowledged message by all ways that lead to it.
func checkAcked(t *testing.T, n *Node, got acked) {
	t.Helper()
	s, err := n.As(got.id)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]client.Message{}
	q := client.ReadQuery{SpaceID: got.space, All: true}
	for {
		p, err := s.Read(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Messages {
			there[m.ID] = m
		}
		if q.After = p.Next; p.Next == "" {
			break
		}
	}
	for id, key := range got.messages {
		m, ok := there[id]
		if !ok {
			t.Fatalf("message %s was acknowledged and is gone", id)
		}
		if key == "" {
			continue
		}
		again, err := s.Send(t.Context(), got.space, client.SendMessage{Content: m.Content, Refs: &m.Refs, IdempotencyKey: key})
		if err == nil && again.ID != id {
			t.Fatalf("retry of %s made %s", id, again.ID)
		}
		if err != nil {
			t.Fatalf("retry of %s: %v", id, err)
		}
	}
}
