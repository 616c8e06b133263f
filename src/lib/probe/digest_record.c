/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording digests: a ring of the session of its own, written by one producer at a time under a
 * lock and emptied by the consumer (abi/session.h). Slow on purpose, and far from the hot path: a
 * producer computes outside of the lock, then waits for room. Lock order: session, registry, this.
 */
#include "brick/digest.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/lock.h"
#include "base/sized.h"
#include "brick/error.h"
#include "brick/session.h"
#include "lib/probe/digest_record.h"
#include "base/scope.h"
#include "lib/probe/registry_tables.h"
#include "lib/session/session_map.h"
#include "lib/sys/ticks.h"

#define MAX_WAIT_NS 5000000000ull /* longer than a starved recorder takes to help itself */
enum { LOOK_NS = 100000 };

/* The step that a thread is in. */
struct step {
	uint32_t session;
	enum brick_phase phase;
	uint64_t number, tokens; /* number: from 1 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct brick_session_header *area; /* under the lock; NULL: none, or no memory for it */
static uint64_t given_up_at;		  /* the tail at which a wait was in vain, plus 1 */
static uint32_t wanted;
static __thread struct step here __attribute__((tls_model("initial-exec")));
static struct step latest; /* of any thread; under step_lock */
static pthread_mutex_t step_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void read_environment(void)
{
	const char *list = getenv("BRICK_CAPTURE");

	for (const char *at = list; at && *at; at += strcspn(at, ",") + (strchr(at, ',') != NULL))
		if (strcspn(at, ",") == 6 && !memcmp(at, "digest", 6))
			brick_digests_set(1);
}

void brick_digests_set(int on)
{
	__atomic_store_n(&wanted, on != 0, __ATOMIC_RELAXED);
}

int brick_digests_wanted(void)
{
	return brick_enabled() && __atomic_load_n(&wanted, __ATOMIC_RELAXED);
}

void brick__digests_lock(void)
{
	lock_take(&step_lock);
	lock_take(&lock);
}

void brick__digests_unlock(void)
{
	lock_give(&lock);
	lock_give(&step_lock);
}

void brick__digests_use(struct brick_session_header *header)
{
	HOLD_UNCANCELLED(&lock);
	area = header;
	given_up_at = 0;
}

/* In the child of a fork, whose locks are held: the session is the parent's. */
void brick__digests_abandon(void)
{
	area = NULL;
	here = latest = (struct step){0};
}

void brick__digests_step(enum brick_phase phase, uint64_t tokens)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	pthread_mutex_lock(&step_lock); /* nothing in here can be cancelled */
	uint64_t number = latest.session == session ? latest.number + 1 : 1;
	latest = here = (struct step){session, phase, number, tokens};
	pthread_mutex_unlock(&step_lock);
}

static struct step present_step(void)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	struct step step = here;

	if (step.session == session)
		return step;
	lock_take(&step_lock);
	step = latest;
	lock_give(&step_lock);
	return step.session == session ? step : (struct step){0};
}

/* Under the lock: a free entry, waiting for it if need be; NULL: there is none. */
static struct brick_session_digest *wait_for_room(uint64_t head)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	uint64_t start_ns = brick__monotonic_ns();

	for (;;) {
		uint64_t tail = __atomic_load_n(&area->digest_tail, __ATOMIC_ACQUIRE);
		if (head - tail < area->digest_capacity) {
			struct brick_session_digest *ring =
				(void *)((char *)area + area->digest_offset);
			return &ring[head % area->digest_capacity];
		}
		if (given_up_at == tail + 1 || !brick_enabled())
			return NULL;
		if (brick__monotonic_ns() - start_ns > MAX_WAIT_NS) {
			given_up_at = tail + 1;
			return NULL;
		}
		nanosleep(&look, NULL);
	}
}

/* Memory for the whole ring, so that writing to it cannot fail; once per session. */
static int have_memory(void)
{
	if (!area || !area->digest_capacity)
		return 0;
	if (area->digest_flags & BRICK_DIGESTS_READY)
		return 1;
	if (brick__shared_reserve(&brick__session.file, area->digest_offset,
		    area->digest_capacity * sizeof(struct brick_session_digest))) {
		area = NULL;
		return 0;
	}
	__atomic_or_fetch(&area->digest_flags, BRICK_DIGESTS_READY, __ATOMIC_RELEASE);
	return 2;
}

static int publish(const struct brick_session_digest *digest)
{
	int error = -ENOENT;

	lock_take(&lock);
	int ready = brick_enabled() ? have_memory() : 0;
	if (ready) {
		uint64_t head = area->digest_head;
		struct brick_session_digest *place = wait_for_room(head);
		error = place ? 0 : BRICK_EFULL;
		if (place) {
			*place = *digest;
			__atomic_store_n(&area->digest_head, head + 1, __ATOMIC_RELEASE);
		} else {
			area->digest_dropped++;
			__atomic_add_fetch(&area->ledger.dropped, 1, __ATOMIC_RELAXED);
		}
	}
	lock_give(&lock);
	if (ready == 2)
		brick_note("capture.digest", "sketches of %d buckets", BRICK_DIGEST_BUCKETS);
	return error;
}

static void count_unsupported(void)
{
	HOLD_UNCANCELLED(&lock);
	if (area) {
		area->digest_unsupported++;
		__atomic_add_fetch(&area->ledger.unsupported, 1, __ATOMIC_RELAXED);
	}
}

static int is_open(void)
{
	HOLD_UNCANCELLED(&lock);
	return area && area->digest_capacity;
}

static uint32_t digest_brick(void)
{
	static uint32_t id;
	uint32_t known = __atomic_load_n(&id, __ATOMIC_RELAXED);

	if (!known) {
		int made = brick_register("Digest", BRICK_CATEGORY_ENGINE);
		known = made > 0 ? (uint32_t)made : BRICK_GRAPH_COMPUTE;
		__atomic_store_n(&id, known, __ATOMIC_RELAXED);
	}
	return known;
}

static int record(
	uint32_t brick, int layer, uint32_t site, const struct brick_tensor *t, const char *label)
{
	struct brick_session_digest d = {.ticks = brick__now()};
	struct step step = present_step();

	d.brick = (uint16_t)brick;
	d.layer = (int16_t)(layer < -1 || layer > INT16_MAX ? -1 : layer);
	d.site = site;
	d.step = step.number;
	d.tokens = step.tokens;
	d.flags = step.phase == BRICK_PHASE_DECODE ? BRICK_SESSION_DIGEST_DECODE : 0;
	d.output = t->output;
	memcpy(d.inputs, t->inputs, sizeof d.inputs);
	if (label)
		strncpy(d.label, label, sizeof d.label - 1);
	int error = brick_digest_compute(&d.digest, t);
	if (error == BRICK_EUNSUPPORTED)
		count_unsupported();
	return error ? error : publish(&d);
}

static int record_timed(
	uint32_t brick, int layer, uint32_t site, const struct brick_tensor *t, const char *label)
{
	KEEP_ERRNO();
	brick_span span = brick_begin_layer(digest_brick(), layer);
	int error = is_open() ? record(brick, layer, site, t, label) : -ENOENT;

	brick_end(span);
	return error;
}

int brick_digest(uint32_t brick, int layer, const struct brick_tensor *tensor)
{
	if (!brick_digests_wanted())
		return -ENOENT;
	if (brick >= brick_count())
		return -EINVAL;
	struct brick_tensor t = BRICK_TENSOR_INIT;
	int error = sized_read(&t, sizeof t, tensor);
	return error ? error : record_timed(brick, layer, 0, &t, t.label);
}

int brick_digest_site(uint32_t site, const struct brick_tensor *tensor)
{
	if (!brick_digests_wanted())
		return -ENOENT;
	const struct brick_session_site *s = brick__site(site);
	if (!s)
		return -EINVAL;
	return record_timed(s->brick, s->layer, site, tensor, NULL);
}
