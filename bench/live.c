/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one refresh of a live view costs before anything is shown: the newest records of a session
 * as a run. CPU ns per sample, of a session that is looked at 30 times; best and median.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "brick/brick.h"
#include "lib/drain/drain.h"
#include "record/live/live_snapshot.h"
#include "trace/run.h"

enum { RECORDS = 1 << 17, ROUNDS = 30, BRICKS_OF_STEP = 96 };

static void step(void)
{
	brick_span outer = brick_step_begin(1, 1);

	for (int i = 0; i < BRICKS_OF_STEP; i++)
		brick_end_elements(
			brick_begin_layer((uint32_t)(BRICK_RMS_NORM + i % 8), (int16_t)(i / 8)),
			64);
	brick_end(outer);
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int look(const char *path)
{
	uint64_t times[ROUNDS];
	struct drain *view;
	size_t samples = 0;
	const char *why;
	int whole;

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || drain_open_view(&view, fd, NULL, &why))
		return 1;
	struct snapshot_part part = {view, DRAIN_END_OUTLIVED, brick_ticks()};
	for (int i = 0; i < ROUNDS; i++) {
		struct run *run;
		uint64_t start_ns = process_cpu_ns();
		if (live_snapshot(&run, &part, 1, RECORDS, &whole))
			return 1;
		times[i] = process_cpu_ns() - start_ns;
		samples = run->lanes[0].sample_count;
		run_destroy(run);
	}
	qsort(times, ROUNDS, sizeof *times, compare);
	printf("live: %zu samples; %.1f ns of CPU a sample at best, %.1f median\n", samples,
		(double)times[0] / (double)samples, (double)times[ROUNDS / 2] / (double)samples);
	drain_close(view);
	close(fd);
	return 0;
}

int main(void)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	char directory[] = "/tmp/brick-bench-XXXXXX", path[64];

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof path, "%s/%d.session", directory, (int)getpid());
	options.directory = directory;
	options.ring_records = RECORDS;
	if (brick_session_start(&options))
		return 1;
	for (int i = 0; i < 2 * RECORDS / BRICKS_OF_STEP; i++)
		step();
	int failed = look(path);
	brick_session_stop();
	unlink(path);
	rmdir(directory);
	return failed;
}
