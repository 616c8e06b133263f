/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of cuda_launches.h. CUPTI counts correlation ids up, so the id's low bits are the
 * place. An entry is overwritten by the call whose id is PLACES higher.
 */
#include "attach/cuda/cuda_launches.h"

#include <stddef.h>
#include "base/hash.h"

enum {
	PLACES = 1 << 18, /* a power of two */
	LOOK_BACK = 4096,
	STREAMS = 1 << 10, /* places of `uncounted` */
};

enum state {
	FREE,	     /* no call */
	OPEN,	     /* the call has begun */
	MADE,	     /* the call has ended, and records are missing */
	GIVEN_UP,    /* its records are not waited for any more */
	SEEN,	     /* its records have come */
	PASSED_OVER, /* + enum launches_why */
};

struct entry {
	uint32_t correlation, state; /* both atomic */
	uint32_t records, seen;	     /* records: how many will come; seen: how many have come */
	uint32_t taken;		     /* commands for which launches_take() was called */
	uint32_t certain;	     /* see launch_records */
	uint32_t twin;		     /* id of the other one of two joined calls; 0: none */
	uint32_t former;	     /* id of a call that is over when this one's records come */
	uint32_t numbers;	     /* see launch_records */
	replay_shape shape;	     /* likewise */
	const struct brick_launch_owner *work;
	uint64_t end; /* the end of the call, atomic; 0: it has not ended */
	struct brick_launch launch;
};

static struct entry cuda_launches_entries[PLACES];
static uint32_t cuda_launches_newest; /* id; written by launching threads */
static uint32_t oldest;		      /* consumer: nothing below it is waited for */
static uint64_t unanswered;

/*
 * The newest call of each stream with an unknown number of records; a place holds the last one that
 * came. Both fields are atomic.
 */
static struct {
	cuda_handle stream;
	uint32_t correlation;
} uncounted[STREAMS];

static struct entry *cuda_launches_place(uint32_t correlation)
{
	return &cuda_launches_entries[correlation % PLACES];
}

static uint32_t cuda_launches_state_of(const struct entry *e)
{
	return __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
}

static uint32_t cuda_launches_id_of(const struct entry *e)
{
	return __atomic_load_n(&e->correlation, __ATOMIC_RELAXED);
}

static uint64_t cuda_launches_end_of(const struct entry *e)
{
	return __atomic_load_n(&e->end, __ATOMIC_RELAXED);
}

static void set_state(struct entry *e, uint32_t state)
{
	__atomic_store_n(&e->state, (uint32_t)state, __ATOMIC_RELEASE);
}

void launches_begin(uint32_t correlation, const struct brick_launch *launch,
	const struct launch_records *records)
{
	struct entry *e = cuda_launches_place(correlation);

	set_state(e, FREE);
	__atomic_store_n(&e->correlation, correlation, __ATOMIC_RELAXED);
	e->records = records->count;
	e->certain = records->certain;
	e->numbers = records->numbers;
	e->shape = records->shape;
	e->work = records->work;
	e->seen = e->taken = 0;
	e->twin = e->former = 0;
	__atomic_store_n(&e->end, 0, __ATOMIC_RELAXED);
	e->launch = *launch;
	set_state(e, OPEN);
	uint32_t newest = __atomic_load_n(&cuda_launches_newest, __ATOMIC_RELAXED);
	while ((int32_t)(correlation - newest) > 0 &&
		!__atomic_compare_exchange_n(&cuda_launches_newest, &newest, correlation, 1,
			__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

void launches_end(uint32_t correlation, const struct brick_launch *launch)
{
	struct entry *e = cuda_launches_place(correlation);

	if (cuda_launches_id_of(e) != correlation)
		return;
	__atomic_store_n(&e->end, launch->end, __ATOMIC_RELAXED);
	uint32_t open = OPEN;
	__atomic_compare_exchange_n(&e->state, &open, MADE, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void launches_forget(uint32_t correlation)
{
	struct entry *e = cuda_launches_place(correlation);

	if (cuda_launches_id_of(e) == correlation)
		set_state(e, FREE);
}

void launches_pass_over(uint32_t correlation, enum launches_why why)
{
	struct entry *e = cuda_launches_place(correlation);

	set_state(e, FREE);
	__atomic_store_n(&e->correlation, correlation, __ATOMIC_RELAXED);
	set_state(e, PASSED_OVER + (uint32_t)why);
}

int launches_are_passed_over(uint32_t correlation, enum launches_why why)
{
	const struct entry *e = cuda_launches_place(correlation);
	return cuda_launches_state_of(e) == PASSED_OVER + (uint32_t)why &&
	       cuda_launches_id_of(e) == correlation;
}

static struct entry *cuda_launches_find(uint32_t correlation)
{
	struct entry *e = cuda_launches_place(correlation);
	return cuda_launches_state_of(e) != FREE && cuda_launches_id_of(e) == correlation ? e
											  : NULL;
}

void launches_join(uint32_t outer, uint32_t inner)
{
	struct entry *a = cuda_launches_find(outer), *b = cuda_launches_find(inner);

	if (!a || !b)
		return;
	a->twin = inner;
	b->twin = outer;
	b->certain = 0; /* one of the two is answered */
}

void launches_in_stream(uint32_t correlation, cuda_handle stream)
{
	uint32_t i = (uint32_t)hash_pointer(stream) & (STREAMS - 1);
	struct entry *e = cuda_launches_find(correlation);

	if (!e)
		return;
	if (__atomic_load_n(&uncounted[i].stream, __ATOMIC_ACQUIRE) == stream)
		e->former = __atomic_load_n(&uncounted[i].correlation, __ATOMIC_RELAXED);
	if (e->records)
		return;
	__atomic_store_n(&uncounted[i].stream, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&uncounted[i].correlation, correlation, __ATOMIC_RELEASE);
	__atomic_store_n(&uncounted[i].stream, stream, __ATOMIC_RELEASE);
}

/* Ends the wait for a call's records. */
static void cuda_launches_complete(uint32_t correlation)
{
	struct entry *e = correlation ? cuda_launches_find(correlation) : NULL;

	if (e && cuda_launches_state_of(e) == MADE)
		set_state(e, SEEN);
}

void launches_seen(uint32_t correlation)
{
	struct entry *e = cuda_launches_find(correlation);

	if (!e)
		return;
	cuda_launches_complete(e->former);
	e->former = 0;
	if (e->twin) {
		struct entry *twin = cuda_launches_find(e->twin);
		if (twin)
			twin->certain = 0;
		cuda_launches_complete(e->twin);
	}
	if (cuda_launches_state_of(e) == GIVEN_UP && e->certain && !e->seen)
		unanswered--;
	if (++e->seen >= e->records && e->records)
		set_state(e, SEEN);
}

void launches_seen_whole(uint32_t correlation)
{
	struct entry *e = cuda_launches_find(correlation);

	if (e && e->records)
		e->seen = e->records - 1;
	launches_seen(correlation);
}

struct exec_launch launches_exec(uint32_t correlation)
{
	const struct entry *e = cuda_launches_find(correlation);
	return e ? (struct exec_launch){e->records, e->shape} : (struct exec_launch){0, 0};
}

int launches_take(
	uint32_t correlation, struct brick_launch *launch, const struct brick_launch_owner **work)
{
	struct entry *e = cuda_launches_find(correlation);

	if (!e)
		return 0;
	*launch = e->launch;
	*work = e->taken ? NULL : e->work;
	launch->end = cuda_launches_end_of(e);
	if (!cuda_launches_find(correlation))
		return 0; /* a younger call has taken its place meanwhile */
	if (!launch->end)
		launch->end = launch->begin;
	uint32_t before = e->taken++;
	if (before)
		launch->number =
			before < e->numbers ? launch->number + before : brick_launch_number();
	return 1;
}

/* The first id that may be waited for, and that has its place still. */
static uint32_t cuda_launches_first(uint32_t last)
{
	return last - oldest >= PLACES ? last - PLACES + 1 : oldest;
}

bool launches_are_awaited(void)
{
	uint32_t last = __atomic_load_n(&cuda_launches_newest, __ATOMIC_ACQUIRE);

	for (uint32_t id = cuda_launches_first(last); id != last + 1; id++) {
		const struct entry *e = cuda_launches_place(id);
		uint32_t state = cuda_launches_state_of(e);
		bool brings = (e->certain && !e->seen) || (e->records > 1 && e->seen < e->records);
		if (cuda_launches_id_of(e) == id && (state == OPEN || (state == MADE && brings)))
			return true;
	}
	return false;
}

uint64_t launches_pending_since(uint64_t give_up)
{
	uint32_t last = __atomic_load_n(&cuda_launches_newest, __ATOMIC_ACQUIRE);
	uint64_t since = UINT64_MAX;

	uint32_t first = last + 1; /* that is waited for */
	for (uint32_t id = cuda_launches_first(last); id != last + 1; id++) {
		struct entry *e = cuda_launches_place(id);
		uint32_t state = cuda_launches_state_of(e);
		if (cuda_launches_id_of(e) != id || (state != OPEN && state != MADE))
			continue;
		if (state == MADE && cuda_launches_end_of(e) < give_up) {
			unanswered += e->certain && !e->seen;
			set_state(e, GIVEN_UP);
			continue;
		}
		if (since == UINT64_MAX)
			first = id;
		if (e->launch.begin < since)
			since = e->launch.begin;
	}
	/* a thread may be about to enter an id that is smaller than the newest */
	if (last - first < LOOK_BACK || first == last + 1)
		first = last < LOOK_BACK ? 0 : last - LOOK_BACK;
	oldest = first;
	return since;
}

void launches_restart(void)
{
	uint32_t last = __atomic_load_n(&cuda_launches_newest, __ATOMIC_ACQUIRE);

	for (uint32_t id = cuda_launches_first(last); id != last + 1; id++)
		if (cuda_launches_id_of(cuda_launches_place(id)) == id)
			set_state(cuda_launches_place(id), FREE);
	unanswered = 0;
}

uint64_t launches_patience_ends(uint64_t now, uint64_t patience)
{
	static uint64_t
		rounds[PATIENT_ROUNDS]; /* when they were; the next one's place has the oldest */
	static uint32_t next;
	uint64_t oldest_round = rounds[next], by_time = now > patience ? now - patience : 0;

	rounds[next] = now;
	next = (next + 1) % PATIENT_ROUNDS;
	return oldest_round < by_time ? oldest_round : by_time;
}

uint64_t launches_unanswered(void)
{
	return unanswered;
}
