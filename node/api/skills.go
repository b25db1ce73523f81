package api

// This file serves what a plugin tells those who want to use it.

import (
	"context"
	"net/http"

	"plexus/sdk/client"
)

// Skills gives a plugin's SKILL.md and the schema of its messages; ErrNotFound for an unknown Space or plugin, or a file that isn't here yet.
type Skills interface {
	Skill(ctx context.Context, spaceID, plugin string) (client.PluginSkill, error)
}

func skillRoutes() []route {
	return []route{{
		method: "GET", path: "/spaces/{id}/plugins/{name}/skill", name: "pluginSkill", who: member,
		summary: "How a plugin is used: its SKILL.md, and the JSON Schema of its messages", action: give(http.StatusOK, skill),
	}}
}

func skill(x *exchange) (client.PluginSkill, error) {
	if x.h.cfg.Skills == nil {
		return client.PluginSkill{}, invalid("this node runs no plugins", "")
	}
	return x.h.cfg.Skills.Skill(x.r.Context(), x.r.PathValue("id"), x.r.PathValue("name"))
}
