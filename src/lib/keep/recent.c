/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of bytes, in which no item goes around the end: an empty one fills the rest. Whatever is
 * added first removes as much from the begin as it needs.
 */
#include "lib/keep/recent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MARK_TEXT_BYTES = 256 };

struct kept_mark {
	struct sink_mark mark; /* its text is behind it */
	char text[MARK_TEXT_BYTES];
};

int recent_init(struct recent *r, uint64_t capacity)
{
	void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*r = (struct recent){0};
	if (memory == MAP_FAILED)
		return -ENOMEM;
	madvise(memory, capacity, MADV_DONTFORK); /* a child of the program has no use for it */
	r->memory = memory;
	r->capacity = capacity;
	return 0;
}

void recent_fini(struct recent *r)
{
	if (r->memory)
		munmap(r->memory, r->capacity);
	*r = (struct recent){0};
}

static struct recent_item *recent_at(const struct recent *r, uint64_t at)
{
	return (struct recent_item *)(void *)(r->memory + at % r->capacity);
}

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Where the memory ends with less than an item, there is none. */
static uint64_t pass_end(const struct recent *r, uint64_t at)
{
	uint64_t left = r->capacity - at % r->capacity;

	return left < sizeof(struct recent_item) ? at + left : at;
}

static void remove_first(struct recent *r)
{
	const struct recent_item *item = recent_at(r, pass_end(r, r->first));

	r->first = pass_end(r, r->first) + item->bytes;
	r->is_cut = item->kind != RECENT_ROUND;
	if (item->kind == RECENT_ROUND)
		r->round_ns = item->ns;
}

static void recent_make_room(struct recent *r, uint64_t bytes)
{
	while (r->first < r->end && r->end + bytes - r->first > r->capacity)
		remove_first(r);
}

/* Returns the new item's content, or NULL. */
static void *recent_add(struct recent *r, const struct recent_item *head, uint64_t content)
{
	uint64_t bytes = sizeof(*head) + rounded(content);
	uint64_t left = r->capacity - r->end % r->capacity;

	if (bytes > r->capacity / 4)
		return NULL;
	if (left < bytes) {
		recent_make_room(r, left);
		if (left >= sizeof(*head))
			*recent_at(r, r->end) = (struct recent_item){.bytes = left};
		r->end += left;
	}
	recent_make_room(r, bytes);
	struct recent_item *item = recent_at(r, r->end);
	*item = *head;
	item->bytes = bytes;
	r->end += bytes;
	return item + 1;
}

void recent_records(struct recent *r, struct drain *drain, uint32_t lane,
	const struct brick_record *records, size_t count)
{
	struct recent_records *content = recent_add(r,
		&(struct recent_item){
			.kind = RECENT_RECORDS, .drain = drain, .lane = lane, .count = count},
		sizeof(*content) + count * sizeof(*records));

	if (!content)
		return;
	drain_start_get(drain, lane, &content->start);
	memcpy(content->records, records, count * sizeof(*records));
}

void recent_off_cpu(
	struct recent *r, struct drain *drain, const struct sink_off_cpu *intervals, size_t count)
{
	enum { AT_ONCE = 4096 };

	for (size_t i = 0; i < count; i += AT_ONCE) {
		size_t n = count - i < AT_ONCE ? count - i : AT_ONCE;
		void *content = recent_add(r,
			&(struct recent_item){.kind = RECENT_OFF_CPU, .drain = drain, .count = n},
			n * sizeof(*intervals));
		if (content)
			memcpy(content, intervals + i, n * sizeof(*intervals));
	}
}

void recent_mark(struct recent *r, const struct sink_mark *mark)
{
	struct kept_mark *content = recent_add(
		r, &(struct recent_item){.kind = RECENT_MARK, .count = 1}, sizeof(*content));

	if (!content)
		return;
	content->mark = *mark;
	snprintf(content->text, sizeof(content->text), "%s", mark->text);
	content->mark.text = content->text;
}

void recent_round(struct recent *r, uint64_t ns)
{
	(void)recent_add(r, &(struct recent_item){.kind = RECENT_ROUND, .ns = ns}, 0);
}

const struct recent_item *recent_next(const struct recent *r, uint64_t *at)
{
	*at = pass_end(r, *at);
	if (*at >= r->end)
		return NULL;
	const struct recent_item *item = recent_at(r, *at);
	*at += item->bytes;
	return item;
}

void recent_forget(struct recent *r, const struct drain *drain)
{
	struct recent_item *item;
	uint64_t at = r->first;

	while ((item = (struct recent_item *)recent_next(r, &at)))
		if (item->drain == drain) {
			item->kind = RECENT_NOTHING;
			item->drain = NULL;
		}
}

uint64_t recent_begin(const struct recent *r, uint64_t ns, uint64_t *began_ns)
{
	const struct recent_item *item;
	uint64_t at = r->first, begin = r->first;
	bool is_whole = !r->is_cut;

	*began_ns = r->round_ns;
	while ((item = recent_next(r, &at)))
		if (item->kind == RECENT_ROUND && at < r->end && (!is_whole || item->ns <= ns)) {
			is_whole = true;
			begin = at;
			*began_ns = item->ns;
		}
	return begin;
}

const struct recent_records *recent_records_of(const struct recent_item *item)
{
	return (const void *)(item + 1);
}

const struct sink_off_cpu *recent_off_cpu_of(const struct recent_item *item)
{
	return (const void *)(item + 1);
}

const struct sink_mark *recent_mark_of(const struct recent_item *item)
{
	return &((const struct kept_mark *)(const void *)(item + 1))->mark;
}
