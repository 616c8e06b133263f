/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks of a thread must nest, ranges of two domains need not. When one ends across another's, the
 * other is cut in two there, and from then on that domain's ranges lie in no stack.
 */
#include "attach/annotate/ranges.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/scope.h"
#include "brick/abi/thread.h"
#include "brick/attach.h"
#include "brick/probe.h"
#include "brick/registry.h"
#include "brick/session.h"
#include "lib/probe/ring.h"

enum { MAX_OPEN = 128, MAX_STARTED = 1 << 15, MAX_NAMES = 64 };

struct range {
	struct annotation_domain *domain;
	const struct annotation *annotation;
	uint64_t bytes; /* 0: not known */
	struct brick_async async;
	brick_span span; /* 0: the range lies in no stack, or is not recorded */
	int level;	 /* the nesting level in its domain */
};

static __thread struct {
	uint32_t depth, deeper;
	uint32_t names_seen; /* of threads */
	struct range open[MAX_OPEN];
} here;

static uint64_t crossed, too_deep, unmatched, too_many;

static void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Names of threads. */

static struct {
	uint32_t tid;
	char name[64];
} thread_names[MAX_NAMES];
static uint32_t names_given;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
LOCK_OVER_FORKS(lock)

void ranges_name_thread(uint32_t tid, const char *name)
{
	KEEP_ERRNO();

	if (tid == (uint32_t)syscall(SYS_gettid)) {
		if (brick_thread_ready() == 0)
			brick_thread_name(name);
		return;
	}
	HOLD(&lock);
	uint32_t at = names_given % MAX_NAMES;
	thread_names[at].tid = tid;
	snprintf(thread_names[at].name, sizeof(thread_names[at].name), "%s", name);
	__atomic_store_n(&names_given, names_given + 1, __ATOMIC_RELEASE);
}

static void take_name(void)
{
	uint32_t own = (uint32_t)syscall(SYS_gettid);
	char name[sizeof(thread_names->name)] = "";

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < MAX_NAMES; i++)
		if (thread_names[i].tid == own) {
			memcpy(name, thread_names[i].name, sizeof(name));
			thread_names[i].tid = 0;
		}
	here.names_seen = names_given;
	pthread_mutex_unlock(&lock);
	if (*name)
		brick_thread_name(name);
}

/* Stacks. */

static __attribute__((noinline, cold)) void get_ready(void)
{
	KEEP_ERRNO();

	if (brick_thread_ready() == 0 &&
		here.names_seen != __atomic_load_n(&names_given, __ATOMIC_ACQUIRE))
		take_name();
}

static inline bool is_ready(void)
{
	return brick__thread.serial == __atomic_load_n(&brick__on, __ATOMIC_RELAXED) &&
	       here.names_seen == __atomic_load_n(&names_given, __ATOMIC_RELAXED);
}

static void begin(struct range *range)
{
	const struct annotation *a = range->annotation;

	range->span = 0;
	range->async.session = 0;
	if (a->is_step) {
		range->span = a->prompt || a->output
				      ? brick_step_begin_mixed(a->prompt, a->output)
				      : brick_step_begin((enum brick_phase)a->phase, 0);
	} else if (__atomic_load_n(&range->domain->crosses, __ATOMIC_RELAXED)) {
		range->async = brick_async_begin(a->brick);
		range->async.layer = a->layer;
	} else if (a->brick != BRICK_NONE) {
		range->span = brick_begin_layer(a->brick, a->layer);
	}
}

static void end(struct range *range)
{
	const struct annotation *a = range->annotation;

	if (!range->span) {
		if (range->async.session)
			brick_async_end(&range->async, 0);
	} else if (range->bytes && !a->is_step) {
		brick_end_work(range->span, 0, range->bytes, 0);
	} else if (a->site) {
		brick_end_site(range->span, a->site);
	} else {
		brick_end(range->span);
	}
}

static int level_below(const struct annotation_domain *domain, uint32_t depth)
{
	while (depth--)
		if (here.open[depth].domain == domain)
			return here.open[depth].level + 1;
	return 0;
}

int ranges_push(struct annotation_domain *domain, const struct annotation *annotation)
{
	if (BRICK_UNLIKELY(!is_ready()))
		get_ready();
	if (BRICK_UNLIKELY(here.depth == MAX_OPEN)) {
		here.deeper++;
		count(&too_deep);
		return MAX_OPEN + (int)here.deeper;
	}
	struct range *range = &here.open[here.depth];
	range->domain = domain;
	range->annotation = annotation;
	range->bytes = 0;
	range->level = level_below(domain, here.depth);
	begin(range);
	here.depth++;
	return range->level;
}

void ranges_bytes(const struct annotation_domain *domain, uint64_t bytes)
{
	if (here.depth && !here.deeper && here.open[here.depth - 1].domain == domain)
		here.open[here.depth - 1].bytes = bytes;
}

/* Ends a range that others lie in: they end with it, and begin anew. */
static void end_across(uint32_t at)
{
	KEEP_ERRNO();

	for (uint32_t i = here.depth - 1; i > at; i--)
		if (here.open[i].span)
			end(&here.open[i]);
	end(&here.open[at]);
	for (uint32_t i = at + 1; i < here.depth; i++) {
		struct range *range = &here.open[i - 1];
		*range = here.open[i];
		if (!range->span)
			continue;
		range->span = brick_begin_layer(range->annotation->brick, range->annotation->layer);
		__atomic_store_n(&range->domain->crosses, true, __ATOMIC_RELAXED);
		count(&crossed);
	}
	here.depth--;
}

int ranges_pop(const struct annotation_domain *domain)
{
	uint32_t at = here.depth;

	if (BRICK_UNLIKELY(here.deeper)) {
		here.deeper--;
		return MAX_OPEN;
	}
	if (BRICK_LIKELY(at && here.open[at - 1].domain == domain)) {
		struct range *range = &here.open[here.depth = at - 1];
		end(range);
		return range->level;
	}
	while (at && here.open[at - 1].domain != domain)
		at--;
	if (!at) {
		count(&unmatched);
		return -1;
	}
	int level = here.open[at - 1].level;
	end_across(at - 1);
	return level;
}

/* Ranges that may end on any thread. */

/* A number is a place, and how often that was used, so that an old one is not taken for a new. */
static struct {
	struct brick_async async;
	uint32_t use;
	uint32_t next; /* of those that are free, + 1 */
} started[MAX_STARTED];
static uint32_t free_place, places_used, open_now;

static uint64_t number_of(uint32_t place)
{
	return UINT64_C(1) << 63 | (uint64_t)started[place].use << 20 | (place + 1);
}

static uint64_t take_place(const struct brick_async *async)
{
	HOLD(&lock);
	uint32_t place = free_place ? free_place - 1 : places_used;
	if (place == MAX_STARTED) {
		count(&too_many);
		return UINT64_C(1) << 63;
	}
	if (free_place)
		free_place = started[place].next;
	else
		places_used++;
	started[place].async = *async;
	started[place].use = (started[place].use + 1) & INT32_MAX;
	open_now++;
	return number_of(place);
}

uint64_t ranges_start(const struct annotation *annotation)
{
	struct brick_async async = brick_async_begin(annotation->brick);

	async.layer = annotation->layer;
	return take_place(&async);
}

void ranges_end(uint64_t number)
{
	uint32_t place = (uint32_t)(number & 0xfffff) - 1;
	struct brick_async async;

	if (number == UINT64_C(1) << 63)
		return; /* counted when it began */
	pthread_mutex_lock(&lock);
	bool is_known = place < places_used && number == number_of(place);
	if (is_known) {
		async = started[place].async;
		started[place].use++;
		started[place].next = free_place;
		free_place = place + 1;
		open_now--;
	}
	pthread_mutex_unlock(&lock);
	if (is_known)
		brick_async_end(&async, 0);
	else
		count(&unmatched);
}

void ranges_took(const struct annotation *annotation, uint64_t begin, uint64_t end)
{
	struct brick_async async = brick_async_begin(annotation->brick);

	async.begin = begin;
	async.layer = annotation->layer;
	if (async.session && end >= begin)
		brick__async_record(&async, end, 0, NULL);
}

void ranges_mark(const struct annotation *annotation)
{
	if (BRICK_UNLIKELY(!is_ready()))
		get_ready();
	if (annotation->brick != BRICK_NONE)
		brick_instant(annotation->brick);
}

void ranges_value(const struct annotation *annotation, double value)
{
	if (BRICK_UNLIKELY(!is_ready()))
		get_ready();
	if (annotation->brick != BRICK_NONE)
		brick_counter(annotation->brick, value);
}

static size_t say(char *text, size_t bytes, size_t used, uint64_t number, const char *what)
{
	if (number && used < bytes)
		used += (size_t)snprintf(text + used, bytes - used, "%s%llu %s", used ? "; " : "",
			(unsigned long long)number, what);
	return used;
}

static bool describe(char *text, size_t bytes)
{
	size_t used = say(text, bytes, 0, crossed,
		"were cut in two, as ranges of another domain ended across them");

	used = say(text, bytes, used, unmatched, "ended and had not begun");
	used = say(text, bytes, used, too_deep, "were nested too deep");
	used = say(text, bytes, used, too_many, "were too many at a time");
	used = say(text, bytes, used, open_now, "had not ended");
	return used != 0;
}

static const char *listener_name;
static pid_t told_by;

static void tell(void)
{
	char key[32], text[512];

	if (getpid() != told_by)
		return;
	snprintf(key, sizeof(key), "%s.ranges", listener_name);
	if (describe(text, sizeof(text)))
		brick_note(key, "%s", text);
	snprintf(key, sizeof(key), "%s.names", listener_name);
	if (annotations_describe(text, sizeof(text)))
		brick_note(key, "%s", text);
}

void ranges_tell_at_exit(const char *listener)
{
	listener_name = listener;
	told_by = getpid();
	atexit(tell);
}
