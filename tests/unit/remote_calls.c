/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that a server computes for its clients: both ends find each other by graph and order, and
 * a call lasts until the client comes back from a wait that the server's result could end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/ranks/message_pairs.h"
#include "analysis/ranks/remote_clocks.h"
#include "tests/unit/run_builder.h"

enum { CLIENT, SERVER, SIDES };

struct fixture {
	struct run run;
	struct remote_calls calls;
	uint32_t lanes[SIDES], send, compute, wait;
};

static void open_sides(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->run.complete = 1;
	f->run.clock = *brick_clock_get();
	f->send = builder_site(
		&f->run, builder_brick(&f->run, "Graph RPC0", "Engine"), -1, NULL, NULL);
	f->compute = builder_site(
		&f->run, builder_brick(&f->run, "GraphCompute", "Engine"), -1, NULL, NULL);
	f->wait = builder_site(
		&f->run, builder_brick(&f->run, "Synchronize", "Wait"), -1, NULL, NULL);
	for (uint32_t side = 0; side < SIDES; side++)
		f->lanes[side] =
			builder_lane(&f->run, builder_process(&f->run, side + 1), side + 1);
}

static void add(struct fixture *f, int side, uint32_t site, uint64_t begin, uint64_t end)
{
	builder_sample(&f->run, f->lanes[side], site, begin, end, 0);
}

/* Of the side's last sample. */
static void tell(struct fixture *f, int side, uint32_t graph, uint32_t number)
{
	struct run *run = &f->run;
	BUILDER_GROW(run->messages, run->message_count);
	run->messages[run->message_count++] = (struct run_message){.lane = f->lanes[side],
		.sample = (uint32_t)run->lanes[f->lanes[side]].sample_count - 1,
		.event = side == CLIENT ? BRICK_MESSAGE_SENT : BRICK_MESSAGE_RECEIVED,
		.peer = BRICK_MESSAGE_NO_PEER,
		.communicator = graph,
		.number = number};
}

static void measure(struct fixture *f)
{
	assert_int_equal(remote_calls_init(&f->calls, &f->run), 0);
}

static void close_sides(struct fixture *f)
{
	remote_calls_fini(&f->calls);
	run_fini(&f->run);
}

static void a_call_ends_with_the_wait_for_its_result(void **state)
{
	struct fixture f;

	(void)state;
	open_sides(&f);
	add(&f, SERVER, f.compute, 130, 180);
	tell(&f, SERVER, 7, 1);
	add(&f, SERVER, f.compute, 1030, 1040);
	tell(&f, SERVER, 7, 2);
	add(&f, CLIENT, f.send, 100, 110);
	tell(&f, CLIENT, 7, 1);
	add(&f, CLIENT, f.wait, 120, 125); /* for something else: the server had not begun */
	add(&f, CLIENT, f.compute, 130, 190);
	add(&f, CLIENT, f.wait, 190, 200);
	add(&f, CLIENT, f.send, 1000, 1001);
	tell(&f, CLIENT, 7, 2);
	measure(&f);
	assert_int_equal(f.calls.count, 2);
	assert_int_equal(f.calls.list[0].begin_ns, 100);
	assert_int_equal(f.calls.list[0].end_ns, 200);
	assert_int_equal(f.calls.list[0].compute_ns, 50);
	assert_int_equal(f.calls.list[0].waited_ns, 15);
	assert_int_equal(f.calls.list[0].wire_ns, 50);
	assert_int_equal(f.calls.list[1].compute_ns, 10);
	assert_int_equal(f.calls.list[1].end_ns, 0); /* nobody waited for it */
	assert_int_equal(f.calls.whole_ns, 100);
	assert_int_equal(f.calls.compute_ns, 50);
	assert_int_equal(f.calls.sent_alone + f.calls.received_alone, 0);
	close_sides(&f);
}

static void another_graph_is_another_call(void **state)
{
	struct fixture f;

	(void)state;
	open_sides(&f);
	for (uint64_t i = 0; i < 3; i++) {
		add(&f, CLIENT, f.send, 100 * i, 100 * i + 1);
		tell(&f, CLIENT, i == 2 ? 8 : 7, (uint32_t)i + 1);
		add(&f, SERVER, f.compute, 100 * i + 10, 100 * i + 20);
		tell(&f, SERVER, i == 1 ? 9 : 7, (uint32_t)i + 1);
	}
	measure(&f);
	assert_int_equal(f.calls.count, 2);
	assert_int_equal(f.calls.sent_alone, 1);
	assert_int_equal(f.calls.received_alone, 1);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(f.run.messages[f.calls.list[i].received].communicator, 7);
	struct message_pairs pairs;
	assert_int_equal(message_pairs_init(&pairs, &f.run), 0); /* no messages between ranks */
	assert_int_equal(pairs.count + pairs.sent_alone + pairs.received_alone, 0);
	message_pairs_fini(&pairs);
	close_sides(&f);
}

/* Records that were lost, and clients that were not recorded, shift no later call. */
static void what_is_lost_pairs_nothing_else(void **state)
{
	enum { CALLS = 7, UNTOLD_SENDING = 1, UNTOLD_COMPUTING = 2, OTHERS = 4 };
	struct fixture f;

	(void)state;
	open_sides(&f);
	for (uint64_t i = 0; i < CALLS; i++) {
		if (i != UNTOLD_SENDING) {
			add(&f, CLIENT, f.send, 1000 * i, 1000 * i + 1);
			tell(&f, CLIENT, 7, (uint32_t)i + 1);
		}
		if (i != UNTOLD_COMPUTING) {
			add(&f, SERVER, f.compute, 1000 * i + 10, 1000 * i + 20 + i);
			tell(&f, SERVER, 7, (uint32_t)i + 1);
		}
		if (i == OTHERS) {
			add(&f, SERVER, f.compute, 1000 * i + 300, 1000 * i + 400);
			tell(&f, SERVER, 7, (uint32_t)i + 1);
		}
	}
	measure(&f);
	assert_int_equal(f.calls.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(f.calls.list[i].begin_ns, 1000 * (5 + i));
		assert_int_equal(f.calls.list[i].compute_ns, 10 + 5 + i);
	}
	/* two computings may be the first one's; and from the lost one to the other client's */
	assert_int_equal(f.calls.sent_alone, 1 + 3);
	assert_int_equal(f.calls.received_alone, 2 + 3);
	close_sides(&f);
}

/* Several at a time, which are computed in their order, if all are of one client. */
static void several_are_computed_in_their_order(void **state)
{
	struct fixture f;

	(void)state;
	open_sides(&f);
	for (uint64_t i = 0; i < 3; i++) {
		add(&f, CLIENT, f.send, 100 * i, 100 * i + 1);
		tell(&f, CLIENT, 7, (uint32_t)i + 1);
		add(&f, SERVER, f.compute, 250 + 200 * i, 400 + 210 * i);
		tell(&f, SERVER, 7, (uint32_t)i + 1);
	}
	measure(&f);
	assert_int_equal(f.calls.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(f.calls.list[i].begin_ns, 100 * i);
		assert_int_equal(f.calls.list[i].compute_ns, 150 + 10 * i);
	}
	remote_calls_fini(&f.calls);
	f.run.lanes[f.lanes[SERVER]].process = f.run.lanes[f.lanes[CLIENT]].process;
	measure(&f);
	assert_int_equal(f.calls.count, 0);
	assert_int_equal(f.calls.sent_alone, 3);
	assert_int_equal(f.calls.received_alone, 3);
	close_sides(&f);
}

/* A client and a server with recordings of their own. */
struct pair {
	struct fixture sides[SIDES];
	struct remote_source sources[SIDES];
	struct remote_calls calls;
	double ahead, drift; /* of the server's clock */
};

static void open_pair(struct pair *p, const char *server)
{
	static const char *const hosts[SIDES] = {"a", "b"};

	for (int side = 0; side < SIDES; side++) {
		open_sides(&p->sides[side]);
		p->sides[side].run.host = strdup(side == SERVER ? server : hosts[side]);
		p->sources[side].run = &p->sides[side].run;
	}
}

static uint64_t server_ns(const struct pair *p, uint64_t ns)
{
	return (uint64_t)((double)ns * (1 + p->drift) + p->ahead);
}

/* The i-th call begins at `ns`: 90 us for the wire, computing that differs, a wait for it. */
static void pair_call(struct pair *p, uint64_t i, uint64_t ns, bool is_sent)
{
	uint64_t there = ns + 40000 + i * 7919 % 30000, done = there + 500000 + i * 104729 % 400000;
	struct fixture *client = &p->sides[CLIENT], *server = &p->sides[SERVER];

	add(server, SERVER, server->compute, server_ns(p, there), server_ns(p, done));
	tell(server, SERVER, i % 5 ? 7 : 8, (uint32_t)i + 1);
	if (!is_sent)
		return;
	add(client, CLIENT, client->send, ns, ns + 5000);
	tell(client, CLIENT, i % 5 ? 7 : 8, (uint32_t)i + 1);
	add(client, CLIENT, client->wait, ns + 5000, ns + 5100); /* for nothing */
	add(client, CLIENT, client->wait, ns + 6000, done + 20000 + i * 31337 % 30000);
}

static void measure_pair(struct pair *p)
{
	assert_int_equal(remote_clocks_align(p->sources, SIDES), 0);
	assert_int_equal(remote_calls_init_of(&p->calls, p->sources, SIDES), 0);
}

static void close_pair(struct pair *p)
{
	remote_calls_fini(&p->calls);
	for (int side = 0; side < SIDES; side++)
		run_fini(&p->sides[side].run);
}

/* How far the server's time is placed from the truth. */
static double pair_off(const struct pair *p, uint64_t ns)
{
	double time = (double)rank_clock_time(&p->sources[SERVER].clock, server_ns(p, ns));

	return time - (double)rank_clock_time(&p->sources[CLIENT].clock, ns);
}

static void clocks_that_are_apart_and_drift_pair_every_call(void **state)
{
	enum { CALLS = 300 };
	static const struct {
		double ahead, drift;
	} clocks[] = {{50e6, 0}, {-50e6, 80e-6}, {7.2e12, -150e-6}, {0, 0}};

	(void)state;
	for (size_t c = 0; c < sizeof(clocks) / sizeof(*clocks); c++) {
		struct pair p = {.ahead = clocks[c].ahead, .drift = clocks[c].drift};
		open_pair(&p, "b");
		for (uint64_t i = 0; i < CALLS; i++)
			pair_call(&p, i, 100000000 + i * 2000000, true);
		measure_pair(&p);
		assert_int_equal(p.calls.count, CALLS);
		assert_int_equal(p.calls.sent_alone + p.calls.received_alone, 0);
		const struct rank_clock *clock = &p.sources[SERVER].clock;
		assert_true(clock->is_aligned && clock->bound_ns < 50000);
		for (uint64_t i = 0; i < CALLS; i++) {
			uint64_t ns = 100000000 + i * 2000000;
			assert_true(fabs(pair_off(&p, ns)) <= clock->bound_ns + 2);
			assert_int_equal(p.calls.list[i].begin_ns, ns);
			assert_int_equal(
				p.sides[SERVER].run.messages[p.calls.list[i].received].number,
				i + 1);
			assert_true(p.calls.list[i].wire_ns < 150000 && p.calls.list[i].end_ns);
		}
		close_pair(&p);
	}
}

/* One line of many is taken: that of the graph that was computed soonest after it was sent. */
static void a_clock_that_no_wait_limits_has_no_bound(void **state)
{
	struct pair p = {.ahead = 50e6};

	(void)state;
	open_pair(&p, "b");
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t ns = 100000000 + i * 2000000, there = server_ns(&p, ns + 40000 + i * 1000);
		add(&p.sides[CLIENT], CLIENT, p.sides[CLIENT].send, ns, ns + 5000);
		tell(&p.sides[CLIENT], CLIENT, 7, (uint32_t)i + 1);
		add(&p.sides[SERVER], SERVER, p.sides[SERVER].compute, there, there + 500000);
		tell(&p.sides[SERVER], SERVER, 7, (uint32_t)i + 1);
	}
	measure_pair(&p);
	assert_true(p.sources[SERVER].clock.is_aligned);
	assert_true(isinf(p.sources[SERVER].clock.bound_ns));
	assert_true(fabs(pair_off(&p, 100000000)) < 60000);
	assert_int_equal(p.calls.count, 20);
	close_pair(&p);
}

/* The server computed for others before and behind, who had the same graphs. */
static void a_part_is_found_where_its_order_is_the_only_one(void **state)
{
	(void)state;
	for (int is_shared = 0; is_shared < 2; is_shared++) {
		struct pair p = {.ahead = is_shared ? 0 : 50e6};
		open_pair(&p, is_shared ? "a" : "b");
		for (uint64_t i = 0; i < 40; i++)
			pair_call(&p, i, 100000000 + i * 2000000, i >= 12 && i < 27);
		measure_pair(&p);
		/* every fifth graph is another one: it fits in several places, unless the clock is
		 * one */
		assert_int_equal(p.sources[SERVER].clock.is_aligned, is_shared);
		/* the last one of each graph stands beside one of others */
		assert_int_equal(p.calls.count, is_shared ? 13 : 0);
		assert_int_equal(p.calls.sent_alone, is_shared ? 2 : 15);
		close_pair(&p);
	}
}

/* Among thousands of graphs, which lie apart by chance, the server's for others shift no call. */
static void a_long_part_is_found_among_others(void **state)
{
	enum { CALLS = 5000, OTHERS = 60 };
	struct pair p = {.ahead = -50e6, .drift = 40e-6};
	uint64_t ns = 100000000, first = 0, chance = 1;

	(void)state;
	open_pair(&p, "b");
	for (uint64_t i = 0; i < CALLS + OTHERS; i++) {
		bool is_sent = i >= OTHERS / 2 && i < CALLS + OTHERS / 2;
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		ns += 1500000 + (chance >> 33) % 1000000;
		first = is_sent && !first ? ns : first;
		pair_call(&p, i, ns, is_sent);
	}
	measure_pair(&p);
	const struct rank_clock *clock = &p.sources[SERVER].clock;
	assert_true(clock->is_aligned && clock->bound_ns < 50000);
	assert_true(fabs(pair_off(&p, first)) <= clock->bound_ns + 2);
	assert_true(fabs(pair_off(&p, ns)) <= clock->bound_ns + 2);
	close_pair(&p);
}

/* A client that waits for results in one part of its time alone. */
static void a_long_part_is_found_by_the_waits_of_a_part(void **state)
{
	enum { CALLS = 20000, OTHERS = 60, FROM = 1500, TO = 6000 };
	struct pair p = {.ahead = -50e6, .drift = 40e-6};
	uint64_t ns = 100000000, first = 0, chance = 1;

	(void)state;
	open_pair(&p, "b");
	for (uint64_t i = 0; i < CALLS + OTHERS; i++) {
		uint64_t sent = i - OTHERS / 2;
		struct fixture *client = &p.sides[CLIENT];
		chance = chance * 6364136223846793005u + 1442695040888963407u;
		ns += 1500000 + (chance >> 33) % 1000000;
		first = sent == 0 ? ns : first;
		pair_call(&p, i, ns, sent >= FROM && sent < TO);
		if (sent < CALLS && (sent < FROM || sent >= TO)) {
			add(client, CLIENT, client->send, ns, ns + 5000);
			tell(client, CLIENT, i % 5 ? 7 : 8, (uint32_t)i + 1);
		}
	}
	measure_pair(&p);
	const struct rank_clock *clock = &p.sources[SERVER].clock;
	assert_true(clock->is_aligned);
	assert_true(fabs(pair_off(&p, first)) <= clock->bound_ns + 2);
	assert_true(fabs(pair_off(&p, ns)) <= clock->bound_ns + 2);
	close_pair(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_ends_with_the_wait_for_its_result),
		cmocka_unit_test(another_graph_is_another_call),
		cmocka_unit_test(what_is_lost_pairs_nothing_else),
		cmocka_unit_test(several_are_computed_in_their_order),
		cmocka_unit_test(clocks_that_are_apart_and_drift_pair_every_call),
		cmocka_unit_test(a_clock_that_no_wait_limits_has_no_bound),
		cmocka_unit_test(a_long_part_is_found_among_others),
		cmocka_unit_test(a_long_part_is_found_by_the_waits_of_a_part),
		cmocka_unit_test(a_part_is_found_where_its_order_is_the_only_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
