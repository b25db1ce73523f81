#include "plexus.h"

static px_value echo(px_value v) {
	int64_t n = 0;
	double f = 0;
	px_list list = {0};
	px_map map = {0};
	px_iter i = px_each(v);
	switch (px_kind_of(v)) {
	case PX_BOOL: return px_bool(px_bool_of(v));
	case PX_INT: px_int_of(v, &n); return px_int(n);
	case PX_FLOAT: px_float_of(v, &f); return px_float(f);
	case PX_TEXT: return px_string(px_text_of(v));
	case PX_LIST:
		while (px_next(&i)) px_push(&list, echo(i.value));
		return px_list_end(&list);
	case PX_MAP:
		while (px_next(&i)) px_put_key(&map, px_text_of(i.key), echo(i.value));
		return px_map_end(&map);
	default: return px_null();
	}
}

static void fold(px_message m) {
	px_map out = {0};
	px_put(&out, "content", echo(m.content));
	px_put_text(&out, "role", m.role);
	px_put_text(&out, "kind", m.kind);
	px_put(&out, "time", px_int(m.time));
	px_put(&out, "meta", echo(m.meta));
	px_list nodes = {0};
	for (px_iter i = px_items(m.nodes); px_next(&i);) px_push(&nodes, i.value);
	px_put(&out, "nodes", px_list_end(&nodes));
	px_set_value(PX_CAT(PX("e/"), m.id), px_map_end(&out));
	for (px_iter i = px_items(m.parents); px_next(&i);) {
		px_message q;
		px_text p = px_text_of(i.value);
		if (px_message_by(p, &q) && px_before(p, m.id)) px_set(PX_CAT(PX("p/"), p), q.sender);
	}
}

static px_value view(px_query q) {
	(void)q;
	px_map out = {0};
	px_text key = {0};
	while (px_scan(PX("e/"), &key)) px_put_key(&out, (px_text){key.p + 2, key.n - 2}, px_get(px_state_value(key), "content"));
	return px_map_end(&out);
}

static void command(px_query q) {
	px_map content = {0}, meta = {0};
	px_put(&content, "x", px_get(q.params, "x"));
	px_put(&meta, "m", px_int(-70000));
	px_put_text(&meta, "role", q.role);
	px_put_text(&meta, "kind", q.kind);
	px_put_text(&meta, "problem", px_schema_check(px_string(PX("views/all")), q.params));
	px_list nodes = {0};
	px_push(&nodes, px_string(q.caller));
	px_say((px_draft){.type = PX("echo"), .content = px_map_end(&content), .meta = px_map_end(&meta), .parents = px_get(q.params, "parents"), .nodes = px_list_end(&nodes)});
}

PLEXUS({.name = "echo", .fold = fold, .view = view, .command = command})
