package main

// This file holds how a verb reaches the daemon, as the host's owner or as a Node.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"plexus/sdk/client"
)

// defaultNode is the Node the CLI acts as unless told otherwise.
const defaultNode = "cli"

// address is the daemon's: given, or of the data directory. One that is starting is waited for.
func (a *app) address(ctx context.Context) (string, error) {
	if a.url != "" {
		u, err := url.Parse(a.url)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return "", wrongUse("give it as "+client.DefaultURL, "the daemon's address is no http(s) URL") // it may hold a key: not printed
		}
		return a.url, nil
	}
	r, err := findRunning(ctx, a.dir)
	return r.URL, err
}

// owner returns a client with the host's access key.
func (a *app) owner(ctx context.Context) (*client.Client, error) {
	at, err := a.address(ctx)
	if err != nil {
		return nil, err
	}
	key, err := accessKey(a.dir)
	if err != nil {
		return nil, err
	}
	if u, perr := url.Parse(at); key == "" && (perr != nil || u.User == nil) {
		return nil, &client.Error{
			Code: client.CodeUnauthorized, Detail: "this needs the host's access key, and there is none",
			Hint: "give --dir of the daemon's data directory, or set PLEXUS_ACCESS_KEY",
		}
	}
	return &client.Client{URL: at, AccessKey: key}, nil
}

// node returns a client that acts as PLEXUS_TOKEN's Node, or as --as, which is registered on first use.
func (a *app) node(ctx context.Context) (*client.Client, error) {
	at, err := a.address(ctx)
	if err != nil {
		return nil, err
	}
	if t := os.Getenv("PLEXUS_TOKEN"); t != "" && a.as == "" {
		return &client.Client{URL: at, Token: t}, nil
	}
	cred, err := a.enter(ctx, "cli", a.nodeName(), "human")
	if err != nil {
		return nil, err
	}
	return &client.Client{URL: at, Token: cred.Token, NodeID: cred.ID}, nil
}

func (a *app) nodeName() string {
	if a.as == "" {
		return defaultNode
	}
	return a.as
}

// enter returns the kept token of a local Node, or registers the Node and keeps its token.
func (a *app) enter(ctx context.Context, folder, name, kind string) (*credential, error) {
	file := credentialFile(a.dir, folder, a.url, name)
	cred, err := loadCredential(file)
	if err != nil || cred != nil {
		return cred, err
	}
	owner, err := a.owner(ctx)
	if err != nil {
		return nil, err
	}
	who, err := owner.Register(ctx, client.AuthRegister{
		NodeCreate: client.NodeCreate{Name: name, Description: name + " on the command line"}, Kind: kind, AccessKey: owner.AccessKey,
	})
	if err != nil {
		return nil, fmt.Errorf("register the Node %q: %w", name, err)
	}
	cred = &credential{ID: who.ID, Name: who.Name, Token: who.Token}
	return cred, saveCredential(file, *cred)
}

// explain adds to a refused token where it came from.
func (a *app) explain(err error) error {
	if !client.IsCode(err, client.CodeUnauthorized) {
		return err
	}
	var e *client.Error
	errors.As(err, &e)
	c := *e
	c.Hint = "unset PLEXUS_TOKEN, or set it to a valid one"
	if os.Getenv("PLEXUS_TOKEN") == "" || a.as != "" {
		c.Hint = "the daemon doesn't know the token in " + credentialFile(a.dir, "cli", a.url, a.nodeName()) + "; remove that file to get a new Node"
	}
	return &c
}

// asNode wraps a verb that acts as a Node.
func (a *app) asNode(ctx context.Context, verb func(*client.Client) error) error {
	c, err := a.node(ctx)
	if err != nil {
		return err
	}
	return a.explain(verb(c))
}

// spaceID finds a Space by name or ID.
func spaceID(ctx context.Context, c *client.Client, s string) (string, error) {
	info, err := c.SpaceInfo(ctx, s)
	if err == nil {
		return info.ID, nil
	}
	if !client.IsNotFound(err) {
		return "", err
	}
	all, err := c.Spaces(ctx)
	if err != nil {
		return "", err
	}
	for _, i := range all {
		if i.Name == strings.TrimSpace(s) {
			return i.ID, nil
		}
	}
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return "", &client.Error{
		Code: client.CodeNotFound, Detail: fmt.Sprintf("Space '%s' not found", s),
		Hint: meant(s, names) + fmt.Sprintf("create or join it with: plexus space %q; plexus spaces lists those known here", s),
	}
}

// nodeID finds a Node by ID or by a name that only one bears.
func nodeID(all []client.Node, s string) (string, error) {
	var found []string
	for _, n := range all {
		if n.ID == s {
			return n.ID, nil
		}
		if n.Name == s {
			found = append(found, n.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var names []string
		for _, n := range all {
			names = append(names, n.Name)
		}
		return "", &client.Error{
			Code: client.CodeNotFound, Detail: fmt.Sprintf("Node '%s' not found", s), Hint: meant(s, names) + "plexus nodes lists those known here",
		}
	}
	return "", wrongUse("give the ID of the one you mean", "%d Nodes are named '%s': %s", len(found), s, strings.Join(found, ", "))
}
