package api

// This file serves the host's own business, behind the access key.

import (
	"errors"
	"io"
	"net/http"
	"time"

	"plexus/graph"
	"plexus/sdk/client"
)

const carType = "application/vnd.ipld.car"

func status(x *exchange) (client.Status, error) { return x.h.cfg.Admin.Status(x.r.Context()) }

func invite(x *exchange, in client.InviteCreate) (client.Invite, error) {
	return x.h.cfg.Admin.Invite(x.r.Context(), in)
}

func listInvites(x *exchange) ([]client.Invite, error) {
	return x.h.cfg.Admin.Invites(x.r.Context())
}

func revokeInvite(x *exchange) (none, error) {
	return none{}, x.h.cfg.Admin.RevokeInvite(x.r.Context(), x.r.PathValue("id"))
}

func revoke(x *exchange, in client.Revoke) (none, error) {
	if in.Subject == "" {
		return none{}, invalid("subject is required", `send {"subject":"<peer ID of a host or Node>"}`)
	}
	return none{}, x.h.cfg.Admin.Revoke(x.r.Context(), in.Subject)
}

func join(x *exchange, in client.Join) (client.JoinResult, error) {
	if in.Ticket == "" {
		return client.JoinResult{}, invalid("ticket is required", "a member makes one with: plexus invite")
	}
	return x.h.cfg.Admin.Join(x.r.Context(), in.Ticket)
}

func setOffline(x *exchange, in client.Offline) (client.Offline, error) {
	return in, x.h.cfg.Admin.SetOffline(x.r.Context(), in.Offline)
}

func verify(x *exchange) (client.VerifyReport, error) {
	out, err := x.h.cfg.Admin.Verify(x.r.Context())
	if out.Problems == nil {
		out.Problems = []string{}
	}
	return out, err
}

// exportSpace streams the file. An error after the first byte cuts the connection, so that half a file is never taken
// for a whole one.
func exportSpace(x *exchange) error {
	x.w.Header().Set("Content-Type", carType)
	out := &patientWriter{w: x.w, rc: http.NewResponseController(x.w), wait: x.h.cfg.WriteWait}
	defer out.rest()
	err := x.h.cfg.Admin.Export(x.r.Context(), x.r.PathValue("id"), out)
	if err != nil && out.begun {
		x.h.cfg.Logger.Error("export ended early", "space", x.r.PathValue("id"), "err", err)
		panic(http.ErrAbortHandler)
	}
	return err
}

// patientWriter gives every write its own deadline.
type patientWriter struct {
	w     io.Writer
	rc    *http.ResponseController
	wait  time.Duration
	begun bool
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.begun = true
	_ = p.rc.SetWriteDeadline(time.Now().Add(p.wait))
	return p.w.Write(b)
}

func (p *patientWriter) rest() { _ = p.rc.SetWriteDeadline(time.Time{}) }

// importAction takes a file of any size, as a stream.
func importAction() action {
	a := give(http.StatusOK, func(x *exchange) (client.ImportResult, error) {
		if x.r.ContentLength == 0 {
			return client.ImportResult{}, &Fault{Kind: graph.ErrInvalid, Detail: "the body is empty", Hint: "send a CAR file made by export"}
		}
		in := &patientReader{r: x.r.Body, rc: http.NewResponseController(x.w), wait: x.h.cfg.BodyWait}
		return x.h.cfg.Admin.Import(x.r.Context(), in)
	})
	a.inType = carType
	return a
}

// patientReader gives every read its own deadline. None is left after the end, where net/http watches whether the client
// is still there.
type patientReader struct {
	r    io.Reader
	rc   *http.ResponseController
	wait time.Duration
}

func (p *patientReader) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(p.wait))
	n, err := p.r.Read(b)
	if errors.Is(err, io.EOF) {
		_ = p.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
