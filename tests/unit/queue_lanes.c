/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of queues: overlaps, full rings, lanes that are taken over, sessions one after the other,
 * threads and fork.
 */
#include "lib/sys/environment.h"
#include "tests/unit/queue_kit.h"

static uint32_t lanes_of(struct peek *p, uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < peek_header(p)->lane_count; i++)
		n += peek_lane(p, i)->kind == kind;
	return n;
}

static void in_order_never_overlaps(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("q", 0);
	uint64_t now = brick_ticks() + 1000000000; /* behind all launches */
	record(queue, now, now + 1000, 50);
	record(queue, now + 960, now + 2000, 50);  /* 40 early: within what is not known */
	record(queue, now + 1890, now + 3000, 50); /* 110 early: a mistake of more than both */
	record(queue, now + 2100, now + 2200, 50); /* all of it inside of the one before */
	record(queue, now + 5000, now + 4000, 50); /* ends before it begins */
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	static const uint64_t begins[] = {0, 1000, 2000, 3000, 5000};
	static const uint64_t lengths[] = {1000, 1000, 1000, 0, 0};
	static const int clamped[] = {0, 0, 1, 1, 1};
	for (uint32_t i = 0; i < 5; i++) {
		struct brick_record *r = find(lane, BRICK_RECORD_SAMPLE, i);
		assert_int_equal(r->begin, now + begins[i]);
		assert_int_equal(r->ticks, lengths[i]);
		assert_int_equal(!!(r->flags & BRICK_FLAG_CLAMPED), clamped[i]);
	}
	assert_int_equal(lane->ledger.clamped, 3);
	assert_int_equal(lanes_of(&p, BRICK_LANE_QUEUE), 1);
	brick_queue_destroy(queue);
	peek_stop(&p);
}

/* A device's clock may be off by the residual: not by so much that causes come behind effects. */
static void causes_come_first(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	struct brick_queue *queues[] = {make_queue("q", 0), make_queue("r", 0)};
	struct brick_launch launch = launch_here();
	for (uint32_t i = 0; i < 2; i++) {
		struct brick_command c = command_of(launch, launch.begin - 30, launch.begin + 1000);
		c.residual_ns = i ? 20 : 40;
		c.over_ns = launch.begin + 980;
		assert_int_equal(brick_queue_record(queues[i], &c), 0);
	}
	peek_map(&p);
	for (uint32_t i = 0; i < 2; i++) {
		struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, i);
		struct brick_record *r = find(lane, BRICK_RECORD_SAMPLE, 0);
		assert_int_equal(r->begin, launch.begin - (i ? 30 : 0));
		assert_int_equal(r->ticks, 1000 + (i ? 30 : 0) - 20);
		assert_int_equal(lane->ledger.clamped, 0);
		brick_queue_destroy(queues[i]);
	}
	peek_stop(&p);
}

/* The clock of queues may be off, too: a command keeps its length, however poor its reading was. */
static void lengths_stay(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("q", 0);
	struct brick_launch launch = launch_here();
	struct brick_command c = command_of(launch, launch.begin + 100, launch.begin + 1100);
	c.residual_ns = 40;
	c.over_ns = launch.begin + 1080;
	assert_int_equal(brick_queue_record(queue, &c), 0);
	peek_map(&p);
	struct brick_record *r = find(lane_of(&p, BRICK_LANE_QUEUE, 0), BRICK_RECORD_SAMPLE, 0);
	assert_int_equal(r->begin, launch.begin + 80);
	assert_int_equal(r->ticks, 1000);
	brick_queue_destroy(queue);
	peek_stop(&p);
}

/* They stand in the ring as they were handed in; who reads it lays them out. */
static void out_of_order_overlaps(void **state)
{
	struct peek p = {0};
	static const uint64_t times[][2] = {{0, 1000}, {500, 1500}, {600, 700}, {400, 1200}};

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("q", BRICK_QUEUE_OUT_OF_ORDER);
	uint64_t now = brick_ticks() + 1000000000;
	for (uint32_t i = 0; i < 4; i++)
		record(queue, now + times[i][0], now + times[i][1], 0);
	peek_map(&p);
	assert_int_equal(lanes_of(&p, BRICK_LANE_QUEUE), 1);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	assert_int_equal(lane->queue_flags, BRICK_QUEUE_OUT_OF_ORDER);
	assert_int_equal(lane->ledger.clamped, 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct brick_record *r = find(lane, BRICK_RECORD_SAMPLE, i);
		assert_int_equal(r->begin, now + times[i][0]);
		assert_int_equal(r->begin + r->ticks, now + times[i][1]);
	}
	brick_queue_destroy(queue);
	assert_int_equal(lane->end_ticks, now + 1500);
	peek_stop(&p);
}

/* A full ring drops whole commands, counts them, and keeps the statistics. */
static void full_ring(void **state)
{
	struct peek p = {0};
	const uint64_t after[3] = {1, 2, 3};

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("q", 0);
	brick_span brick = brick_begin(BRICK_UP_PROJECTION);
	uint64_t now = brick_ticks();
	for (uint64_t i = 0; i < 1000; i++) {
		struct brick_command c =
			command_of(launch_here(), now + 100 * i, now + 100 * i + 64);
		c.after = after;
		c.after_count = 3;
		assert_int_equal(brick_queue_record(queue, &c), 0);
	}
	brick_end(brick);
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	assert_int_equal(lane->head % 5, 0);
	assert_int_equal(lane->head / 5 + lane->ledger.dropped, 1000);
	assert_in_range(lane->head, 1024 - 256 - 8, 1024 - 256);
	assert_int_equal(lane->stats[BRICK_UP_PROJECTION].count, 1000);
	assert_int_equal(lane->stats[BRICK_UP_PROJECTION].total, 64000);
	const uint32_t *histogram = (uint32_t *)((char *)lane + lane->histogram_offset) +
				    (uint64_t)BRICK_UP_PROJECTION * BRICK_HISTOGRAM_BUCKETS;
	assert_int_equal(histogram[brick_histogram_index(64)], lane->ledger.dropped);

	/* Threads do the same: the call and what it launched go together. */
	struct brick_lane *thread = lane_of(&p, BRICK_LANE_THREAD, 0);
	uint32_t flows = 0, calls = 0;
	for (uint64_t i = 0; i < thread->head; i++) {
		struct brick_record *r = peek_record(thread, i);
		flows += r->kind == BRICK_RECORD_FLOW;
		calls += r->kind == BRICK_RECORD_SAMPLE;
	}
	assert_in_range(calls, flows, flows + 1);
	assert_true(thread->ledger.dropped >= 600);

	/* The consumer comes: from now on there is room. */
	__atomic_store_n(&lane->tail, lane->head, __ATOMIC_RELEASE);
	uint64_t head = lane->head;
	record(queue, now + 200000, now + 200001, 0);
	assert_int_equal(lane->head, head + 2);
	brick_queue_destroy(queue);
	peek_stop(&p);
}

static void lanes_are_taken_over(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	uint64_t now = brick_ticks();
	for (uint64_t i = 0; i < 50; i++) {
		struct brick_queue *queue = make_queue("stream", 0);
		record(queue, now + 10 * i, now + 10 * i + 5, 0);
		brick_queue_destroy(queue);
	}
	struct brick_queue *late = make_queue("stream", 0), *other = make_queue("other", 0);
	record(other, now + 1000, now + 1001, 0);
	record(late, now + 3, now + 4, 0); /* before the last lane's end: not on it */
	peek_map(&p);
	assert_int_equal(lanes_of(&p, BRICK_LANE_QUEUE), 3);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	assert_int_equal(lane->owners, 50);
	assert_int_equal(lane->live_ticks, 250);
	assert_int_equal(lane->state, BRICK_LANE_FREE);
	brick_queue_destroy(late);
	brick_queue_destroy(other);
	brick_queue_destroy(NULL);
	peek_stop(&p);
}

/* What was launched in one session is not of the next. */
static void sessions_are_kept_apart(void **state)
{
	struct brick_queue *queue = make_queue("q", 0);
	struct brick_losses losses = BRICK_LOSSES_INIT;
	struct brick_launch none = {0};

	struct brick_command c = command_of(none, 1, 2);
	assert_int_equal(brick_queue_record(queue, &c), -ENOENT);
	brick_queue_dropped(queue, 3); /* nobody listens */
	assert_int_equal(brick_session_start(NULL), 0);
	struct brick_launch first = launch_here();
	uint64_t now = brick_ticks();
	c = command_of(first, now, now + 1);
	assert_int_equal(brick_queue_record(queue, &c), 0);
	brick_pause();
	c = command_of(first, now + 2, now + 3); /* launched before the pause */
	assert_int_equal(brick_queue_record(queue, &c), 0);
	assert_int_equal(launch_here().number, 0);
	brick_resume();
	brick_queue_unsupported(queue, 2);
	brick_queue_dropped(queue, 3);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unsupported, 2);
	assert_int_equal(losses.dropped, 3);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(brick_queue_record(queue, &c), -ENOENT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(brick_session_start(NULL), 0);
		struct brick_launch later = launch_here();
		struct brick_command d = command_of(later, brick_ticks(), brick_ticks() + 1);
		assert_int_equal(brick_queue_record(queue, &d), 0);
		assert_int_equal(brick_queue_record(queue, &c), -ENOENT);
		assert_int_equal(brick_losses_get(&losses), 0);
		assert_int_equal(losses.dropped, 0);
		assert_int_equal(brick_session_stop(), 0);
	}
	brick_queue_destroy(queue);
}

static struct brick_queue *shared;
static pthread_barrier_t together;

/* Commands of one queue from several threads come in begin order: a ticket says when. */
static void *record_many(void *argument)
{
	static uint64_t ticket;
	static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
	struct brick_queue *own = make_queue("own", 0);
	uint64_t now = brick_ticks();

	pthread_barrier_wait(&together);
	for (uint64_t i = 0; i < 2000; i++) {
		brick_span span = brick_begin(BRICK_GATE_PROJECTION);
		record(own, now + 10 * i, now + 10 * i + 10, 0);
		brick_end(span);
		pthread_mutex_lock(&order);
		uint64_t at = (uint64_t)(uintptr_t)argument + 10 * ticket++;
		record(shared, at, at + 10, 0);
		pthread_mutex_unlock(&order);
		if (i % 100 == 0) {
			char name[32];
			snprintf(name, sizeof name, "kernel of %llu", (unsigned long long)i);
			assert_true(kernel_named(name) > 0);
			brick_code_register(name, strlen(name), name, NULL);
			brick_queue_destroy(make_queue("short-lived", 0));
		}
	}
	brick_queue_destroy(own);
	return NULL;
}

static void many_threads(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	struct brick_losses losses = BRICK_LOSSES_INIT;
	struct brick_stats stats = BRICK_STATS_INIT;

	pthread_barrier_init(&together, NULL, THREADS);
	shared = make_queue("shared", 0);
	assert_int_equal(brick_session_start(NULL), 0);
	void *epoch = (void *)(uintptr_t)brick_ticks();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, record_many, epoch);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.clamped, 0);
	assert_int_equal(brick_stats_get(BRICK_GATE_PROJECTION, &stats), 0);
	assert_int_equal(stats.count, THREADS * 2000);
	assert_int_equal(brick_device_stats_get(BRICK_GATE_PROJECTION, &stats), 0);
	assert_int_equal(stats.count, THREADS * 2000);
	assert_int_equal(brick_stats_get(brick_lookup("Kernel"), &stats), BRICK_ENOTRECORDED);
	assert_int_equal(brick_device_stats_get(brick_lookup("Kernel"), &stats), 0);
	assert_int_equal(stats.count, THREADS * 2000);
	assert_int_equal(stats.total_ns, THREADS * 2000 * 10);
	assert_int_equal(brick_session_stop(), 0);
	brick_queue_destroy(shared);
	pthread_barrier_destroy(&together);
}

static void fork_leaves_the_parents_lanes_alone(void **state)
{
	struct peek p = {0};
	int status;

	peek_start(&p, 1024);
	struct brick_queue *queue = make_queue("q", 0);
	uint64_t now = brick_ticks();
	record(queue, now, now + 1, 0);
	struct brick_launch launch = launch_here();
	pid_t child = fork();
	if (!child) {
		struct brick_command c = command_of(launch, now + 10, now + 11);
		int wrong = brick_queue_record(queue, &c) != -ENOENT;
		brick_queue_dropped(queue, 1);
		wrong |= brick_session_start(NULL) != 0;
		struct brick_stats stats = BRICK_STATS_INIT;
		c = command_of(launch_here(), now + 20, now + 21);
		wrong |= brick_queue_record(queue, &c) != 0;
		wrong |= brick_device_stats_get(brick_lookup("Kernel"), &stats) != 0 ||
			 stats.count != 1;
		brick_queue_destroy(queue);
		wrong |= brick_session_stop() != 0;
		_exit(wrong);
	}
	waitpid(child, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(WIFEXITED(status));
	peek_map(&p);
	struct brick_lane *lane = lane_of(&p, BRICK_LANE_QUEUE, 0);
	assert_int_equal(lane->head, 2);
	assert_int_equal(lane->ledger.dropped, 0);
	record(queue, now + 30, now + 31, 0);
	assert_int_equal(lane->head, 4);
	brick_queue_destroy(queue);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_never_overlaps),
		cmocka_unit_test(causes_come_first),
		cmocka_unit_test(lengths_stay),
		cmocka_unit_test(out_of_order_overlaps),
		cmocka_unit_test(full_ring),
		cmocka_unit_test(lanes_are_taken_over),
		cmocka_unit_test(sessions_are_kept_apart),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(fork_leaves_the_parents_lanes_alone),
	};
	setenv("BRICK_CLOCK", "monotonic", 1);
	brick__environment_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
