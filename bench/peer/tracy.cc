/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer beside bench-probe: a zone of Tracy's C++ client, and pairs of Brick's out of line,
 * inline and local, in one process and one run, as ratios to two readings of the counter. A thread
 * on the other CPU drains the zones, since no server does. bench/peer/tracy.sh builds and runs it.
 */
#define BRICK_INLINE
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include "brick/brick.h"
#include "tracy/Tracy.hpp"
#include "client/TracyProfiler.hpp"

enum { PAIRS = 20000, ROUNDS = 41 };
enum variant { EMPTY, FLOOR, LIBRARY, LAP, INLINE, LOCAL, TRACY, VARIANTS };
static const char *const names[VARIANTS] = {
	"loop", "two TSC reads", "brick", "brick, lap", "brick, inline", "brick, local", "tracy"};

static uint64_t now_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define LOOP(before, after)                              \
	for (int i = 0; i < PAIRS; i++) {                \
		before;                                  \
		__asm__ __volatile__("" : : : "memory"); \
		after;                                   \
	}

static double time_loop(int which)
{
	volatile uint64_t sink = 0;
	brick_span lap = which == LAP ? brick_begin(BRICK_RMS_NORM) : 0;
	uint64_t begin = now_ns();

	switch (which) {
	case FLOOR:
		LOOP(uint64_t t = __builtin_ia32_rdtsc(), sink = __builtin_ia32_rdtsc() - t);
		break;
	case LIBRARY:
		LOOP(brick_span s = brick__begin(BRICK_RMS_NORM), brick__end(s));
		break;
	case LAP:
		LOOP((void)0, lap = brick_lap(lap, BRICK_RMS_NORM));
		break;
	case INLINE:
		LOOP(brick_span s = brick_begin(BRICK_RMS_NORM), brick_end(s));
		break;
	case LOCAL:
		LOOP(brick_local s = brick_local_begin(BRICK_RMS_NORM), brick_local_end(s));
		break;
	case TRACY:
		for (int i = 0; i < PAIRS; i++) {
			ZoneScoped;
			__asm__ __volatile__("" : : : "memory");
		}
		break;
	default:
		LOOP((void)0, (void)0);
	}
	(void)sink;
	double ns = (double)(now_ns() - begin) / PAIRS;
	brick_end(lap);
	return ns;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

namespace tracy
{
TRACY_API moodycamel::ConcurrentQueue<QueueItem> &GetQueue(); /* of its client, in no header */
}

static std::atomic<bool> stop;
static uint64_t zones;

static void drain()
{
	tracy::moodycamel::ConsumerToken token(tracy::GetQueue());

	pin(1);
	while (!stop)
		if (!tracy::GetQueue().try_dequeue_bulk_single(
			    token, [](const uint32_t &) {},
			    [](tracy::QueueItem *, size_t n) { zones += n; }))
			usleep(200);
}

/* A session whose ring holds all of a loop, which nobody reads; a new one for each. */
static void with_session(int which, double *result)
{
	char room[] = "/dev/shm/brick-peer-XXXXXX", path[64];
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.directory = mkdtemp(room);
	options.ring_records = 1 << 16;
	if (!options.directory || brick_session_start(&options))
		exit(4);
	time_loop(which); /* warm, and with a lane */
	*result = time_loop(which);
	brick_session_stop();
	snprintf(path, sizeof path, "%s/%d.session", room, (int)getpid());
	remove(path);
	rmdir(room);
}

int main()
{
	static double results[VARIANTS][ROUNDS];
	std::thread drainer(drain);

	pin(0);
	usleep(100000); /* its client starts */
	for (int round = 0; round < ROUNDS; round++)
		for (int v = 0; v < VARIANTS; v++)
			with_session(
				(v + round) % VARIANTS, &results[(v + round) % VARIANTS][round]);
	stop = true;
	drainer.join();
	for (auto &of : results)
		std::sort(of, of + ROUNDS);
	double loop = results[EMPTY][ROUNDS / 2], floor = results[FLOOR][ROUNDS / 2] - loop;
	printf("two TSC reads %.1f ns; %llu items of zones were drained\n", floor,
		(unsigned long long)zones);
	for (int v = LIBRARY; v < VARIANTS; v++)
		printf("  %-14s %5.1f ns (%.2f)\n", names[v], results[v][ROUNDS / 2] - loop,
			(results[v][ROUNDS / 2] - loop) / floor);
	return 0;
}
