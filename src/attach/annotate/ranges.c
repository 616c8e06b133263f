/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges (ranges.h). A thread's bricks must nest, but ranges of two domains need not. If a range
 * ends while a range of another domain inside of it is open, the inner range is cut in two, and
 * from then on ranges of the inner range's domain are recorded as asynchronous, outside of the
 * stack.
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
	uint32_t turn;	     /* ranges_turn, of what is open */
	struct range open[MAX_OPEN];
} ranges_here;

static uint32_t ranges_turn; /* grows when a recorder enters or leaves the running process */
static bool ranges_only_end;

static uint64_t crossed, too_deep, unmatched, too_many;

static void ranges_count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* Names of threads. */

static struct {
	uint32_t tid;
	char name[64];
} thread_names[MAX_NAMES];
static uint32_t names_given;
static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
LOCK_OVER_FORKS(ranges_lock)

void ranges_name_thread(uint32_t tid, const char *name)
{
	KEEP_ERRNO();

	if (tid == (uint32_t)syscall(SYS_gettid)) {
		if (brick_thread_ready() == 0)
			brick_thread_name(name);
		return;
	}
	HOLD(&ranges_lock);
	uint32_t at = names_given % MAX_NAMES;
	thread_names[at].tid = tid;
	snprintf(thread_names[at].name, sizeof(thread_names[at].name), "%s", name);
	__atomic_store_n(&names_given, names_given + 1, __ATOMIC_RELEASE);
}

/* Stacks. */

static __attribute__((noinline, cold)) void get_ready(void)
{
	KEEP_ERRNO();
	char name[sizeof(thread_names->name)] = "";

	if (brick_thread_ready() ||
		ranges_here.names_seen == __atomic_load_n(&names_given, __ATOMIC_ACQUIRE))
		return;
	uint32_t own = (uint32_t)syscall(SYS_gettid);
	pthread_mutex_lock(&ranges_lock);
	for (uint32_t i = 0; i < MAX_NAMES; i++)
		if (thread_names[i].tid == own) {
			memcpy(name, thread_names[i].name, sizeof(name));
			thread_names[i].tid = 0;
		}
	ranges_here.names_seen = names_given;
	pthread_mutex_unlock(&ranges_lock);
	if (*name)
		brick_thread_name(name);
}

static inline bool ranges_is_ready(void)
{
	return brick__thread.serial == __atomic_load_n(&brick__on, __ATOMIC_RELAXED) &&
	       ranges_here.names_seen == __atomic_load_n(&names_given, __ATOMIC_RELAXED);
}

/* The ends of a former turn's ranges were not seen. */
static inline void ranges_follow(void)
{
	uint32_t turn = __atomic_load_n(&ranges_turn, __ATOMIC_ACQUIRE);

	if (BRICK_LIKELY(ranges_here.turn == turn))
		return;
	ranges_here.depth = ranges_here.deeper = 0;
	ranges_here.turn = turn;
}

static inline bool ranges_may_begin(void)
{
	return BRICK_LIKELY(!__atomic_load_n(&ranges_only_end, __ATOMIC_RELAXED));
}

static void ranges_begin(struct range *range)
{
	const struct annotation *a = range->annotation;

	range->span = 0;
	range->async.session = 0;
	if (!ranges_here.depth && !ranges_may_begin())
		return;
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

static void ranges_end_range(struct range *range)
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
		if (ranges_here.open[depth].domain == domain)
			return ranges_here.open[depth].level + 1;
	return 0;
}

int ranges_push(struct annotation_domain *domain, const struct annotation *annotation)
{
	ranges_follow();
	if (!ranges_here.depth)
		brick_recorder_heed();
	if (BRICK_UNLIKELY(!ranges_is_ready()))
		get_ready();
	if (BRICK_UNLIKELY(ranges_here.depth == MAX_OPEN)) {
		ranges_here.deeper++;
		ranges_count(&too_deep);
		return MAX_OPEN + (int)ranges_here.deeper;
	}
	struct range *range = &ranges_here.open[ranges_here.depth];
	range->domain = domain;
	range->annotation = annotation;
	range->bytes = 0;
	range->level = level_below(domain, ranges_here.depth);
	ranges_begin(range);
	ranges_here.depth++;
	return range->level;
}

void ranges_bytes(const struct annotation_domain *domain, uint64_t bytes)
{
	if (ranges_here.depth && !ranges_here.deeper &&
		ranges_here.open[ranges_here.depth - 1].domain == domain)
		ranges_here.open[ranges_here.depth - 1].bytes = bytes;
}

/* Ends a range that others lie in: they end with it, and begin anew. */
static void end_across(uint32_t at)
{
	KEEP_ERRNO();

	for (uint32_t i = ranges_here.depth - 1; i > at; i--)
		if (ranges_here.open[i].span)
			ranges_end_range(&ranges_here.open[i]);
	ranges_end_range(&ranges_here.open[at]);
	for (uint32_t i = at + 1; i < ranges_here.depth; i++) {
		struct range *range = &ranges_here.open[i - 1];
		*range = ranges_here.open[i];
		if (!range->span)
			continue;
		range->span = brick_begin_layer(range->annotation->brick, range->annotation->layer);
		__atomic_store_n(&range->domain->crosses, true, __ATOMIC_RELAXED);
		ranges_count(&crossed);
	}
	ranges_here.depth--;
}

int ranges_pop(const struct annotation_domain *domain)
{
	ranges_follow();
	uint32_t at = ranges_here.depth;

	if (BRICK_UNLIKELY(ranges_here.deeper)) {
		ranges_here.deeper--;
		return MAX_OPEN;
	}
	if (BRICK_LIKELY(at && ranges_here.open[at - 1].domain == domain)) {
		struct range *range = &ranges_here.open[ranges_here.depth = at - 1];
		ranges_end_range(range);
		return range->level;
	}
	while (at && ranges_here.open[at - 1].domain != domain)
		at--;
	if (!at) {
		ranges_count(&unmatched);
		return -1;
	}
	int level = ranges_here.open[at - 1].level;
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
static uint32_t ranges_free_place, places_used, open_now;

static uint64_t ranges_number_of(uint32_t place)
{
	return UINT64_C(1) << 63 | (uint64_t)started[place].use << 20 | (place + 1);
}

uint64_t ranges_start(const struct annotation *annotation)
{
	struct brick_async async = {0};

	if (ranges_may_begin())
		async = brick_async_begin(annotation->brick);
	async.layer = annotation->layer;
	HOLD(&ranges_lock);
	uint32_t place = ranges_free_place ? ranges_free_place - 1 : places_used;
	if (place == MAX_STARTED) {
		ranges_count(&too_many);
		return UINT64_C(1) << 63;
	}
	if (ranges_free_place)
		ranges_free_place = started[place].next;
	else
		places_used++;
	started[place].async = async;
	started[place].use = (started[place].use + 1) & INT32_MAX;
	open_now++;
	return ranges_number_of(place);
}

void ranges_end(uint64_t number)
{
	uint32_t place = (uint32_t)(number & 0xfffff) - 1;
	struct brick_async async;

	if (number == UINT64_C(1) << 63)
		return; /* counted when it began */
	pthread_mutex_lock(&ranges_lock);
	bool is_known = place < places_used && number == ranges_number_of(place);
	if (is_known) {
		async = started[place].async;
		started[place].use++;
		started[place].next = ranges_free_place;
		ranges_free_place = place + 1;
		open_now--;
	}
	pthread_mutex_unlock(&ranges_lock);
	if (is_known)
		brick_async_end(&async, 0);
	else
		ranges_count(&unmatched);
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
	if (BRICK_UNLIKELY(!ranges_is_ready()))
		get_ready();
	if (annotation->brick != BRICK_NONE)
		brick_instant(annotation->brick);
}

void ranges_value(const struct annotation *annotation, double value)
{
	if (BRICK_UNLIKELY(!ranges_is_ready()))
		get_ready();
	if (annotation->brick != BRICK_NONE)
		brick_counter(annotation->brick, value);
}

static size_t ranges_say(char *text, size_t bytes, size_t used, uint64_t number, const char *what)
{
	if (number && used < bytes)
		used += (size_t)snprintf(text + used, bytes - used, "%s%llu %s", used ? "; " : "",
			(unsigned long long)number, what);
	return used;
}

static const char *listener_name;
static pid_t ranges_told_by;

static void ranges_tell(void)
{
	char key[32], text[512];

	snprintf(key, sizeof(key), "%s.ranges", listener_name);
	size_t used = ranges_say(text, sizeof(text), 0, crossed,
		"were cut in two, as ranges of another domain ended across them");
	used = ranges_say(
		text, sizeof(text), used, unmatched, "ended, and their begin was not seen");
	used = ranges_say(text, sizeof(text), used, too_deep, "were nested too deep");
	used = ranges_say(text, sizeof(text), used, too_many, "were too many at a time");
	used = ranges_say(text, sizeof(text), used, open_now, "had not ended");
	if (used)
		brick_note(key, "%s", text);
	snprintf(key, sizeof(key), "%s.names", listener_name);
	if (annotations_describe(text, sizeof(text)))
		brick_note(key, "%s", text);
}

static void ranges_exit(void)
{
	if (getpid() == ranges_told_by)
		ranges_tell();
}

void ranges_tell_at_exit(const char *listener)
{
	listener_name = listener;
	ranges_told_by = getpid();
	atexit(ranges_exit);
}

/* No number that a program has, and no range on a stack, is known from now on. */
static void ranges_turn_over(void)
{
	HOLD(&ranges_lock);
	for (uint32_t i = 0; i < places_used; i++)
		started[i].use = (started[i].use + 1) & INT32_MAX;
	ranges_free_place = places_used = open_now = 0;
	crossed = unmatched = too_deep = too_many = 0;
	__atomic_add_fetch(&ranges_turn, 1, __ATOMIC_SEQ_CST);
}

void ranges_enter(const char *listener)
{
	listener_name = listener;
	ranges_turn_over();
	__atomic_store_n(&ranges_only_end, false, __ATOMIC_RELAXED);
}

void ranges_end_only(void)
{
	__atomic_store_n(&ranges_only_end, true, __ATOMIC_RELAXED);
}

void ranges_leave(void)
{
	ranges_tell();
	ranges_turn_over();
}
