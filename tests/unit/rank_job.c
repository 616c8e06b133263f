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
#include "analysis/ranks/rank_clocks.h"
#include "tests/unit/run_builder.h"

struct fixture {
	struct run run;
	struct rank_job job;
	uint32_t lanes[8], work, other, reduce, gather, wait;
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
	assert_int_equal(rank_job_of_run(&f->job, &f->run), 0);
}

static void close_ranks(struct fixture *f)
{
	rank_job_fini(&f->job);
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
	assert_int_equal(f.job.count, 3);
	assert_int_equal(f.job.collectives, 3);
	const struct rank_row *rows = f.job.rows;
	assert_int_equal(rows[0].rank, 0);
	assert_int_equal(rows[0].last, 0);
	assert_int_equal(rows[1].last, 1);
	assert_int_equal(rows[2].last, 2);
	assert_int_equal(rows[1].bytes, 3 * 400);
	assert_int_equal(rows[0].waited_ns, 5000 - 3010);
	assert_int_equal(rows[2].waited_ns, 5000 - 3110);
	assert_int_equal(rows[1].caused_ns, rows[0].waited_ns + rows[2].waited_ns);
	assert_int_equal(rows[1].exposed_ns, 2050 - 2011 + 5020 - 5010 + 6050 - 6011);
	assert_string_equal(rows[1].brick, "Work");
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
	assert_int_equal(f.job.rows[1].last, 2);
	assert_int_equal(f.job.rows[0].waited_ns, 2100 - 1020);
	assert_int_equal(f.job.rows[1].caused_ns, 2100 - 1020);
	assert_int_equal(f.job.rows[0].exposed_ns, 2500 - 1020);
	close_ranks(&f);
}

/* Rank 1 is later by `later` in each of 120 turns, and each is late at times by much more. */
static bool is_late_beside_delays(uint64_t later)
{
	enum { TURNS = 120, DELAY = 30000 };
	struct fixture f;
	uint64_t at = 1000;

	open_ranks(&f, 2);
	for (uint64_t i = 0; i < TURNS; i++) {
		uint64_t work[2] = {1000 + i * 7919 % 40, 1000 + later + i * 104729 % 40};
		work[0] += i % 13 == 11 ? DELAY / 2 : 0;
		work[1] += i % 27 == 25 ? 2 * DELAY : 0;
		uint64_t over = at + (work[0] > work[1] ? work[0] : work[1]) + 20;
		for (int r = 0; r < 2; r++)
			turn(&f, r, at, at + work[r], over);
		at = over;
	}
	measure(&f);
	assert_false(f.job.rows[0].is_late);
	bool is_late = f.job.rows[1].is_late;
	close_ranks(&f);
	return is_late;
}

static void long_delays_hide_no_late_rank(void **state)
{
	(void)state;
	assert_true(is_late_beside_delays(60));
	assert_false(is_late_beside_delays(0));
}

/*
 * Ranks that do the same, but for a delay of each that others have at other times. Rank 0 has more
 * by 1 permille, which its delay lifts to more than 3 on average.
 */
static void a_long_delay_makes_no_small_difference_large(void **state)
{
	enum { TURNS = 120, WORK = 100000 };
	struct fixture f;
	uint64_t at = 1000;

	(void)state;
	open_ranks(&f, 3);
	for (uint64_t i = 0; i < TURNS; i++) {
		uint64_t over = 0, work[3];
		for (uint64_t r = 0; r < 3; r++) {
			work[r] = WORK + (i * 7919 + r * 31) % 40 + (r ? 0 : WORK / 1000);
			work[r] += i == 40 * r + 7 ? (r ? WORK : 2 * WORK) : 0;
			over = at + work[r] > over ? at + work[r] : over;
		}
		for (int r = 0; r < 3; r++)
			turn(&f, r, at, at + work[r], over + 20);
		at = over + 20;
	}
	measure(&f);
	for (int r = 0; r < 3; r++)
		assert_false(f.job.rows[r].is_late);
	close_ranks(&f);
}

/* A seventh of the turns of each rank is short: most turns are longer than the others' mean. */
static void ranks_that_are_quick_by_turns_are_not_late(void **state)
{
	enum { RANKS = 8, TURNS = 240, WORK = 100000 };

	(void)state;
	for (uint64_t chance = 1, job = 0; job < 20; job++) {
		struct fixture f;
		uint64_t at = 1000;
		open_ranks(&f, RANKS);
		for (uint64_t i = 0; i < TURNS; i++) {
			uint64_t over = 0, work[RANKS];
			for (uint64_t r = 0; r < RANKS; r++) {
				chance = chance * 6364136223846793005u + 1442695040888963407u;
				work[r] = chance >> 33 & 0xff;
				work[r] += (chance >> 45) % 7 ? WORK : WORK / 2;
				over = at + work[r] > over ? at + work[r] : over;
			}
			for (int r = 0; r < RANKS; r++)
				turn(&f, r, at, at + work[r], over + 20);
			at = over + 20;
		}
		measure(&f);
		for (int r = 0; r < RANKS; r++)
			assert_false(f.job.rows[r].is_late);
		close_ranks(&f);
	}
}

/* Another thread ran in the rank's place. */
static void preempt(struct fixture *f, int rank, uint64_t begin, uint64_t end)
{
	struct run_lane *lane = &f->run.lanes[f->lanes[rank]];
	struct run_off_times before = {0};

	if (lane->off_cpu_count) {
		const struct run_off_cpu *last = &lane->off_cpu[lane->off_cpu_count - 1];
		before.preempted_ns = last->before.preempted_ns + last->end_ns - last->begin_ns;
	}
	BUILDER_GROW(lane->off_cpu, lane->off_cpu_count);
	lane->off_cpu[lane->off_cpu_count++] = (struct run_off_cpu){begin, end, before, 1};
}

/* Both ranks are preempted by chance, for longer than rank 1 has more work by. */
static bool is_late_beside_other_programs(uint64_t later, bool is_known)
{
	enum { TURNS = 40, WORK = 100000 };
	struct fixture f;
	uint64_t at = 1000, chance = 7;

	open_ranks(&f, 2);
	f.run.off_cpu.source = is_known ? OFF_CPU_SWITCHES : OFF_CPU_UNKNOWN;
	for (uint64_t i = 0; i < TURNS; i++) {
		uint64_t work[2], over = 0;
		for (uint64_t r = 0; r < 2; r++) {
			chance = chance * 6364136223846793005u + 1442695040888963407u;
			uint64_t off = (chance >> 33) % (2 * WORK);
			work[r] = WORK + (chance >> 50) % 1000 + r * later + off;
			preempt(&f, (int)r, at + 10, at + 10 + off);
			over = at + work[r] > over ? at + work[r] : over;
		}
		for (int r = 0; r < 2; r++)
			turn(&f, r, at, at + work[r], over + 20);
		at = over + 20;
	}
	measure(&f);
	assert_false(f.job.rows[0].is_late);
	bool is_late = f.job.rows[1].is_late;
	if (is_late)
		assert_string_equal(f.job.rows[1].brick, "Work");
	close_ranks(&f);
	return is_late;
}

static void other_programs_hide_no_late_rank(void **state)
{
	(void)state;
	assert_true(is_late_beside_other_programs(5000, true));
	assert_false(is_late_beside_other_programs(5000, false));
	assert_false(is_late_beside_other_programs(0, true));
}

/* A number below `below`, not quite as likely as others, which does no harm here. */
static uint64_t by_chance(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

/* Some ranks that do the same. is_preempted: by chance, for times that are known. */
static bool has_late_rank_by_chance(uint64_t *state, bool is_preempted)
{
	enum { WORK = 100000, MOST_RANKS = 8 };
	struct fixture f;
	uint64_t at = 1000, ranks = 2 + by_chance(state, MOST_RANKS - 1);
	uint64_t turns = 10 + by_chance(state, 50), spread = 1000 + by_chance(state, 40000);
	bool is_late = false;

	open_ranks(&f, (int)ranks);
	f.run.off_cpu.source = is_preempted ? OFF_CPU_SWITCHES : OFF_CPU_UNKNOWN;
	for (uint64_t i = 0; i < turns; i++) {
		uint64_t work[MOST_RANKS], over = 0;
		for (uint64_t r = 0; r < ranks; r++) {
			uint64_t off = is_preempted ? by_chance(state, WORK) : 0;
			work[r] = WORK + off;
			for (int part = 0; part < 4; part++)
				work[r] += by_chance(state, spread);
			if (off)
				preempt(&f, (int)r, at + 10, at + 10 + off);
			over = at + work[r] > over ? at + work[r] : over;
		}
		for (uint64_t r = 0; r < ranks; r++)
			turn(&f, (int)r, at, at + work[r], over + 20);
		at = over + 20;
	}
	measure(&f);
	for (uint32_t r = 0; r < f.job.count; r++)
		is_late |= f.job.rows[r].is_late;
	close_ranks(&f);
	return is_late;
}

/* Steps of four collectives of two ranks; rank 1 has more work by `later` before the third, and
 * works for very different times, as the other one does, before the others. */
static bool is_late_at_one_place(uint64_t *state, uint64_t later)
{
	enum { STEPS = 60, PLACES = 4, PLACE = 2, WORK = 20000, SPREAD = 40000 };
	struct fixture f;
	bool is_late = false;

	open_ranks(&f, 2);
	uint32_t decode =
		builder_site(&f.run, builder_brick(&f.run, "Decode", "Phase"), -1, NULL, NULL);
	for (uint64_t n = 0; n < STEPS; n++) {
		uint64_t at = 1000 + n * PLACES * (WORK + SPREAD);
		for (int r = 0; r < 2; r++) {
			add(&f, r, decode, at, at + PLACES * (WORK + SPREAD) - 1000);
			builder_step(&f.run, f.lanes[r], 1);
		}
		for (int place = 0; place < PLACES; place++) {
			uint64_t work[2], over = 0;
			for (uint64_t r = 0; r < 2; r++) {
				work[r] =
					WORK + by_chance(state, place == PLACE ? 400 : SPREAD / 2);
				work[r] += place == PLACE ? r * later : 0;
				over = at + work[r] > over ? at + work[r] : over;
			}
			for (int r = 0; r < 2; r++)
				turn(&f, r, at, at + work[r], over + 20);
			at = over + 20;
		}
	}
	measure(&f);
	assert_int_equal(f.job.step_count, STEPS);
	for (uint32_t r = 0; r < 2; r++)
		is_late |= f.job.rows[r].is_late;
	assert_true(!is_late || !later || f.job.rows[1].is_late);
	close_ranks(&f);
	return is_late;
}

static void other_places_of_a_step_hide_no_late_rank(void **state)
{
	enum { THOUSANDS = 2 };
	uint64_t chance = 1;
	int late = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_true(is_late_at_one_place(&chance, 1000));
	for (int i = 0; i < THOUSANDS * 1000; i++)
		late += is_late_at_one_place(&chance, 0);
	assert_in_range(late, 0, 2 * THOUSANDS);
}

static void of_thousand_equal_jobs_one_has_a_late_rank(void **state)
{
	enum { THOUSANDS = 2 };

	(void)state;
	for (int is_preempted = 0; is_preempted < 2; is_preempted++) {
		uint64_t chance = 1;
		int late = 0;
		for (int i = 0; i < THOUSANDS * 1000; i++)
			late += has_late_rank_by_chance(&chance, is_preempted);
		assert_in_range(late, 0, 2 * THOUSANDS);
	}
}

static void ranks_of_other_collectives_are_not_compared(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 2);
	add(&f, 0, f.reduce, 1000, 1010);
	add(&f, 1, f.gather, 1000, 1010);
	measure(&f);
	assert_int_equal(f.job.collectives, 0);
	close_ranks(&f);

	open_ranks(&f, 2); /* one of them alone has any */
	add(&f, 0, f.reduce, 1000, 1010);
	measure(&f);
	assert_int_equal(f.job.collectives, 0);
	close_ranks(&f);

	open_ranks(&f, 2); /* two processes of one rank */
	f.run.processes[0].rank = f.run.processes[1].rank = 0;
	add(&f, 0, f.reduce, 1000, 1010);
	add(&f, 1, f.reduce, 1000, 1010);
	measure(&f);
	assert_int_equal(f.job.collectives, 0);
	close_ranks(&f);
}

/* A turn that begins a little apart on each rank, by the clock of its machine. */
static void machine_turn(
	struct fixture *f, int rank, uint64_t clock, uint64_t begin, uint64_t at, uint64_t over)
{
	turn(f, rank, clock + begin, clock + at, clock + over);
}

/* Two machines with two ranks each, whose clocks are a second apart; rank 3 is late. */
static void recordings_of_several_ranks_are_one_job(void **state)
{
	struct fixture machines[2];
	struct rank_job job;

	(void)state;
	rank_job_init(&job);
	for (int m = 0; m < 2; m++) {
		struct fixture *f = &machines[m];
		uint64_t clock = m ? 1000000000 : 0;
		open_ranks(f, 2);
		for (int r = 0; r < 2; r++) {
			struct run_process *p = &f->run.processes[r];
			p->rank += 2 * m;
			p->world = 4;
			p->host = strdup(m ? "b" : "a");
			for (uint64_t n = 0; n < 20; n++)
				machine_turn(f, r, clock, 10000 * n + 1100,
					10000 * n + 5000 + (uint64_t)(1000 * (m && r) + 10 * r),
					10000 * n + 11050 + (uint64_t)(20 * r));
		}
		assert_int_equal(rank_job_add(&job, &f->run), 0);
	}
	assert_int_equal(rank_job_match(&job), 0);
	assert_int_equal(rank_clocks_align(&job), 0);
	assert_int_equal(rank_job_order(&job), 0);
	for (uint32_t m = 0; m < 2; m++)
		assert_int_equal(rank_job_cut(&job, &machines[m].run, m), 0);
	rank_job_finish(&job);
	assert_int_equal(job.count, 4);
	assert_int_equal(job.collectives, 20);
	assert_int_equal(job.disordered, 0);
	for (uint32_t r = 0; r < 4; r++) {
		assert_int_equal(job.rows[r].rank, r);
		assert_int_equal(job.rows[r].clock, r / 2);
		assert_int_equal(job.rows[r].last, r == 3 ? 20 : 0);
		assert_int_equal(job.rows[r].steps, 0);
	}
	const struct rank_clock *clock = &job.clocks[1];
	assert_true(clock->is_aligned && clock->bound_ns < 7000);
	int64_t off = (int64_t)(clock->origin_ns - 1000000000 - job.clocks[0].origin_ns) -
		      rank_clock_time(clock, clock->origin_ns);
	assert_true(off < 100 && off > -100);
	/* from the second collective on, held against the mean of ranks 0 to 2 */
	assert_int_equal(job.rows[3].longer_ns, 19 * (3910 + 1000 - (3 * 3900 + 10) / 3.0));
	assert_string_equal(job.rows[3].brick, "Work");
	rank_job_fini(&job);
	for (int m = 0; m < 2; m++)
		run_fini(&machines[m].run);
}

/* Two recordings of one rank each, whose hosts are these; *job is empty. */
static void open_two(struct rank_job *job, struct fixture f[2], const char *const hosts[2])
{
	rank_job_init(job);
	for (int r = 0; r < 2; r++) {
		open_ranks(&f[r], 1);
		f[r].run.processes[0].rank = r;
		f[r].run.processes[0].world = 2;
		f[r].run.processes[0].host = strdup(hosts[r]);
	}
}

static void measure_two(struct rank_job *job, struct fixture f[2])
{
	for (int r = 0; r < 2; r++)
		assert_int_equal(rank_job_add(job, &f[r].run), 0);
	assert_int_equal(rank_job_match(job), 0);
	assert_int_equal(rank_clocks_align(job), 0);
	assert_int_equal(rank_job_order(job), 0);
	for (uint32_t r = 0; r < 2; r++)
		assert_int_equal(rank_job_cut(job, &f[r].run, r), 0);
	rank_job_finish(job);
}

static void close_two(struct rank_job *job, struct fixture f[2])
{
	rank_job_fini(job);
	for (int r = 0; r < 2; r++)
		run_fini(&f[r].run);
}

static const char *const one_host[] = {"a", "a"}, *const two_hosts[] = {"a", "b"};

static uint32_t mpi_site(struct fixture *f, const char *brick, const char *operation)
{
	return builder_site(
		&f->run, builder_brick(&f->run, brick, "Communication"), -1, operation, NULL);
}

/* Says of the rank's last call which collective it was. */
static void collective(struct fixture *f, uint32_t number, uint64_t bytes)
{
	struct run *run = &f->run;

	BUILDER_GROW(run->messages, run->message_count);
	run->messages[run->message_count++] = (struct run_message){.lane = f->lanes[0],
		.sample = (uint32_t)run->lanes[f->lanes[0]].sample_count - 1,
		.event = BRICK_MESSAGE_COLLECTIVE,
		.peer = BRICK_MESSAGE_NO_PEER,
		.communicator = 7,
		.number = number,
		.bytes = bytes};
}

/* Rank 0 is let go before rank 1 comes, and that is in order where rank 1 gives it nothing. */
static void who_gets_nothing_does_not_wait(void **state)
{
	static const struct {
		const char *brick, *operation;
		uint64_t bytes;
		bool waits;
	} cases[] = {{"AllToAll", "MPI_Alltoallv", 100, false},
		{"AllToAll", "c10d::alltoall_base_", 100, false},
		{"ReduceScatter", "MPI_Reduce_scatter", 100, false},
		{"AllReduce", "MPI_Allreduce", 0, false}, {"AllReduce", "MPI_Allreduce", 100, true},
		{"Barrier", "MPI_Barrier", 0, true}};
	struct fixture f[2];
	struct rank_job job;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		open_two(&job, f, one_host);
		for (uint64_t r = 0; r < 2; r++) {
			uint32_t site = mpi_site(&f[r], cases[i].brick, cases[i].operation);
			for (uint64_t n = 0; n < 3; n++) {
				uint64_t came = 1000 + 10000 * n + 5000 * r;
				add(&f[r], 0, site, came, came + 100);
				collective(&f[r], (uint32_t)n + 1, cases[i].bytes);
			}
		}
		measure_two(&job, f);
		assert_int_equal(job.collectives, 3);
		assert_int_equal(job.rows[1].clock, cases[i].waits ? 1 : 0);
		if (!cases[i].waits)
			assert_int_equal(job.rows[1].last, 3);
		close_two(&job, f);
	}
}

/* Nobody knows when ranks left, nor of any message. */
static void recordings_of_one_host_have_one_clock(void **state)
{
	struct fixture f[2];
	struct rank_job job;

	(void)state;
	open_two(&job, f, one_host);
	for (uint64_t r = 0; r < 2; r++)
		for (uint64_t n = 0; n < 3; n++)
			add(&f[r], 0, f[r].reduce, 1000 * (n + 1) + r, 1000 * (n + 1) + r + 10);
	measure_two(&job, f);
	assert_int_equal(job.collectives, 3);
	assert_int_equal(job.rows[1].clock, 0);
	assert_int_equal(job.rows[1].last, 3);
	close_two(&job, f);

	open_two(&job, f, one_host); /* nor of any collective */
	measure_two(&job, f);
	assert_int_equal(job.rows[1].clock, 0);
	close_two(&job, f);
}

/* Broadcasts limit no clock: nobody knows which of two ranks came last. */
static void without_one_time_nobody_is_last(void **state)
{
	struct fixture f[2];
	struct rank_job job;

	(void)state;
	open_two(&job, f, two_hosts);
	for (uint64_t r = 0; r < 2; r++) {
		uint32_t site = mpi_site(&f[r], "Broadcast", "MPI_Bcast");
		for (uint64_t n = 0; n < 12; n++) {
			uint64_t at = 1000 + 10000 * n;
			add(&f[r], 0, f[r].work, at, at + 500 + r);
			add(&f[r], 0, site, at + 500 + r, at + 600);
		}
	}
	measure_two(&job, f);
	assert_int_equal(job.collectives, 12);
	assert_false(job.clocks[1].is_aligned);
	assert_int_equal(job.compared, 0);
	assert_false(job.is_judged); /* nor that nobody is late */
	for (int r = 0; r < 2; r++) {
		assert_true(isnan(job.rows[r].behind_ns) && !job.rows[r].brick);
		assert_int_equal(job.rows[r].last, 0);
		assert_int_equal(job.rows[r].longer_ns + job.rows[r].caused_ns, 0);
	}
	assert_true(job.imbalance < 0);
	close_two(&job, f);
}

static void a_wait_for_all_is_for_each(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 2);
	uint32_t begins = mpi_site(&f, "AllReduce", "MPI_Iallreduce");
	uint32_t all = mpi_site(&f, "CollectiveWait", "MPI_Waitall");
	for (int r = 0; r < 2; r++) {
		add(&f, r, begins, 1000, 1010);
		add(&f, r, begins, 1010, 1020);
		add(&f, r, all, 1020, 2500);
	}
	measure(&f);
	assert_int_equal(f.job.collectives, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(f.job.rows[0].calls.list[i].end_ns, 2500);
	close_ranks(&f);
}

/* Rank 0 receives before rank 1 sends, which one clock contradicts if the message is certain. */
static void messages_to_anybody_limit_no_clock(void **state)
{
	struct fixture f[2];
	struct rank_job job;

	(void)state;
	for (uint32_t is_uncertain = 0; is_uncertain < 2; is_uncertain++) {
		open_two(&job, f, one_host);
		for (uint64_t r = 0; r < 2; r++) {
			uint32_t site = r ? mpi_site(&f[r], "Send", "MPI_Send")
					  : mpi_site(&f[r], "Receive", "MPI_Recv");
			add(&f[r], 0, site, 1000 * (r + 1), 1000 * (r + 1) + 100);
			collective(&f[r], 1, 8);
			f[r].run.messages->event = r ? BRICK_MESSAGE_SENT : BRICK_MESSAGE_RECEIVED;
			f[r].run.messages->peer = (int32_t)!r;
			f[r].run.messages->is_uncertain = !r && is_uncertain;
		}
		measure_two(&job, f);
		assert_int_equal(job.rows[1].clock, !is_uncertain);
		assert_int_equal(job.paired, !is_uncertain);
		close_two(&job, f);
	}
}

/* A message of the rank's last call. */
static void message(struct fixture *f, int rank, uint32_t event, int peer)
{
	struct run *run = &f->run;

	BUILDER_GROW(run->messages, run->message_count);
	run->messages[run->message_count++] = (struct run_message){.lane = f->lanes[rank],
		.sample = (uint32_t)run->lanes[f->lanes[rank]].sample_count - 1,
		.event = event,
		.peer = peer,
		.communicator = 7,
		.number = 1,
		.bytes = 8};
}

/* Ranks 0, 1 and 2 hand something on. The path is the work of each until it sends. */
static void the_path_goes_back_to_the_sender(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 3);
	uint32_t send = mpi_site(&f, "Send", "MPI_Send"),
		 receive = mpi_site(&f, "Receive", "MPI_Recv");
	for (int r = 0; r < 3; r++) {
		uint64_t at = 1000 * (uint64_t)r;
		add(&f, r, f.other, 100, 200 + (uint64_t)r);
		if (r) {
			add(&f, r, receive, 200 + (uint64_t)r, at + 1100);
			message(&f, r, BRICK_MESSAGE_RECEIVED, r - 1);
		}
		add(&f, r, f.work, at + 1100, at + 2000);
		if (r < 2) {
			add(&f, r, send, at + 2000, at + 2010);
			message(&f, r, BRICK_MESSAGE_SENT, r + 1);
		}
	}
	measure(&f);
	const struct rank_row *rows = f.job.rows;
	assert_int_equal(f.job.collectives, 0);
	assert_int_equal(f.job.path_ns, 3100 - 2000); /* from the first message to the last */
	assert_int_equal(rows[0].path_ns, 0);
	assert_int_equal(rows[1].path_ns, 900);
	assert_int_equal(rows[2].path_ns, 0);
	assert_true(f.job.message_ns == 200 && f.job.exchange_ns == 0);
	assert_int_equal(f.job.part_count, 1);
	assert_int_equal(f.job.parts[0].row, 1);
	assert_string_equal(f.job.parts[0].brick, "Work");
	assert_int_equal(rows[0].caused_ns, 2000 - 201);
	assert_int_equal(rows[1].caused_ns, 3000 - 202);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(rows[r].waited_ns, r ? rows[r - 1].caused_ns : 0);
		assert_int_equal(rows[r].exposed_ns, rows[r].waited_ns);
	}
	close_ranks(&f);
}

/* Rank 1 waits for two messages at once: rank 0 owes what came later than rank 2's. */
static void a_wait_for_two_is_paid_once(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 3);
	uint32_t send = mpi_site(&f, "Send", "MPI_Send"),
		 wait = mpi_site(&f, "MessageWait", "MPI_Waitall");
	for (int r = 0; r < 3; r += 2) {
		add(&f, r, send, r ? 3000 : 4000, r ? 3010 : 4010);
		message(&f, r, BRICK_MESSAGE_SENT, 1);
	}
	add(&f, 1, wait, 1000, 4100);
	message(&f, 1, BRICK_MESSAGE_RECEIVED, 0);
	message(&f, 1, BRICK_MESSAGE_RECEIVED, 2);
	measure(&f);
	assert_int_equal(f.job.rows[1].waited_ns, 3000);
	assert_int_equal(f.job.rows[2].caused_ns, 2000);
	assert_int_equal(f.job.rows[0].caused_ns, 1000);
	assert_int_equal(f.job.path_ns, 4100 - 3000);
	assert_int_equal(f.job.rows[0].path_ns, 1000);
	close_ranks(&f);
}

/* Rank 1 waits for the root, rank 0, and rank 2 comes when nobody waits any more. */
static void a_broadcast_waits_for_its_root(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 3);
	uint32_t site = mpi_site(&f, "Broadcast", "MPI_Bcast");
	for (uint32_t n = 1; n <= 2; n++) {
		uint64_t begin = n * 10000;
		for (int r = 0; r < 3; r++) {
			uint64_t came = begin + (r ? r * 4000 - 3000 : 3000);
			add(&f, r, f.work, begin, came);
			add(&f, r, site, came, r == 1 ? begin + 3100 : came + 50);
			message(&f, r, BRICK_MESSAGE_COLLECTIVE, 0);
			f.run.messages[f.run.message_count - 1].number = n;
		}
	}
	measure(&f);
	const struct rank_row *rows = f.job.rows;
	assert_int_equal(f.job.collectives, 2);
	assert_int_equal(rows[0].caused_ns, 2 * 2000);
	assert_int_equal(rows[1].waited_ns, 2 * 2000);
	assert_int_equal(rows[2].caused_ns, 0);
	assert_int_equal(rows[0].last, 2);
	close_ranks(&f);
}

/* What other threads wait for does not hold the one that has the collectives. */
static void the_path_stays_where_another_thread_waits(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 2);
	uint32_t send = mpi_site(&f, "Send", "MPI_Send"),
		 receive = mpi_site(&f, "Receive", "MPI_Recv");
	for (int r = 0; r < 2; r++) {
		turn(&f, r, 0, 1000 + (uint64_t)r, 1100);
		turn(&f, r, 1100, r ? 9000 : 8000, 9100);
	}
	uint32_t beside = builder_lane(&f.run, f.run.lanes[f.lanes[1]].process, 77);
	f.lanes[2] = beside;
	add(&f, 2, receive, 2000, 5000);
	message(&f, 2, BRICK_MESSAGE_RECEIVED, 0);
	f.lanes[2] = builder_lane(&f.run, f.run.lanes[f.lanes[0]].process, 78);
	add(&f, 2, send, 4000, 4010);
	message(&f, 2, BRICK_MESSAGE_SENT, 1);
	measure(&f);
	assert_int_equal(f.job.path_ns, 9000 - 1001);
	assert_int_equal(f.job.rows[1].path_ns, 9000 - 1100 + 10); /* the call that begins it */
	assert_int_equal(f.job.rows[0].path_ns, 0);
	assert_true(f.job.exchange_ns == 1100 - 1011 && f.job.message_ns == 0);
	close_ranks(&f);
}

/* Ten steps; rank 1 is late in the fourth alone, and rank 0 does nothing but wait for it there. */
static void the_worst_step_has_its_rank_and_brick(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f, 2);
	uint32_t decode =
		builder_site(&f.run, builder_brick(&f.run, "Decode", "Phase"), -1, NULL, NULL);
	for (uint64_t n = 0; n < 10; n++) {
		uint64_t begin = 10000 * n;
		for (int r = 0; r < 2; r++) {
			uint64_t late = r && n == 3 ? 4000 : 0;
			add(&f, r, decode, begin, begin + 9000);
			builder_step(&f.run, f.lanes[r], 1);
			add(&f, r, f.other, begin + 10, begin + 1000 + late);
			turn(&f, r, begin + 1000 + late,
				begin + 3000 + late + (n + (uint64_t)r) % 2, begin + 9000);
		}
	}
	measure(&f);
	assert_int_equal(f.job.step_count, 10);
	assert_int_equal(f.job.worst_count, RANK_WORST_STEPS);
	const struct rank_step *worst = f.job.worst[0];
	assert_int_equal(worst->number, 7); /* of both ranks' steps, that of rank 0 */
	assert_int_equal(worst->late, 1);
	assert_int_equal(worst->waited_ns, 4000 - 10 - 1);
	assert_string_equal(worst->brick, "Else");
	assert_int_equal(worst->longer_ns, 4000);
	assert_true(f.job.step_imbalance_most > 0.3 && f.job.step_imbalance < 0.01);
	assert_true(f.job.is_judged && !f.job.rows[1].is_late); /* once is chance */
	close_ranks(&f);
}

/* A recording may say any times. */
static void times_without_end_stay_numbers(void **state)
{
	const struct rank_clock clock = {.offset_ns = 9e18, .drift = 2e-3};

	(void)state;
	assert_true(rank_clock_time(&clock, INT64_MAX) == INT64_MAX);
	assert_true(rank_clock_time(&(struct rank_clock){.offset_ns = -9e18},
			    (uint64_t)INT64_MIN) == INT64_MIN);
	assert_true(rank_job_ns(0x1p64) == UINT64_MAX);
	assert_true(rank_job_ns(-0x1p64) == 0);
	assert_true(rank_job_ns(1.5) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_rank_makes_the_others_wait),
		cmocka_unit_test(a_wait_is_for_the_first_that_not_all_have_come_to),
		cmocka_unit_test(long_delays_hide_no_late_rank),
		cmocka_unit_test(a_long_delay_makes_no_small_difference_large),
		cmocka_unit_test(ranks_that_are_quick_by_turns_are_not_late),
		cmocka_unit_test(other_programs_hide_no_late_rank),
		cmocka_unit_test(other_places_of_a_step_hide_no_late_rank),
		cmocka_unit_test(of_thousand_equal_jobs_one_has_a_late_rank),
		cmocka_unit_test(ranks_of_other_collectives_are_not_compared),
		cmocka_unit_test(recordings_of_several_ranks_are_one_job),
		cmocka_unit_test(who_gets_nothing_does_not_wait),
		cmocka_unit_test(recordings_of_one_host_have_one_clock),
		cmocka_unit_test(without_one_time_nobody_is_last),
		cmocka_unit_test(a_wait_for_all_is_for_each),
		cmocka_unit_test(messages_to_anybody_limit_no_clock),
		cmocka_unit_test(the_path_goes_back_to_the_sender),
		cmocka_unit_test(a_wait_for_two_is_paid_once),
		cmocka_unit_test(a_broadcast_waits_for_its_root),
		cmocka_unit_test(the_path_stays_where_another_thread_waits),
		cmocka_unit_test(the_worst_step_has_its_rank_and_brick),
		cmocka_unit_test(times_without_end_stay_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
