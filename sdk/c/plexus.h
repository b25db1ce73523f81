/* plexus.h: how a Plexus plugin is written in C. One header, no library, no libc.
 *
 * A plugin folds a Space's messages one by one into keys and values; views answer from these. The node sees to order, late
 * messages, storage and replication. Write plain sequential code; every replica ends with the same state.
 *
 *   static void fold(px_message m) {
 *       px_set(PX_CAT(PX("vote/"), m.sender), px_text_of(px_get(m.content, "option")));
 *   }
 *   static px_value view(px_query q) { ... return px_map_end(&out); }
 *
 *   PLEXUS({ .name = "vote", .fold = fold, .view = view })
 *
 * Rules. Memory doesn't live from one call to the next: before each, it is what it was at the start, so nothing is ever freed.
 * There is no clock, no randomness, no file. px_refuse ends the call: what the fold set is undone, and the message is marked with
 * the reason.
 *
 * Build: clang --target=wasm32 -O2 -nostdlib -ffreestanding -mbulk-memory -Wl,--no-entry -Wl,--strip-all
 * Then `plexus plugin build`, which does that too, appends the manifest. The ABI is docs/plugins.md of Plexus; this is version 1.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLEXUS_H
#define PLEXUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- texts and memory ---------------------------------------------------------------------------------------------- */

/* px_text is bytes somewhere in memory, mostly UTF-8. Not zero-terminated. */
typedef struct {
	const char *p;
	uint32_t n;
} px_text;

/* px_value is one CBOR item where it lies. n = 0: there is none, and everything asked of it answers with nothing. */
typedef struct {
	const uint8_t *p;
	uint32_t n;
} px_value;

/* PX makes a px_text of a literal. */
#define PX(literal) ((px_text){(literal), sizeof(literal) - 1})

#define PX_UNUSED __attribute__((unused))

#ifndef PX_HEAP
#define PX_HEAP (256 << 10) /* bytes before memory has to grow, which makes a call slow */
#endif

static uint8_t px_heap[PX_HEAP] __attribute__((aligned(16)));
static uint8_t *px_at_free = px_heap, *px_end_free = px_heap + PX_HEAP;

/* px_alloc returns n bytes, which are zero. They live until the call ends. */
PX_UNUSED static void *px_alloc(uint32_t n) {
	n = (n + 7) & ~7u;
	if (n > (uint32_t)(px_end_free - px_at_free)) {
		uint32_t pages = (n >> 16) + 1, was = __builtin_wasm_memory_grow(0, pages);
		if (was == (uint32_t)-1) __builtin_trap();
		px_at_free = (uint8_t *)(was << 16);
		px_end_free = px_at_free + (pages << 16);
	}
	uint8_t *p = px_at_free;
	px_at_free += n;
	return p;
}

PX_UNUSED static void px_copy(void *to, const void *from, uint32_t n) { __builtin_memcpy(to, from, n); }

/* px_compare orders bytes as the state's keys are ordered. */
PX_UNUSED static int px_compare(px_text a, px_text b) {
	uint32_t n = a.n < b.n ? a.n : b.n;
	for (uint32_t i = 0; i < n; i++)
		if (a.p[i] != b.p[i]) return (uint8_t)a.p[i] < (uint8_t)b.p[i] ? -1 : 1;
	return a.n < b.n ? -1 : a.n > b.n;
}

PX_UNUSED static bool px_same(px_text a, px_text b) {
	if (a.n != b.n) return false;
	for (uint32_t i = 0; i < a.n; i++)
		if (a.p[i] != b.p[i]) return false;
	return true;
}

PX_UNUSED static px_text px_cat(const px_text *parts, uint32_t count) {
	uint32_t n = 0;
	for (uint32_t i = 0; i < count; i++) n += parts[i].n;
	char *p = px_alloc(n), *at = p;
	for (uint32_t i = 0; i < count; i++) {
		px_copy(at, parts[i].p, parts[i].n);
		at += parts[i].n;
	}
	return (px_text){p, n};
}

/* PX_CAT joins texts: PX_CAT(PX("p/"), m.id). */
#define PX_CAT(...) px_cat((px_text[]){__VA_ARGS__}, sizeof((px_text[]){__VA_ARGS__}) / sizeof(px_text))

PX_UNUSED static px_text px_cstr(const char *s) {
	uint32_t n = 0;
	while (s[n]) n++;
	return (px_text){s, n};
}

/* ---- the node's functions (docs/plugins.md §6.1) -------------------------------------------------------------------- */

#define PX_IMPORT(name) __attribute__((import_module("plexus_1"), import_name(#name)))
PX_IMPORT(input_read) void px_host_input_read(void *dst);
PX_IMPORT(output_write) void px_host_output_write(const void *p, uint32_t n);
PX_IMPORT(state_get) int32_t px_host_state_get(const void *k, uint32_t kn, void *dst, uint32_t size);
PX_IMPORT(state_set) void px_host_state_set(const void *k, uint32_t kn, const void *v, uint32_t vn);
PX_IMPORT(state_del) void px_host_state_del(const void *k, uint32_t kn);
PX_IMPORT(state_next) int32_t px_host_state_next(const void *prefix, uint32_t pn, const void *after, uint32_t an, void *dst, uint32_t size);
PX_IMPORT(message_get) int32_t px_host_message_get(const void *id, uint32_t n, void *dst, uint32_t size);
PX_IMPORT(message_text) int32_t px_host_message_text(const void *id, uint32_t n, void *dst, uint32_t size);
PX_IMPORT(happened_before) int32_t px_host_happened_before(const void *a, uint32_t an, const void *b, uint32_t bn);
PX_IMPORT(sha256) void px_host_sha256(const void *p, uint32_t n, void *dst);
PX_IMPORT(ed25519_verify) int32_t px_host_ed25519_verify(const void *key, const void *sig, const void *p, uint32_t n);
PX_IMPORT(log) void px_host_log(int32_t level, const void *p, uint32_t n);
PX_IMPORT(fail) __attribute__((noreturn)) void px_host_fail(uint32_t code, const void *p, uint32_t n);
PX_IMPORT(now) int64_t px_host_now(void); /* command and react, with the grant "now" */
PX_IMPORT(random) void px_host_random(void *dst, uint32_t n);
PX_IMPORT(timer_set) void px_host_timer_set(const void *k, uint32_t kn, int64_t at);
PX_IMPORT(timer_del) void px_host_timer_del(const void *k, uint32_t kn);
/* view, command and react, with the grant "trust": 0 unknown, 1 known, 2 trusted, 3 owner; 4 nobody (of an action); -1: nothing was said */
PX_IMPORT(trust_level) int32_t px_host_trust_level(const void *node, uint32_t n);
PX_IMPORT(trust_needed) int32_t px_host_trust_needed(const void *action, uint32_t n);
PX_IMPORT(schema_check) int32_t px_host_schema_check(const void *s, uint32_t sn, const void *v, uint32_t vn, void *dst, uint32_t size); /* with the grant "schema" */

/* px_refuse ends the call with a reason that people read. */
PX_UNUSED __attribute__((noreturn)) static void px_refuse_text(px_text why) { px_host_fail(1, why.p, why.n); }
#define px_refuse(literal) px_refuse_text(PX(literal))

/* px_log writes a line for the plugin's author; it changes nothing. */
PX_UNUSED static void px_log(px_text line) { px_host_log(0, line.p, line.n); }

/* ---- reading -------------------------------------------------------------------------------------------------------- */

typedef enum { PX_NONE, PX_NULL, PX_BOOL, PX_INT, PX_FLOAT, PX_TEXT, PX_BYTES, PX_LIST, PX_MAP } px_kind;

/* px_head reads an item's first byte and argument; returns their length, 0 where they aren't well-formed. */
PX_UNUSED static uint32_t px_head(px_value v, uint8_t *major, uint64_t *arg) {
	if (v.n == 0) return 0;
	uint8_t info = v.p[0] & 31;
	*major = v.p[0] >> 5;
	if (info < 24) {
		*arg = info;
		return 1;
	}
	if (info > 27) return 0;
	uint32_t size = 1 + (1u << (info - 24));
	if (v.n < size) return 0;
	uint64_t a = 0;
	for (uint32_t i = 1; i < size; i++) a = a << 8 | v.p[i];
	*arg = a;
	return size;
}

PX_UNUSED static px_value px_from(px_value v, uint32_t at) { return (px_value){v.p + at, v.n - at}; }

/* px_skip returns the length of the item at the start of v; 0: not well-formed or too deep. */
PX_UNUSED static uint32_t px_skip(px_value v, int depth) {
	uint8_t major;
	uint64_t n;
	uint32_t size = px_head(v, &major, &n), at, l;
	if (size == 0 || depth == 0 || major == 6) return 0;
	if (major == 2 || major == 3) return n > v.n - size ? 0 : size + (uint32_t)n;
	if (major != 4 && major != 5) return size;
	if (n > v.n) return 0;
	for (at = size, n <<= major - 4; n > 0; n--, at += l)
		if ((l = px_skip(px_from(v, at), depth - 1)) == 0) return 0;
	return at;
}

PX_UNUSED static px_kind px_kind_of(px_value v) {
	static const uint8_t kinds[7] = {PX_INT, PX_INT, PX_BYTES, PX_TEXT, PX_LIST, PX_MAP, PX_NONE};
	uint8_t major;
	uint64_t arg;
	uint32_t size = px_head(v, &major, &arg);
	if (size == 0) return PX_NONE;
	if (major < 7) return kinds[major];
	if (size == 9) return PX_FLOAT;
	if (size > 1) return PX_NONE;
	return arg == 22 ? PX_NULL : arg == 20 || arg == 21 ? PX_BOOL : PX_NONE;
}

PX_UNUSED static px_text px_raw(px_value v, uint8_t want) {
	uint8_t major;
	uint64_t n;
	uint32_t size = px_head(v, &major, &n);
	if (size == 0 || major != want || n > v.n - size) return (px_text){0, 0};
	return (px_text){(const char *)v.p + size, (uint32_t)n};
}

/* px_text_of returns a text, or the empty one. px_bytes_of the same of a byte string. */
PX_UNUSED static px_text px_text_of(px_value v) { return px_raw(v, 3); }
PX_UNUSED static px_text px_bytes_of(px_value v) { return px_raw(v, 2); }

/* px_int_of reads an integer; false where there is none. */
PX_UNUSED static bool px_int_of(px_value v, int64_t *out) {
	uint8_t major;
	uint64_t arg;
	if (px_head(v, &major, &arg) == 0 || major > 1 || arg > INT64_MAX) return false;
	*out = major == 0 ? (int64_t)arg : -1 - (int64_t)arg;
	return true;
}

/* px_float_of reads any number; false where there is none. */
PX_UNUSED static bool px_float_of(px_value v, double *out) {
	uint8_t major;
	uint64_t arg;
	uint32_t size = px_head(v, &major, &arg);
	if (size == 0 || (major > 1 && (major != 7 || size != 9))) return false;
	if (major == 7) px_copy(out, &arg, 8);
	else *out = major == 0 ? (double)arg : -1.0 - (double)arg;
	return true;
}

PX_UNUSED static bool px_bool_of(px_value v) { return v.n > 0 && v.p[0] == 0xf5; }

/* px_iter walks over a list's items or a map's pairs: px_iter i = px_each(v); while (px_next(&i)) ... i.value, i.key. */
typedef struct {
	px_value rest, key, value;
	uint64_t left;
	bool map;
} px_iter;

PX_UNUSED static px_iter px_each(px_value v) {
	px_iter i = {0};
	uint8_t major;
	uint64_t n;
	uint32_t size = px_head(v, &major, &n);
	if (size == 0 || (major != 4 && major != 5)) return i;
	i.rest = px_from(v, size), i.left = n, i.map = major == 5;
	return i;
}

PX_UNUSED static px_value px_take(px_iter *i) {
	uint32_t l = px_skip(i->rest, 66);
	px_value v = {i->rest.p, l};
	if (l == 0) i->left = 0;
	i->rest = px_from(i->rest, l);
	return v;
}

PX_UNUSED static bool px_next(px_iter *i) {
	if (i->left == 0) return false;
	i->left--;
	if (i->map) i->key = px_take(i);
	i->value = px_take(i);
	return i->value.n > 0;
}

/* px_items walks over a list alone; anything else has no items. */
PX_UNUSED static px_iter px_items(px_value v) {
	return px_kind_of(v) == PX_LIST ? px_each(v) : (px_iter){0};
}

/* px_find returns the value at a text key of a map, or none. px_get the same by a literal. */
PX_UNUSED static px_value px_find(px_value map, px_text key) {
	px_iter i = px_each(map);
	while (i.map && px_next(&i))
		if (px_kind_of(i.key) == PX_TEXT && px_same(px_text_of(i.key), key)) return i.value;
	return (px_value){0, 0};
}
#define px_get(map, literal) px_find((map), PX(literal))

/* ---- writing: deterministic CBOR ------------------------------------------------------------------------------------ */

typedef struct {
	uint8_t *p;
	uint32_t n, size;
} px_buf;

PX_UNUSED static uint8_t *px_more(px_buf *b, uint32_t n) {
	if (b->size - b->n < n) {
		uint32_t size = b->size * 2 + n + 64;
		uint8_t *p = px_alloc(size);
		px_copy(p, b->p, b->n);
		b->p = p, b->size = size;
	}
	b->n += n;
	return b->p + b->n - n;
}

PX_UNUSED static void px_put_head(px_buf *b, uint8_t major, uint64_t n) {
	uint8_t info = n < 24 ? (uint8_t)n : n <= 0xff ? 24 : n <= 0xffff ? 25 : n <= 0xffffffff ? 26 : 27;
	uint32_t size = info < 24 ? 0 : 1u << (info - 24);
	uint8_t *p = px_more(b, 1 + size);
	*p++ = (uint8_t)(major << 5 | info);
	while (size-- > 0) *p++ = (uint8_t)(n >> (8 * size));
}

PX_UNUSED static void px_put_raw(px_buf *b, const void *p, uint32_t n) { px_copy(px_more(b, n), p, n); }

PX_UNUSED static px_value px_done(px_buf b) { return (px_value){b.p, b.n}; }

PX_UNUSED static px_value px_int(int64_t n) {
	px_buf b = {0};
	px_put_head(&b, n < 0, n < 0 ? (uint64_t)(-1 - n) : (uint64_t)n);
	return px_done(b);
}

PX_UNUSED static px_value px_string(px_text s) {
	px_buf b = {px_alloc(s.n + 9), 0, s.n + 9};
	px_put_head(&b, 3, s.n);
	px_put_raw(&b, s.p, s.n);
	return px_done(b);
}

PX_UNUSED static px_value px_bool(bool v) {
	px_buf b = {0};
	*px_more(&b, 1) = v ? 0xf5 : 0xf4;
	return px_done(b);
}

PX_UNUSED static px_value px_null(void);

/* px_float writes a number; NaN and the infinities have no place in JSON and become null. */
PX_UNUSED static px_value px_float(double f) {
	uint64_t bits;
	px_buf b = {0};
	px_copy(&bits, &f, 8);
	if ((bits >> 52 & 0x7ff) == 0x7ff) return px_null();
	uint8_t *p = px_more(&b, 9);
	*p++ = 0xfb;
	for (int i = 7; i >= 0; i--) *p++ = (uint8_t)(bits >> (8 * i));
	return px_done(b);
}

PX_UNUSED static px_value px_null(void) {
	px_buf b = {0};
	*px_more(&b, 1) = 0xf6;
	return px_done(b);
}

/* px_list gathers values: px_list l = {0}; px_push(&l, v); ... px_list_end(&l). */
typedef struct {
	px_buf b;
	uint32_t count;
} px_list;

PX_UNUSED static void px_push(px_list *l, px_value v) {
	px_put_raw(&l->b, v.p, v.n);
	l->count++;
}

PX_UNUSED static px_value px_list_end(px_list *l) {
	px_buf b = {px_alloc(l->b.n + 9), 0, l->b.n + 9};
	px_put_head(&b, 4, l->count);
	px_put_raw(&b, l->b.p, l->b.n);
	return px_done(b);
}

/* px_map gathers pairs with text keys, in any order, each key once; px_map_end puts them into theirs. */
typedef struct {
	px_text *keys;
	px_value *values;
	uint32_t count, size;
} px_map;

PX_UNUSED static void px_put_key(px_map *m, px_text key, px_value v) {
	if (v.n == 0) v = px_null();
	if (m->count == m->size) {
		uint32_t size = m->size * 2 + 8;
		px_text *keys = px_alloc(size * sizeof *keys);
		px_value *values = px_alloc(size * sizeof *values);
		px_copy(keys, m->keys, m->count * sizeof *keys);
		px_copy(values, m->values, m->count * sizeof *values);
		m->keys = keys, m->values = values, m->size = size;
	}
	uint32_t i = m->count++; /* shorter keys first, then by bytes: as their encodings are ordered */
	for (; i > 0 && (m->keys[i - 1].n != key.n ? m->keys[i - 1].n > key.n : px_compare(m->keys[i - 1], key) > 0); i--)
		m->keys[i] = m->keys[i - 1], m->values[i] = m->values[i - 1];
	m->keys[i] = key, m->values[i] = v;
}
#define px_put(map, literal, value) px_put_key((map), PX(literal), (value))
#define px_put_text(map, literal, text) px_put_key((map), PX(literal), px_string(text))

PX_UNUSED static px_value px_map_end(px_map *m) {
	uint32_t size = 9;
	for (uint32_t i = 0; i < m->count; i++) size += 9 + m->keys[i].n + m->values[i].n;
	px_buf b = {px_alloc(size), 0, size};
	px_put_head(&b, 5, m->count);
	for (uint32_t i = 0; i < m->count; i++) {
		px_put_head(&b, 3, m->keys[i].n);
		px_put_raw(&b, m->keys[i].p, m->keys[i].n);
		px_put_raw(&b, m->values[i].p, m->values[i].n);
	}
	return px_done(b);
}

/* ---- state ---------------------------------------------------------------------------------------------------------- */

#define PX_FIRST 512 /* bytes a value is fetched into at first; a longer one is asked for again */

/* px_state reads a key; false: absent. */
PX_UNUSED static bool px_state(px_text key, px_text *value) {
	char *p = px_alloc(PX_FIRST);
	int32_t n = px_host_state_get(key.p, key.n, p, PX_FIRST);
	if (n < 0) return false;
	if (n > PX_FIRST) px_host_state_get(key.p, key.n, p = px_alloc((uint32_t)n), (uint32_t)n);
	*value = (px_text){p, (uint32_t)n};
	return true;
}

/* px_state_value reads a key that px_set_value wrote; none where it is absent. */
PX_UNUSED static px_value px_state_value(px_text key) {
	px_text t;
	return px_state(key, &t) ? (px_value){(const uint8_t *)t.p, t.n} : (px_value){0, 0};
}

PX_UNUSED static bool px_has(px_text key) { return px_host_state_get(key.p, key.n, 0, 0) >= 0; }
PX_UNUSED static void px_set(px_text key, px_text value) { px_host_state_set(key.p, key.n, value.p, value.n); }
PX_UNUSED static void px_set_value(px_text key, px_value v) { px_host_state_set(key.p, key.n, v.p, v.n); }
PX_UNUSED static void px_del(px_text key) { px_host_state_del(key.p, key.n); }

/* px_scan goes on to the next key with a prefix: px_text key = {0}; while (px_scan(prefix, &key)) ... */
PX_UNUSED static bool px_scan(px_text prefix, px_text *key) {
	char *p = px_alloc(256); /* the longest key */
	int32_t n = px_host_state_next(prefix.p, prefix.n, key->p, key->n, p, 256);
	if (n < 0) return false;
	*key = (px_text){p, (uint32_t)n};
	return true;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------- */

typedef struct {
	px_text id, sender, type, role, kind; /* kind: of the sender, "human" or "agent" */
	int64_t time;                         /* microseconds since the epoch: the only clock */
	px_value content, meta;               /* maps */
	px_value parents, nodes;              /* lists of text: refs.messages, refs.nodes */
} px_message;

typedef struct {
	px_text name, caller; /* caller: the Node that asks; empty: nobody */
	px_text role, kind;   /* of the caller: "admin", "writer", "reader"; "human", "agent"; empty: not known */
	px_value params;      /* a map, or none */
} px_query;

typedef struct {
	px_message message; /* id empty: it is a timer */
	px_text timer, node, role, kind; /* role and kind: the Node's, as in px_query */
	bool again;                      /* the fold refused the message when it came, and takes it now */
} px_event;

typedef struct {
	const char *name;              /* as in the manifest */
	void (*fold)(px_message);      /* takes one message in */
	px_value (*view)(px_query);    /* answers from the state */
	void (*command)(px_query);     /* says (px_say) what its caller shall say */
	void (*react)(px_event);       /* the same, of itself, where the user turned it on */
} px_plugin;

/* px_draft is one message to be said; what is left out is empty. */
typedef struct {
	px_text type;
	px_value content, meta;  /* maps; content none: empty */
	px_value parents, nodes; /* lists of text: refs.messages, refs.nodes */
	px_text key;             /* react: it is said once by this key */
	bool once;               /* react: of several Nodes of a host that would say it of one event, the first does */
} px_draft;

PX_UNUSED static void px_put_pair(px_buf *b, uint64_t key, px_value v) {
	if (v.n == 0) return;
	px_put_head(b, 0, key);
	px_put_raw(b, v.p, v.n);
}

/* px_say says a message, in command and react: px_say((px_draft){.type = PX("vote:cast"), .content = ...}). */
PX_UNUSED static void px_say(px_draft d) {
	static const uint8_t empty[] = {0xa0};
	px_buf b = {0};
	px_put_head(&b, 5, 1 + (d.type.n > 0) + (d.meta.n > 0) + (d.parents.n > 0) + (d.nodes.n > 0) + (d.key.n > 0) + d.once);
	if (d.type.n > 0) px_put_pair(&b, 1, px_string(d.type));
	px_put_pair(&b, 2, d.content.n > 0 ? d.content : (px_value){empty, 1});
	px_put_pair(&b, 3, d.meta);
	px_put_pair(&b, 4, d.parents);
	px_put_pair(&b, 5, d.nodes);
	if (d.key.n > 0) px_put_pair(&b, 6, px_string(d.key));
	if (d.once) px_put_pair(&b, 7, px_bool(true));
	px_host_output_write(b.p, b.n);
}

PX_UNUSED static px_message px_read_message(px_value v) {
	px_message m = {0};
	px_iter i = px_each(v);
	while (px_next(&i)) {
		int64_t key = 0;
		if (!px_int_of(i.key, &key)) continue;
		switch (key) {
		case 1: m.id = px_text_of(i.value); break;
		case 2: m.sender = px_text_of(i.value); break;
		case 3: px_int_of(i.value, &m.time); break;
		case 4: m.type = px_text_of(i.value); break;
		case 5: m.content = i.value; break;
		case 6: m.parents = i.value; break;
		case 7: m.nodes = i.value; break;
		case 8: m.role = px_text_of(i.value); break;
		case 9: m.kind = px_text_of(i.value); break;
		case 10: m.meta = i.value; break;
		}
	}
	return m;
}

/* px_message_by returns an earlier message: in a fold one that this plugin has folded, in a view any of the Space. */
PX_UNUSED static bool px_message_by(px_text id, px_message *m) {
	uint8_t *p = px_alloc(4096);
	int32_t n = px_host_message_get(id.p, id.n, p, 4096);
	if (n < 0) return false;
	if (n > 4096) px_host_message_get(id.p, id.n, p = px_alloc((uint32_t)n), (uint32_t)n);
	*m = px_read_message((px_value){p, (uint32_t)n});
	return true;
}

/* px_before says whether message a lies in b's past: whether b's author provably knew a. */
PX_UNUSED static bool px_before(px_text a, px_text b) { return px_host_happened_before(a.p, a.n, b.p, b.n) == 1; }

/* px_schema_check says in what a value breaks a JSON Schema, behind the value's name (".title is missing"), or nothing. schema is a map or boolean, or a text
 * that names one of the plugin's own: "messages", "commands/NAME", "views/NAME", and "messages#/oneOf/0" for a part. */
PX_UNUSED static px_text px_schema_check(px_value schema, px_value v) {
	char *p = px_alloc(512);
	int32_t n = px_host_schema_check(schema.p, schema.n, v.p, v.n, p, 512);
	if (n < 0) return (px_text){0, 0};
	if (n > 512) px_host_schema_check(schema.p, schema.n, v.p, v.n, p = px_alloc((uint32_t)n), (uint32_t)n);
	return (px_text){p, (uint32_t)n};
}

typedef struct {
	const px_plugin *plugin;
	px_message message;
	px_query query;
	px_text timer;
	bool again;
} px_input;

static const px_plugin *px_plugin_by(px_text name);

PX_UNUSED static px_input px_read_input(uint32_t n) {
	px_input in = {0};
	uint8_t *p = px_alloc(n);
	px_host_input_read(p);
	px_iter i = px_each((px_value){p, n});
	while (px_next(&i)) {
		int64_t key = 0;
		if (!px_int_of(i.key, &key)) continue;
		switch (key) {
		case 0: in.plugin = px_plugin_by(px_text_of(i.value)); break;
		case 1: in.message = px_read_message(i.value); break;
		case 2: in.query.name = px_text_of(i.value); break;
		case 3: in.query.params = i.value; break;
		case 4: in.query.caller = px_text_of(i.value); break;
		case 5: in.timer = px_text_of(i.value); break;
		case 6: in.again = px_bool_of(i.value); break;
		case 7: in.query.role = px_text_of(i.value); break;
		case 8: in.query.kind = px_text_of(i.value); break;
		}
	}
	if (in.plugin == 0) px_refuse("this file has no such plugin");
	return in;
}

#define PX_EXPORT(name) __attribute__((export_name(#name))) int32_t name

/* PLEXUS lists the file's plugins; it stands once, at the end. */
#define PLEXUS(...)                                                                                      \
	static const px_plugin px_plugins[] = {__VA_ARGS__};                                             \
	static const px_plugin *px_plugin_by(px_text name) {                                             \
		for (uint32_t i = 0; i < sizeof px_plugins / sizeof *px_plugins; i++)                    \
			if (px_same(px_cstr(px_plugins[i].name), name)) return &px_plugins[i];           \
		return 0;                                                                                \
	}                                                                                                \
	__attribute__((export_name("plexus_abi_1"))) void px_abi_1(void) {}                              \
	PX_EXPORT(plexus_fold)(uint32_t n) {                                                             \
		px_input in = px_read_input(n);                                                          \
		if (in.plugin->fold == 0) px_refuse("this plugin doesn't fold");                         \
		in.plugin->fold(in.message);                                                             \
		return 0;                                                                                \
	}                                                                                                \
	PX_EXPORT(plexus_view)(uint32_t n) {                                                             \
		px_input in = px_read_input(n);                                                          \
		if (in.plugin->view == 0) px_refuse("this plugin has no views");                         \
		px_value v = in.plugin->view(in.query);                                                  \
		px_host_output_write(v.p, v.n);                                                          \
		return 0;                                                                                \
	}                                                                                                \
	PX_EXPORT(plexus_command)(uint32_t n) {                                                          \
		px_input in = px_read_input(n);                                                          \
		if (in.plugin->command == 0) px_refuse("this plugin has no commands");                   \
		in.plugin->command(in.query);                                                            \
		return 0;                                                                                \
	}                                                                                                \
	PX_EXPORT(plexus_react)(uint32_t n) {                                                            \
		px_input in = px_read_input(n);                                                          \
		if (in.plugin->react)                                                                    \
			in.plugin->react((px_event){in.message, in.timer, in.query.caller, in.query.role, \
			                            in.query.kind, in.again});                           \
		return 0;                                                                                \
	}

#endif
