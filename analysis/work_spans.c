/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of pieces of time keeps how far each is behind the one before, and how long it is; the
 * last stays open, as the next may touch it. Called by work_accounts.c.
 */
#include "analysis/work_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Behind the last one; what is longer than 32 bits hold is several. */
static void keep(struct work_spans *s, uint64_t gap_ns, uint64_t length_ns)
{
	s->spans[s->count++] = (struct work_span){(uint32_t)gap_ns, (uint32_t)length_ns};
	s->kept_end_ns += gap_ns + length_ns;
}

static int keep_last(struct work_spans *s)
{
	uint64_t gap_ns = s->begin_ns - s->kept_end_ns, length_ns = s->end_ns - s->begin_ns;
	size_t more = 1 + gap_ns / UINT32_MAX + length_ns / UINT32_MAX;

	if (s->count + more > s->capacity) {
		struct work_span *spans =
			array_grow(s->spans, &s->capacity, s->count + more, sizeof(*spans));
		if (!spans)
			return -ENOMEM;
		s->spans = spans;
	}
	for (; gap_ns > UINT32_MAX; gap_ns -= UINT32_MAX)
		keep(s, UINT32_MAX, 0);
	for (; length_ns > UINT32_MAX; length_ns -= UINT32_MAX, gap_ns = 0)
		keep(s, gap_ns, UINT32_MAX);
	keep(s, gap_ns, length_ns);
	return 0;
}

int work_spans_add(struct work_spans *s, uint64_t begin_ns, uint64_t end_ns)
{
	if (s->end_ns && begin_ns <= s->end_ns) {
		s->end_ns = end_ns > s->end_ns ? end_ns : s->end_ns;
		return 0;
	}
	if (s->end_ns && keep_last(s))
		return -ENOMEM;
	s->begin_ns = begin_ns;
	s->end_ns = end_ns;
	return 0;
}

/* One after the other; begin_ns is UINT64_MAX behind the last. */
struct cursor {
	const struct work_spans *spans;
	size_t at;
	uint64_t begin_ns, end_ns;
};

static void next(struct cursor *c)
{
	const struct work_spans *s = c->spans;

	if (c->at < s->count) {
		c->begin_ns = c->end_ns + s->spans[c->at].gap_ns;
		c->end_ns = c->begin_ns + s->spans[c->at++].length_ns;
	} else if (c->end_ns < s->end_ns) {
		c->begin_ns = s->begin_ns;
		c->end_ns = s->end_ns;
	} else {
		c->begin_ns = UINT64_MAX;
	}
}

static struct cursor first(const struct work_spans *s)
{
	struct cursor c = {.spans = s};

	next(&c);
	return c;
}

void work_spans_clear(struct work_spans *s)
{
	s->count = 0;
	s->kept_end_ns = s->begin_ns = s->end_ns = 0;
}

static int copy(struct work_spans *to, const struct work_spans *from)
{
	struct work_span *spans = array_grow(to->spans, &to->capacity, from->count, sizeof(*spans));

	if (!spans)
		return -ENOMEM;
	memcpy(spans, from->spans, from->count * sizeof(*spans));
	*to = (struct work_spans){
		spans, from->count, to->capacity, from->kept_end_ns, from->begin_ns, from->end_ns};
	return 0;
}

int work_spans_unite(struct work_spans *to, const struct work_spans *from)
{
	if (!to->end_ns && from->count)
		return copy(to, from);
	struct work_spans both = {0};
	struct cursor a = first(to), b = first(from);
	int rc = 0;

	while (!rc && (a.begin_ns != UINT64_MAX || b.begin_ns != UINT64_MAX)) {
		struct cursor *c = a.begin_ns <= b.begin_ns ? &a : &b;
		rc = work_spans_add(&both, c->begin_ns, c->end_ns);
		next(c);
	}
	free(to->spans);
	*to = both;
	return rc;
}

uint64_t work_spans_length_ns(const struct work_spans *s)
{
	uint64_t ns = 0;

	for (struct cursor c = first(s); c.begin_ns != UINT64_MAX; next(&c))
		ns += c.end_ns - c.begin_ns;
	return ns;
}
