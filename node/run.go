package node

// This file holds Run: every goroutine of a node, started inside out and stopped outside in.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"plexus/graph"
)

// layer is a part of a node that stops as one: its goroutines end when its context does.
type layer struct {
	cancel context.CancelFunc
	group  *errgroup.Group
}

// start runs jobs until stop. A job that ends by itself with an error ends all.
func start(fail context.CancelCauseFunc, jobs ...func(context.Context) error) *layer {
	ctx, cancel := context.WithCancel(context.Background())
	l := &layer{cancel: cancel, group: new(errgroup.Group)}
	for _, job := range jobs {
		l.group.Go(func() error {
			err := job(ctx)
			if err != nil && ctx.Err() == nil {
				fail(err)
			}
			return nil
		})
	}
	return l
}

func (l *layer) stop() {
	l.cancel()
	_ = l.group.Wait() // errors went to fail
}

// Run serves until ctx ends, and returns after the last goroutine has: nil, or what failed. It may be called once.
// It stops in the reverse of its start: HTTP refuses, plugins finish the message in hand, the peers are left; Close then
// closes the store.
func (n *Node) Run(ctx context.Context) error {
	if n.running.Swap(true) {
		return errors.New("a node runs once")
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	base := start(fail, n.follow, n.tend)
	var edge []*layer
	if n.peers != nil {
		edge = append(edge, start(fail, n.peers.Run, n.settleChains, n.fetchFiles, n.compare))
		if err := n.joinFirst(ctx); err != nil {
			fail(err)
		}
	}
	edge = append(edge, start(fail, n.plugins.Run, n.plugins.Compile, n.react, n.freshen), start(fail, n.gateway.run))
	if n.listener != nil && ctx.Err() == nil {
		edge = append(edge, start(fail, n.serve))
	}
	<-ctx.Done()
	for i := len(edge) - 1; i >= 0; i-- {
		edge[i].stop()
	}
	base.stop()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// joinFirst carries out Config.Join.
func (n *Node) joinFirst(ctx context.Context) error {
	if n.cfg.Join == "" {
		return nil
	}
	got, err := n.Join(ctx, n.cfg.Join)
	for errors.Is(err, graph.ErrClosed) && ctx.Err() == nil { // the peers' Run has only just been started
		select {
		case <-ctx.Done():
		case <-time.After(joinRetry):
			got, err = n.Join(ctx, n.cfg.Join)
		}
	}
	if err != nil {
		return err
	}
	n.cfg.Logger.Info("joined", "network", got.Network, "name", got.Name, "role", got.Role, "inviter", got.Inviter)
	return nil
}

// settleChains lets sends go once the own chains are fetched, or no peer gave them in time.
func (n *Node) settleChains(ctx context.Context) error {
	defer n.settle.Do(func() { close(n.settled) })
	wait, cancel := context.WithTimeout(ctx, settleWait)
	defer cancel()
	if err := n.peers.Settled(wait); err != nil && ctx.Err() == nil && wait.Err() == nil {
		return fmt.Errorf("fetch own chains: %w", err)
	}
	return nil
}

// waitSettled returns once a send may seal. A node that doesn't run meets nobody and needn't wait.
func (n *Node) waitSettled(ctx context.Context) error {
	if !n.running.Load() {
		return nil
	}
	select {
	case <-n.settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve answers HTTP until ctx ends, then gives requests in hand time to finish.
func (n *Node) serve(ctx context.Context) error {
	fresh := new(unused)
	srv := &http.Server{
		Handler: n.handler, ReadHeaderTimeout: headerWait, ConnState: fresh.state,
		ErrorLog: slog.NewLogLogger(n.cfg.Logger.Handler(), slog.LevelWarn),
	}
	srv.RegisterOnShutdown(fresh.close)
	if err := n.announce(); err != nil {
		return err
	}
	defer n.unannounce()
	stopping, stop := context.WithCancel(ctx)
	stopped := new(errgroup.Group)
	stopped.Go(func() error {
		<-stopping.Done()
		wait, cancel := context.WithTimeout(context.Background(), stopWait)
		defer cancel()
		if err := srv.Shutdown(wait); err != nil {
			return srv.Close()
		}
		return nil
	})
	err := srv.Serve(n.listener)
	stop()
	if ended := stopped.Wait(); errors.Is(err, http.ErrServerClosed) {
		return ended
	}
	return fmt.Errorf("serve HTTP on %s: %w", n.listener.Addr(), err)
}

// announce writes daemon.json, by which the CLI finds a running node.
func (n *Node) announce() error {
	b, err := json.Marshal(struct {
		URL string `json:"url"`
		PID int    `json:"pid"`
	}{n.URL(), os.Getpid()})
	if err != nil {
		return err
	}
	return writeSecret(filepath.Join(n.cfg.Dir, "daemon.json"), string(b))
}

func (n *Node) unannounce() { _ = os.Remove(filepath.Join(n.cfg.Dir, "daemon.json")) }

// follow keeps who may current, in whichever Network is the current one.
func (n *Node) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		sp, err := n.log.Space(n.network().ID)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		n.tryEnrol(ctx) // a crash may have come between a join and this
		one, cancel := context.WithCancel(ctx)
		g := new(errgroup.Group)
		g.Go(func() error {
			defer cancel()
			select {
			case <-n.switched:
			case <-one.Done():
			}
			return nil
		})
		err = n.members.follow(one, sp, n.rightsChanged)
		cancel()
		_ = g.Wait() // it has no errors
		if err != nil {
			return err
		}
	}
	return nil
}

// rightsChanged tells those who hold connections by the rights, and enrols this host's Nodes where its role has grown.
func (n *Node) rightsChanged(ctx context.Context, upTo graph.Pos) error {
	if n.peers != nil {
		n.peers.RightsChanged(upTo)
	}
	if s := n.state(); s != n.enrolled.Swap(s) {
		n.tryEnrol(ctx)
	}
	return nil
}

// tryEnrol enrols what isn't; what doesn't work now is tried again with the next change.
func (n *Node) tryEnrol(ctx context.Context) {
	if err := n.enrolAll(ctx); ignoreEnd(ctx, err) != nil {
		n.cfg.Logger.Warn("enrol the Nodes of this host", "err", err)
	}
}

// tend does now and then what an admin's host does for the others: cutting revoked authors off in Spaces where nobody has.
func (n *Node) tend(ctx context.Context) error {
	t := time.NewTicker(cutEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			if err := n.cutRevoked(ctx); err != nil && ctx.Err() == nil {
				n.cfg.Logger.Warn("cut revoked authors off", "err", err)
			}
		}
	}
}
