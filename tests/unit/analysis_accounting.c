/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accounting rule: each ns of a lane is counted once. Random trees of bricks, steps and waits
 * are painted ns by ns, and the summary must agree with the picture to the ns; and on input that no
 * clock should produce, nothing may be counted twice all the same.
 */
#include "tests/unit/accounting_kit.h"

struct node {
	int begin, end, wait, inner, brick, step; /* step: number if it is one */
	int parent;
	bool holds_step;
};

struct picture {
	struct node nodes[NODES];
	int count, steps;
	int step_begin[NODES];
	/* per ns: the innermost brick (or WAIT), whose account it is in, which bricks are open */
	int owner[LENGTH], account[LENGTH];
	uint32_t open[LENGTH];
};

static void mark_holders(struct picture *p, int parent)
{
	for (; parent >= 0; parent = p->nodes[parent].parent)
		p->nodes[parent].holds_step = true;
}

/* Children of a node in [begin, end); in_step: no more steps below. */
static void grow(struct picture *p, int parent, int begin, int end, int depth, bool in_step)
{
	int at = begin + pick(20);
	while (at < end && p->count < NODES) {
		int number = p->count++, left = end - at;
		struct node *node = &p->nodes[number];
		*node = (struct node){.begin = at, .parent = parent, .step = NO_STEP};
		node->end = at + (pick(8) ? pick(left < 300 ? left + 1 : 300) : left);
		bool step = !in_step && depth < 3 && !pick(2);
		node->brick =
			step ? pick(2) ? DECODE : PREFILL : SAMPLING + pick(BRICKS - SAMPLING);
		if (step) {
			node->step = p->steps;
			p->step_begin[p->steps++] = at;
			mark_holders(p, parent);
		}
		node->wait = pick(3) ? 0 : pick(60);
		int before = p->count;
		if (depth < 5 && pick(3))
			grow(p, number, node->begin, node->end, depth + 1, in_step || step);
		if (p->count == before && pick(3) == 0)
			node->inner = pick(node->end - node->begin + 1);
		at = node->end + pick(30) + (node->end == node->begin);
	}
}

static int step_before(const struct picture *p, int ns)
{
	int found = NO_STEP;
	for (int i = 0; i < p->steps; i++)
		if (p->step_begin[i] <= ns)
			found = i;
	return found;
}

static void paint_wait(struct picture *p, int begin, int end, int account)
{
	for (int t = begin; t < end && t < LENGTH; t++) {
		p->owner[t] = WAIT;
		p->account[t] = account;
	}
}

static int next_child(const struct picture *p, int parent, int after)
{
	for (int i = after + 1; i < p->count; i++)
		if (p->nodes[i].parent == parent)
			return i;
	return -1;
}

/* outer: the account that the parent is in. limit: where its wait ends at the latest. */
static void paint(struct picture *p, int number, int outer, int limit)
{
	const struct node *node = &p->nodes[number];
	int account = outer != NO_STEP	      ? outer
		      : node->step != NO_STEP ? node->step
					      : step_before(p, node->begin);
	if (node->holds_step)
		account = NO_STEP;
	for (int t = node->begin; t < node->end; t++) {
		p->owner[t] = node->brick;
		p->account[t] = account;
		p->open[t] |= 1u << node->brick;
	}
	paint_wait(p, node->begin, node->begin + node->inner, account);
	for (int i = next_child(p, number, number); i >= 0; i = next_child(p, number, i)) {
		int next = next_child(p, number, i);
		paint(p, i, account, next >= 0 ? p->nodes[next].begin : node->end);
	}
	int end = node->end + node->wait;
	paint_wait(p, node->end, end < limit ? end : limit, account);
}

static void draw(struct picture *p)
{
	memset(p, 0, sizeof(*p));
	grow(p, -1, 0, LENGTH - 100, 0, false);
	for (int t = 0; t < LENGTH; t++)
		p->owner[t] = p->account[t] = NOBODY;
	for (int i = next_child(p, -1, -1); i >= 0; i = next_child(p, -1, i)) {
		int next = next_child(p, -1, i);
		paint(p, i, NO_STEP, next >= 0 ? p->nodes[next].begin : LENGTH);
	}
}

static int depth_of(const struct picture *p, int number)
{
	int depth = 0;
	while ((number = p->nodes[number].parent) >= 0)
		depth++;
	return depth;
}

static void build(struct run *run, const struct picture *p)
{
	memset(run, 0, sizeof(*run));
	run->complete = 1;
	run->clock = *brick_clock_get();
	add_bricks(run);
	uint32_t process = builder_process(run, 1), lane = builder_lane(run, process, 1);
	run->lanes[lane].end_ns = LENGTH;
	for (int i = 0; i < p->count; i++) {
		const struct node *node = &p->nodes[i];
		struct run_sample *sample = builder_sample(run, lane, (uint32_t)node->brick,
			(uint64_t)node->begin, (uint64_t)node->end, (unsigned)depth_of(p, i));
		sample->wait_ns = (uint32_t)node->wait;
		sample->inner_ns = (uint32_t)node->inner;
		if (node->step != NO_STEP)
			builder_step(run, lane, 1);
	}
}

static void compare_bricks(const struct summary *s, const struct picture *p)
{
	for (int b = 0; b < BRICKS; b++) {
		uint64_t wall = 0, self = 0, total = 0;
		for (int t = 0; t < LENGTH; t++) {
			wall += p->owner[t] == b && p->account[t] != NO_STEP;
			self += p->owner[t] == b;
			total += p->open[t] >> b & 1;
		}
		const struct summary_row *row = row_of(s, (uint32_t)b);
		if (is_step(b)) {
			assert_null(row);
			continue;
		}
		assert_int_equal(row ? row->wall_ns : 0, wall);
		assert_int_equal(row ? row->self_ns : 0, self);
		if (b != WAIT)
			assert_int_equal(row ? row->total_ns : 0, total);
	}
}

static void compare_whole(const struct summary *s, const struct picture *p)
{
	uint64_t wall = 0, unattributed = 0, sum = 0;
	for (int t = 0; t < LENGTH; t++) {
		bool counts = p->owner[t] != NOBODY && p->account[t] != NO_STEP;
		wall += counts;
		unattributed += counts && is_step(p->owner[t]);
	}
	for (size_t i = 0; i < s->row_count; i++)
		sum += s->rows[i].wall_ns;
	assert_int_equal(s->wall_ns, wall);
	assert_int_equal(s->rests.unattributed_ns, unattributed);
	assert_int_equal(sum + s->row_rests.unattributed_ns, s->wall_ns);
}

static void compare_steps(const struct summary *s, const struct picture *p)
{
	for (int i = 0; i < p->steps; i++) {
		uint64_t total = 0, unattributed = 0;
		for (int t = 0; t < LENGTH; t++) {
			total += p->account[t] == i;
			unattributed += p->account[t] == i && is_step(p->owner[t]);
		}
		assert_int_equal(step_time_total_ns(&s->steps.steps[i]), total);
		assert_int_equal(s->steps.steps[i].unattributed_ns, unattributed);
	}
}

static void summary_is_the_picture(void **state)
{
	static struct picture p;
	int steps = 0, holders = 0;
	for (seed = 1; seed < 1 + ROUNDS * 7919u;) {
		uint32_t next = seed + 7919u;
		struct run run;
		struct summary *s;
		draw(&p);
		build(&run, &p);
		steps += p.steps;
		for (int i = 0; i < p.count; i++)
			holders += p.nodes[i].holds_step;
		if (p.steps) {
			assert_int_equal(
				summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
			compare_bricks(s, &p);
			compare_whole(s, &p);
			compare_steps(s, &p);
			summary_destroy(s);
		}
		run_fini(&run);
		seed = next;
	}
	/* The pictures showed something. */
	assert_true(steps > ROUNDS && holders > ROUNDS / 4);
}

/* All kinds of rows share out the same wall time. */
static void all_rows_add_up(void **state)
{
	static struct picture p;
	for (uint32_t round = 0; round < 60; round++) {
		struct run run;
		seed = 77 + round * 104729u;
		draw(&p);
		build(&run, &p);
		for (int by = 0; by <= SUMMARY_BY_THREAD; by++) {
			struct summary *s;
			uint64_t sum = 0, categories = 0;
			assert_int_equal(summary_create(&s, &run, by, SUMMARY_ALL_PHASES), 0);
			for (size_t i = 0; i < s->row_count; i++)
				sum += s->rows[i].wall_ns;
			for (size_t i = 0; i < s->category_count; i++)
				categories += s->categories[i].wall_ns;
			assert_int_equal(sum + s->row_rests.unattributed_ns, s->wall_ns);
			assert_int_equal(categories + s->rests.unattributed_ns, s->wall_ns);
			summary_destroy(s);
		}
		run_fini(&run);
	}
}

/* Overlapping siblings, ends outside of the parent, depths that skip: still once per ns. */
static void nonsense_is_not_counted_twice(void **state)
{
	for (uint32_t round = 0; round < 300; round++) {
		struct run run = {.complete = 1, .clock = *brick_clock_get()};
		seed = 5 + round * 15485863u;
		add_bricks(&run);
		uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
		run.lanes[lane].end_ns = LENGTH;
		int begin = 0;
		for (int i = 0; i < 200; i++) {
			begin += pick(25);
			int brick = pick(BRICKS);
			int length = pick(400) - 20, end = begin + length > 0 ? begin + length : 0;
			struct run_sample *sample = builder_sample(&run, lane, (uint32_t)brick,
				(uint64_t)begin, (uint64_t)end, (unsigned)pick(6));
			sample->wait_ns = pick(4) ? 0 : pick(3) ? (uint32_t)pick(100) : UINT32_MAX;
			sample->inner_ns = pick(4) ? 0 : (uint32_t)pick(1000);
			if (is_step(brick) && round % 3)
				builder_step(&run, lane, 1);
		}
		struct summary *s;
		assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
		uint64_t sum = 0, self = 0;
		for (size_t i = 0; i < s->row_count; i++) {
			sum += s->rows[i].wall_ns;
			self += s->rows[i].self_ns;
		}
		assert_int_equal(sum + s->row_rests.unattributed_ns, s->wall_ns);
		assert_true(self <= UINT32_MAX + 100000ull);
		summary_destroy(s);
		run_fini(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(summary_is_the_picture),
		cmocka_unit_test(all_rows_add_up),
		cmocka_unit_test(nonsense_is_not_counted_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
