/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that wait for each other: who came last to each collective, how long others waited for it,
 * and in which brick it had been longer. Ranks whose collectives differ are not held against each
 * other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/steps/rank_waits.h"
#include "tests/unit/run_builder.h"

struct fixture {
	struct run run;
	struct rank_waits waits;
	uint32_t lanes[3], work, other, reduce, gather, wait;
};

static void open_ranks(struct fixture *f, int count)
{
	memset(f, 0, sizeof(*f));
	f->run.complete = 1;
	f->run.clock = *brick_clock_get();
	f->work = builder_site(&f->run, builder_brick(&f->run, "Work", "Other"), -1, NULL, NULL);
	f->other = builder_site(&f->run, builder_brick(&f->run, "Else", "Other"), -1, NULL, NULL);
	uint32_t reduce = builder_brick(&f->run, "AllReduce", "Communication");
	f->reduce = builder_site(&f->run, reduce, -1, "c10d::allreduce_", NULL);
	f->run.sites[f->reduce].bytes = 400;
	f->run.sites[f->reduce].flags = BRICK_SITE_HAS_BYTES;
	f->gather = builder_site(&f->run, reduce, -1, "c10d::allgather_", NULL);
	f->wait = builder_site(
		&f->run, builder_brick(&f->run, "CollectiveWait", "Wait"), -1, NULL, NULL);
	/* the last rank is the first process */
	for (int r = 0; r < count; r++) {
		uint32_t process = builder_process(&f->run, (uint32_t)r + 1);
		f->run.processes[process].rank = count - 1 - r;
		f->run.processes[process].world = count;
		f->lanes[count - 1 - r] = builder_lane(&f->run, process, (uint32_t)r + 1);
	}
}

static void add(struct fixture *f, int rank, uint32_t site, uint64_t begin, uint64_t end)
{
	builder_sample(&f->run, f->lanes[rank], site, begin, end, 0);
}

/* A rank computes from `begin` on, comes to a collective at `at` and waits until `over`. */
static void turn(struct fixture *f, int rank, uint64_t begin, uint64_t at, uint64_t over)
{
	add(f, rank, f->work, begin, at);
	add(f, rank, f->reduce, at, at + 10);
	add(f, rank, f->wait, at + 10, over);
}

static void measure(struct fixture *f)
{
	assert_int_equal(rank_waits_of_run(&f->waits, &f->run), 0);
}

static void close_ranks(struct fixture *f)
{
	rank_waits_fini(&f->waits);
	run_fini(&f->run);
}

static void the_last_rank_makes_the_others_wait(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 3);
	for (int r = 0; r < 3; r++)
		turn(&f, r, 1000, 2000 + (uint64_t)r, 2050);
	turn(&f, 0, 2050, 3000, 5020);
	turn(&f, 1, 2050, 5000, 5020); /* the last one: 1950 later than 0, 1900 than 2 */
	turn(&f, 2, 2050, 3100, 5020);
	for (int r = 0; r < 3; r++)
		turn(&f, r, 5020, 6000 + (uint64_t)r, 6050);
	measure(&f);
	assert_int_equal(f.waits.count, 3);
	assert_int_equal(f.waits.collectives, 3);
	const struct rank_waits_row *rows = f.waits.rows;
	assert_int_equal(f.run.processes[rows[0].process].rank, 0);
	assert_int_equal(rows[0].last, 0);
	assert_int_equal(rows[1].last, 1);
	assert_int_equal(rows[2].last, 2);
	assert_int_equal(rows[1].bytes, 3 * 400);
	assert_int_equal(rows[0].waited_ns, 5000 - 3010);
	assert_int_equal(rows[2].waited_ns, 5000 - 3110);
	assert_int_equal(rows[1].caused_ns, rows[0].waited_ns + rows[2].waited_ns);
	assert_int_equal(rows[1].exposed_ns, 2050 - 2011 + 5020 - 5010 + 6050 - 6011);
	assert_int_equal(rows[1].brick, f.run.sites[f.work].brick);
	assert_int_equal(rows[1].longer_ns, 2950 - (950 + 1050) / 2);
	close_ranks(&f);
}

/* Rank 0 begins two collectives and waits for both; rank 1 is late for the first alone. */
static void a_wait_is_for_the_first_that_not_all_have_come_to(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 2);
	add(&f, 0, f.reduce, 1000, 1010);
	add(&f, 0, f.reduce, 1010, 1020);
	add(&f, 0, f.wait, 1020, 2500);
	add(&f, 1, f.other, 500, 2000);
	add(&f, 1, f.reduce, 2000, 2010);
	add(&f, 1, f.reduce, 2100, 2110);
	measure(&f);
	assert_int_equal(f.waits.rows[1].last, 2);
	assert_int_equal(f.waits.rows[0].waited_ns, 2100 - 1020);
	assert_int_equal(f.waits.rows[1].caused_ns, 2100 - 1020);
	assert_int_equal(f.waits.rows[0].exposed_ns, 2500 - 1020);
	close_ranks(&f);
}

static void ranks_of_other_collectives_are_not_compared(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 2);
	add(&f, 0, f.reduce, 1000, 1010);
	add(&f, 1, f.gather, 1000, 1010);
	measure(&f);
	assert_int_equal(f.waits.count, 0);
	close_ranks(&f);

	open_ranks(&f, 2); /* one of them alone has any */
	add(&f, 0, f.reduce, 1000, 1010);
	measure(&f);
	assert_int_equal(f.waits.count, 0);
	close_ranks(&f);

	open_ranks(&f, 2); /* two processes of one rank */
	f.run.processes[0].rank = f.run.processes[1].rank = 0;
	add(&f, 0, f.reduce, 1000, 1010);
	add(&f, 1, f.reduce, 1000, 1010);
	measure(&f);
	assert_int_equal(f.waits.count, 0);
	close_ranks(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_rank_makes_the_others_wait),
		cmocka_unit_test(a_wait_is_for_the_first_that_not_all_have_come_to),
		cmocka_unit_test(ranks_of_other_collectives_are_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
