/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue between the recorder's threads: order, backlog and the way back of spent messages, with
 * one thread and with two at full speed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include "record/encoder_queue.h"

#ifdef BRICK_SANITIZED
enum { MESSAGES = 20000 };
#else
enum { MESSAGES = 200000 };
#endif

static void push_number(struct queue *q, uint32_t number, size_t records, uint64_t now_ns)
{
	struct message *m = queue_message(q, MESSAGE_RECORDS, 1);

	assert_non_null(m);
	m->lane = number;
	m->count = records;
	queue_push(q, m, now_ns);
}

static void first_in_first_out(void **state)
{
	struct queue q;

	assert_int_equal(queue_init(&q), 0);
	assert_null(queue_front(&q));
	assert_true(queue_is_empty(&q));
	for (uint32_t i = 0; i < 5; i++)
		push_number(&q, i, 10 * (i + 1), 1000 + i);
	assert_int_equal(queue_backlog_bytes(&q), 150 * sizeof(struct brick_record));
	assert_int_equal(queue_backlog_age_ns(&q, 2000), 1000);
	for (uint32_t i = 0; i < 5; i++) {
		assert_false(queue_is_empty(&q));
		assert_int_equal(queue_front(&q)->lane, i);
		assert_int_equal(queue_front(&q)->lane, i); /* looking does not take */
		queue_pop(&q);
	}
	assert_null(queue_front(&q));
	assert_int_equal(queue_backlog_bytes(&q), 0);
	assert_int_equal(queue_backlog_age_ns(&q, 2000), 0);
	uint32_t seen = 0;
	for (struct message *m = queue_spent(&q), *next; m; m = next) {
		next = m->next;
		assert_non_null(m->records);
		seen |= 1u << m->lane;
		queue_unuse(&q, m);
	}
	assert_int_equal(seen, 31);
	assert_null(queue_spent(&q));
	queue_fini(&q);
}

static void the_age_of_a_long_backlog_is_a_lower_bound(void **state)
{
	struct queue q;

	assert_int_equal(queue_init(&q), 0);
	for (uint32_t i = 0; i < QUEUE_TIMES + 10; i++) {
		struct message *m = queue_message(&q, MESSAGE_FLUSH, 0);
		assert_non_null(m);
		queue_push(&q, m, i);
	}
	assert_int_equal(queue_backlog_age_ns(&q, 5000), 5000 - 10);
	queue_pop(&q);
	assert_int_equal(queue_backlog_age_ns(&q, 5000), 5000 - 10);
	queue_fini(&q); /* also of what is unread and spent */
}

struct reader {
	struct queue *queue;
	uint32_t expected, wrong;
};

static void *read_all(void *argument)
{
	struct reader *r = argument;

	while (r->expected < MESSAGES) {
		struct message *m = queue_front(r->queue);
		if (!m) {
			sched_yield();
			continue;
		}
		r->wrong += m->lane != r->expected || m->records[0].begin != r->expected;
		r->expected++;
		queue_pop(r->queue);
	}
	return NULL;
}

static void two_threads_agree(void **state)
{
	struct queue q;
	struct reader reader = {.queue = &q};
	pthread_t thread;
	uint32_t back = 0;

	assert_int_equal(queue_init(&q), 0);
	assert_int_equal(pthread_create(&thread, NULL, read_all, &reader), 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct message *m = queue_message(&q, MESSAGE_RECORDS, 1);
		assert_non_null(m);
		m->lane = i;
		m->count = 1;
		m->records[0].begin = i;
		queue_push(&q, m, i);
		for (struct message *s = queue_spent(&q), *next; s; s = next, back++) {
			next = s->next;
			queue_unuse(&q, s);
		}
		if (queue_backlog_bytes(&q) > 100 * sizeof(struct brick_record))
			sched_yield();
	}
	pthread_join(thread, NULL);
	for (struct message *s = queue_spent(&q), *next; s; s = next, back++) {
		next = s->next;
		queue_unuse(&q, s);
	}
	assert_int_equal(reader.wrong, 0);
	assert_int_equal(back, MESSAGES);
	assert_int_equal(queue_backlog_bytes(&q), 0);
	queue_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_first_out),
		cmocka_unit_test(the_age_of_a_long_backlog_is_a_lower_bound),
		cmocka_unit_test(two_threads_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
