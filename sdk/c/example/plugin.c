/* vote in C: somebody opens a poll, everybody may cast one vote and change it, the opener closes it. On the same
 * messages it ends with the same state as vote in Go (plugins/vote).
 *
 * State (<poll> is the ID of the message that opened it; <order> its time in hex, a slash, and its ID):
 *
 *   p/<poll>             {id, order, sender, options, question}
 *   c/<poll>/<node>      the option this Node chose last
 *   o/<order>            <poll>, while it is open
 *   x/<poll>             the message that closed it */
#include "plexus.h"

enum { max_id = 128, max_question = 512, max_options = 32, max_option = 128, max_polls = 100 };

/* order is a message's place in canonical order as a key. */
static px_text order(px_message m) {
	static const char digits[] = "0123456789abcdef";
	char *hex = px_alloc(16);
	uint64_t t = (uint64_t)m.time;
	for (int i = 15; i >= 0; i--, t >>= 4) hex[i] = digits[t & 15];
	return PX_CAT((px_text){hex, 16}, PX("/"), m.id);
}

/* read_poll checks what a poll says of itself. */
static px_map read_poll(px_value v) {
	px_text id = px_text_of(px_get(v, "id")), question = px_text_of(px_get(v, "question")), seen[max_options];
	px_value options = px_get(v, "options");
	if (id.n == 0 || id.n > max_id) px_refuse("id must be a text of 1 to 128 bytes");
	if (question.n == 0 || question.n > max_question) px_refuse("question must be a text of 1 to 512 bytes");
	uint32_t n = 0;
	for (px_iter i = px_items(options); px_next(&i); n++) {
		px_text o = px_text_of(i.value);
		bool twice = false;
		for (uint32_t k = 0; k < n && k < max_options; k++) twice |= px_same(seen[k], o);
		if (o.n == 0 || o.n > max_option || twice) px_refuse("each option must be a text of 1 to 128 bytes, and none may come twice");
		if (n < max_options) seen[n] = o;
	}
	if (n < 2 || n > max_options) px_refuse("options must be 2 to 32 texts");
	px_map p = {0};
	px_put_text(&p, "id", id);
	px_put_text(&p, "question", question);
	px_put(&p, "options", options);
	return p;
}

/* running finds the poll that a message refers to and says no where it is closed. */
static px_value running(px_message m, px_text *id) {
	for (px_iter i = px_items(m.parents); px_next(&i);) {
		*id = px_text_of(i.value);
		px_value p = px_state_value(PX_CAT(PX("p/"), *id));
		if (p.n == 0) continue;
		if (px_has(PX_CAT(PX("x/"), *id))) px_refuse("the poll is closed");
		return p;
	}
	px_refuse("refs.messages must name the message that opened the poll");
}

static bool offers(px_value p, px_text option) {
	for (px_iter i = px_items(px_get(p, "options")); px_next(&i);)
		if (option.n > 0 && px_same(px_text_of(i.value), option)) return true;
	return false;
}

static void fold(px_message m) {
	px_text id;
	if (px_same(m.type, PX("vote:open"))) {
		px_map p = read_poll(m.content);
		px_put_text(&p, "order", order(m));
		px_put_text(&p, "sender", m.sender);
		px_set_value(PX_CAT(PX("p/"), m.id), px_map_end(&p));
		px_set(PX_CAT(PX("o/"), order(m)), m.id);
	} else if (px_same(m.type, PX("vote:cast"))) {
		px_value p = running(m, &id);
		px_text option = px_text_of(px_get(m.content, "option"));
		if (!offers(p, option)) px_refuse("option must be one of the poll's options");
		px_set(PX_CAT(PX("c/"), id, PX("/"), m.sender), option);
	} else if (px_same(m.type, PX("vote:close"))) {
		px_value p = running(m, &id);
		if (!px_same(px_text_of(px_get(p, "sender")), m.sender)) px_refuse("only the one who opened a poll may close it");
		px_set(PX_CAT(PX("x/"), id), m.id);
		px_del(PX_CAT(PX("o/"), px_text_of(px_get(p, "order"))));
	} else {
		px_refuse("no such message");
	}
}

static px_map describe(px_text id, px_value p) {
	px_map out = {0};
	px_text by;
	px_put_text(&out, "poll", id);
	px_put(&out, "id", px_get(p, "id"));
	px_put(&out, "sender", px_get(p, "sender"));
	px_put(&out, "options", px_get(p, "options"));
	px_put(&out, "question", px_get(p, "question"));
	if (px_state(PX_CAT(PX("x/"), id), &by)) px_put_text(&out, "closed", by);
	return out;
}

/* asked finds the poll that a view or command is about. */
static px_value asked(px_query q, px_text *id) {
	*id = px_text_of(px_get(q.params, "poll"));
	if (id->n == 0 || id->n > max_id) px_refuse("poll is required: the `poll` of an item of the view open");
	px_value p = px_state_value(PX_CAT(PX("p/"), *id));
	if (p.n == 0) px_refuse_text(PX_CAT(PX("poll "), *id, PX(" isn't known here: take the `poll` of an item of the view open")));
	return p;
}

static px_value view_open(void) {
	px_list polls = {0};
	px_text key = {0}, id;
	while (polls.count < max_polls && px_scan(PX("o/"), &key)) {
		px_state(key, &id);
		px_map item = describe(id, px_state_value(PX_CAT(PX("p/"), id)));
		px_push(&polls, px_map_end(&item));
	}
	px_map out = {0};
	px_put(&out, "polls", px_list_end(&polls));
	return px_map_end(&out);
}

static px_value view_tally(px_query q) {
	px_text id, key = {0}, chosen;
	px_value p = asked(q, &id);
	int64_t counts[max_options] = {0}, voters = 0;
	px_text prefix = PX_CAT(PX("c/"), id, PX("/"));
	while (px_scan(prefix, &key)) {
		px_state(key, &chosen);
		int n = 0;
		for (px_iter i = px_items(px_get(p, "options")); px_next(&i); n++) counts[n] += px_same(px_text_of(i.value), chosen);
		voters++;
	}
	px_list tally = {0};
	for (px_iter i = px_items(px_get(p, "options")); px_next(&i);) {
		px_map item = {0};
		px_put(&item, "option", i.value);
		px_put(&item, "votes", px_int(counts[tally.count]));
		px_push(&tally, px_map_end(&item));
	}
	px_map out = describe(id, p);
	px_put(&out, "tally", px_list_end(&tally));
	px_put(&out, "voters", px_int(voters));
	return px_map_end(&out);
}

static px_value view(px_query q) {
	if (px_same(q.name, PX("open"))) return view_open();
	if (px_same(q.name, PX("tally"))) return view_tally(q);
	px_refuse("no such view");
}

static void command(px_query q) {
	if (px_same(q.name, PX("open"))) {
		px_map p = read_poll(q.params);
		px_say((px_draft){.type = PX("vote:open"), .content = px_map_end(&p)});
		return;
	}
	px_text id;
	px_value p = asked(q, &id);
	if (px_has(PX_CAT(PX("x/"), id))) px_refuse("the poll is closed");
	px_list parents = {0};
	px_push(&parents, px_string(id));
	if (px_same(q.name, PX("cast"))) {
		px_text option = px_text_of(px_get(q.params, "option"));
		if (!offers(p, option)) px_refuse("option must be one of the poll's options");
		px_map content = {0};
		px_put_text(&content, "option", option);
		px_say((px_draft){.type = PX("vote:cast"), .content = px_map_end(&content), .parents = px_list_end(&parents)});
	} else if (px_same(q.name, PX("close"))) {
		if (!px_same(px_text_of(px_get(p, "sender")), q.caller)) px_refuse("only the one who opened a poll may close it");
		px_say((px_draft){.type = PX("vote:close"), .parents = px_list_end(&parents)});
	} else {
		px_refuse("no such command");
	}
}

PLEXUS({.name = "vote", .fold = fold, .view = view, .command = command})
