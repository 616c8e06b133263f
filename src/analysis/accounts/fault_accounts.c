/* SPDX-License-Identifier: Apache-2.0 */
/* Faults and samples of a lane are both in the order of time, so one pass finds all bricks. */
#include "analysis/accounts/fault_accounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"

enum { DEEPEST = 256 }; /* a sample's depth has a byte */

/* A pass through a lane's samples: those that are open, from the outermost on. */
struct fault_pass {
	const struct run_lane *lane; /* NULL: of threads without a lane */
	size_t next, depth;
	uint32_t open[DEEPEST];
};

const char *fault_place_name(uint32_t place)
{
	static const char *const names[FAULT_PLACES - STEP_PHASES] = {"loading", "between"};

	return place < STEP_PHASES    ? step_phase_name((enum step_phase)place)
	       : place < FAULT_PLACES ? names[place - STEP_PHASES]
				      : "all";
}

static uint32_t fault_brick(struct fault_pass *p, const struct run *run, const struct run_fault *f)
{
	const struct run_lane *lane = f->lane == RUN_NONE ? NULL : &run->lanes[f->lane];
	uint64_t ns = f->begin_ns;

	if (lane != p->lane)
		*p = (struct fault_pass){.lane = lane};
	if (!p->lane)
		return RUN_NONE;
	for (; p->next < p->lane->sample_count && p->lane->samples[p->next].begin_ns <= ns;
		p->next++) {
		const struct run_sample *s = &p->lane->samples[p->next];
		p->depth = s->depth < p->depth ? s->depth : p->depth;
		if (p->depth < DEEPEST)
			p->open[p->depth++] = (uint32_t)p->next;
	}
	while (p->depth && p->lane->samples[p->open[p->depth - 1]].end_ns <= ns)
		p->depth--;
	return p->depth ? run->sites[p->lane->samples[p->open[p->depth - 1]].site].brick : RUN_NONE;
}

/* The process of a fault; run->process_count: of none. */
static uint32_t fault_process(const struct run *run, const struct run_fault *f)
{
	uint32_t process = 0;

	if (f->lane != RUN_NONE)
		return run->lanes[f->lane].process;
	while (process < run->process_count && run->processes[process].pid != f->pid)
		process++;
	return process;
}

uint32_t fault_step(const struct run *run, const struct run_fault *fault)
{
	enum { BESIDE = 64 }; /* steps that may run at the same time */
	uint32_t process = fault_process(run, fault), other = RUN_NONE;
	size_t after = BISECT(i, 0, run->step_count, run->steps[i].begin_ns <= fault->begin_ns);

	for (size_t i = after; i-- > 0 && after - i <= BESIDE;) {
		const struct run_step *step = &run->steps[i];
		if (run->lanes[step->lane].process != process ||
			(!step->open && fault->begin_ns >= step->end_ns))
			continue;
		if (step->lane == fault->lane)
			return (uint32_t)i;
		other = other == RUN_NONE ? (uint32_t)i : other;
	}
	return other;
}

/* When processes began their first steps that are no warm-ups. */
struct fault_firsts {
	uint64_t *ns; /* [process_count + 1]; UINT64_MAX: it never did */
	bool *has_steps;
};

static void fault_firsts_fini(struct fault_firsts *firsts)
{
	free(firsts->ns);
	free(firsts->has_steps);
}

static int fault_firsts_init(struct fault_firsts *firsts, const struct run *run)
{
	size_t count = (size_t)run->process_count + 1;

	firsts->ns = malloc(count * sizeof(*firsts->ns));
	firsts->has_steps = calloc(count, sizeof(*firsts->has_steps));
	if (!firsts->ns || !firsts->has_steps)
		return -ENOMEM;
	memset(firsts->ns, 0xff, count * sizeof(*firsts->ns));
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		uint32_t process = run->lanes[step->lane].process;
		firsts->has_steps[process] = true;
		if (step->phase != BRICK_PHASE_WARM_UP && step->begin_ns < firsts->ns[process])
			firsts->ns[process] = step->begin_ns;
	}
	return 0;
}

static uint32_t fault_place(const struct run *run, const struct fault_firsts *firsts,
	const struct run_fault *f, uint32_t step)
{
	uint32_t process = fault_process(run, f);

	return step != RUN_NONE			   ? (uint32_t)step_phase_of(&run->steps[step])
	       : !firsts->has_steps[process]	   ? FAULT_PLACES
	       : f->begin_ns < firsts->ns[process] ? FAULT_LOADING
						   : FAULT_BETWEEN;
}

static void fault_row_add(struct fault_row *row, const struct fault_row *one)
{
	row->minor += one->minor;
	row->major += one->major;
	row->ns += one->ns;
	row->driver_ns += one->driver_ns;
}

static int fault_rows_add(
	struct fault_rows *rows, struct hashmap *by_key, const struct fault_row *one)
{
	uint64_t key = (uint64_t)one->brick << 8 | one->place, at = hashmap_get(by_key, key);

	if (at == HASHMAP_NONE) {
		const struct fault_row empty = {.place = one->place, .brick = one->brick};
		at = rows->list.count;
		if (array_push(&rows->list, empty) || hashmap_set(by_key, key, at))
			return -ENOMEM;
	}
	fault_row_add(&rows->list.items[at], one);
	return 0;
}

COMPARATOR(fault_rows_order, struct fault_row,
	ORDER(x->place, y->place) ?: ORDER(y->ns, x->ns) ?: ORDER(x->brick, y->brick))

int fault_rows_measure(struct fault_rows *rows, const struct run *run)
{
	SCOPED_BY(hashmap_fini) struct hashmap by_key = {0};
	SCOPED_BY(fault_firsts_fini) struct fault_firsts firsts = {0};
	struct fault_pass pass = {0};

	if (run->fault_count && fault_firsts_init(&firsts, run))
		return -ENOMEM;
	for (size_t i = 0; i < run->fault_count; i++) {
		const struct run_fault *f = &run->faults[i];
		uint32_t step = fault_step(run, f);
		uint64_t ns = f->end_ns - f->begin_ns;
		const struct fault_row one = {.place = fault_place(run, &firsts, f, step),
			.brick = fault_brick(&pass, run, f),
			.minor = !f->is_major,
			.major = f->is_major != 0,
			.ns = ns,
			.driver_ns = step != RUN_NONE && run->steps[step].lane == f->lane ? ns : 0};
		if (fault_rows_add(rows, &by_key, &one))
			return -ENOMEM;
	}
	array_sort(&rows->list, fault_rows_order);
	return 0;
}

void fault_rows_fini(struct fault_rows *rows)
{
	array_fini(&rows->list);
}

struct fault_row fault_rows_sum(const struct fault_rows *rows, uint32_t place)
{
	struct fault_row sum = {.place = place, .brick = RUN_NONE};

	for (size_t i = 0; i < rows->list.count; i++) {
		const struct fault_row *row = &rows->list.items[i];
		if (place == FAULT_PLACES || row->place == place)
			fault_row_add(&sum, row);
	}
	return sum;
}

int fault_row_of_loading(
	struct fault_row *row, const struct run *run, uint32_t process, const char *prefix)
{
	SCOPED_BY(fault_rows_fini) struct fault_rows threads = {0};
	SCOPED_BY(hashmap_fini) struct hashmap by_thread = {0};
	struct fault_pass pass = {0};
	SCOPED_BY(fault_firsts_fini) struct fault_firsts firsts = {0};

	*row = (struct fault_row){.brick = RUN_NONE};
	if (fault_firsts_init(&firsts, run))
		return -ENOMEM;
	for (size_t i = 0; i < run->fault_count; i++) {
		const struct run_fault *f = &run->faults[i];
		uint32_t brick = fault_brick(&pass, run, f);
		if (f->begin_ns >= firsts.ns[process] || fault_process(run, f) != process ||
			(brick != RUN_NONE &&
				!strncmp(run->bricks[brick].name, prefix, strlen(prefix))))
			continue;
		uint32_t step = fault_step(run, f);
		if (step != RUN_NONE && run->steps[step].lane != f->lane)
			continue;
		const struct fault_row one = {.brick = f->tid,
			.minor = !f->is_major,
			.major = f->is_major != 0,
			.ns = f->end_ns - f->begin_ns};
		if (fault_rows_add(&threads, &by_thread, &one))
			return -ENOMEM;
	}
	for (size_t i = 0; i < threads.list.count; i++)
		if (threads.list.items[i].ns > row->ns)
			*row = threads.list.items[i];
	return 0;
}
