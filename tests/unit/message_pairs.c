/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between ranks: the ends of a message find each other by communicator, ranks, tag and
 * number, in whatever order they were written; and a call that receives several messages waits for
 * the last of the senders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/ranks/message_pairs.h"
#include "tests/unit/run_builder.h"

struct fixture {
	struct run run;
	struct message_pairs pairs;
	uint32_t lanes[3], site;
};

static void open_ranks(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->run.complete = 1;
	f->run.clock = *brick_clock_get();
	f->site = builder_site(
		&f->run, builder_brick(&f->run, "Send", "Communication"), -1, "MPI_Send", NULL);
	for (int r = 0; r < 3; r++) {
		uint32_t process = builder_process(&f->run, (uint32_t)r + 1);
		f->run.processes[process].rank = r;
		f->run.processes[process].world = 3;
		f->lanes[r] = builder_lane(&f->run, process, (uint32_t)r + 1);
	}
}

static void call(struct fixture *f, int rank, uint64_t begin, uint64_t end)
{
	builder_sample(&f->run, f->lanes[rank], f->site, begin, end, 0);
}

/* Of the rank's last call. */
static struct run_message *message(
	struct fixture *f, int rank, enum brick_message_event event, int32_t peer, uint32_t number)
{
	struct run *run = &f->run;
	BUILDER_GROW(run->messages, run->message_count);
	struct run_message *m = &run->messages[run->message_count++];
	*m = (struct run_message){.lane = f->lanes[rank],
		.sample = (uint32_t)run->lanes[f->lanes[rank]].sample_count - 1,
		.event = event,
		.peer = peer,
		.tag = 5,
		.communicator = 9,
		.number = number,
		.bytes = 100};
	return m;
}

static void measure(struct fixture *f)
{
	assert_int_equal(message_pairs_init(&f->pairs, &f->run), 0);
}

static void close_ranks(struct fixture *f)
{
	message_pairs_fini(&f->pairs);
	run_fini(&f->run);
}

static void a_receiver_waits_for_the_last_sender(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f);
	call(&f, 0, 1000, 2000); /* receives from both */
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 1);
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 2, 1);
	call(&f, 0, 3000, 3010); /* the message had been there */
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 2, 2);
	call(&f, 1, 500, 600);
	message(&f, 1, BRICK_MESSAGE_SENT, 0, 1);
	call(&f, 2, 1900, 1950);
	message(&f, 2, BRICK_MESSAGE_SENT, 0, 1);
	message(&f, 2, BRICK_MESSAGE_SENT, 0, 2);
	measure(&f);
	assert_int_equal(f.pairs.count, 3);
	assert_int_equal(f.pairs.bytes, 300);
	assert_int_equal(f.pairs.calls, 2);
	assert_int_equal(f.pairs.waited_ns, 900);
	assert_int_equal(f.pairs.transfer_ns, 100 + 10);
	assert_int_equal(f.pairs.sent_alone + f.pairs.received_alone + f.pairs.unequal, 0);
	for (size_t i = 0; i < f.pairs.count; i++) {
		const struct run_message *to = &f.run.messages[f.pairs.list[i].received];
		const struct run_message *from = &f.run.messages[f.pairs.list[i].sent];
		assert_int_equal(from->number, to->number);
		assert_int_equal(f.run.processes[f.run.lanes[from->lane].process].rank, to->peer);
	}
	close_ranks(&f);
}

static void what_differs_is_another_message(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f);
	call(&f, 1, 100, 200);
	message(&f, 1, BRICK_MESSAGE_SENT, 0, 1);
	message(&f, 1, BRICK_MESSAGE_SENT, 0, 2)->tag = 6;
	message(&f, 1, BRICK_MESSAGE_SENT, 2, 3);
	message(&f, 1, BRICK_MESSAGE_SENT, 0, 4);
	call(&f, 0, 100, 300);
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 1)->communicator = 8;
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 2);
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 3);
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 4)->bytes = 99;
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 0); /* its number is not known */
	message(&f, 0, BRICK_MESSAGE_COLLECTIVE, -1, 1);
	measure(&f);
	assert_int_equal(f.pairs.count, 1);
	assert_int_equal(f.pairs.unequal, 1);
	assert_int_equal(f.pairs.sent_alone, 3);
	assert_int_equal(f.pairs.received_alone, 4);
	close_ranks(&f);
}

/* Two jobs of one recording that nothing tells apart. */
static void equal_messages_have_no_pair(void **state)
{
	struct fixture f;

	(void)state;
	open_ranks(&f);
	f.run.processes[2].rank = 1;
	for (int r = 1; r <= 2; r++) {
		call(&f, r, 100, 200);
		message(&f, r, BRICK_MESSAGE_SENT, 0, 1);
	}
	call(&f, 0, 100, 300);
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 1);
	message(&f, 0, BRICK_MESSAGE_RECEIVED, 1, 1);
	measure(&f);
	assert_int_equal(f.pairs.count, 0);
	assert_int_equal(f.pairs.sent_alone, 2);
	assert_int_equal(f.pairs.received_alone, 2);
	close_ranks(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_receiver_waits_for_the_last_sender),
		cmocka_unit_test(what_differs_is_another_message),
		cmocka_unit_test(equal_messages_have_no_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
