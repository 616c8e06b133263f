/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices become samples, in the order in which they began; the wait that follows a sample becomes
 * part of it; instants and counters become points. Ten million samples must take less than a
 * second, so that nothing here allocates but the arrays' growth.
 */
#include "trace/build.h"

static int grow_samples(struct build_lane *lane)
{
	struct build *b = lane->build;
	int error = sample_list_grow(&b->store, &lane->samples);

	if (error && !b->result)
		b->result = error;
	return !error;
}

uint32_t build_saturate(uint64_t ns)
{
	return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

/* The wait right behind the sample that has just ended is told from others by saying nothing. */
static inline int is_its_wait(struct build_lane *lane, const struct build_slice *slice)
{
	return slice->brick == lane->build->wait_brick && slice->bare && lane->ended != RUN_NONE &&
	       build_sample(lane, lane->ended)->end_ns == lane->now;
}

static __attribute__((noinline)) uint32_t bare_site(struct build *b, uint32_t brick)
{
	const struct run_site site = {.brick = brick, .layer = -1};

	return build_plain_site(b, &site);
}

/* Only where it is, for now: the rest is known when it has ended. */
static __attribute__((noinline)) void add_step(const struct build_lane *lane)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (build_grow(b, &run->steps, &b->capacity.steps, run->step_count, sizeof *run->steps))
		run->steps[run->step_count++] = (struct run_step){
			.lane = lane->number, .sample = (uint32_t)lane->samples.count};
}

static inline int begin(struct build_lane *lane, const struct build_slice *slice)
{
	if (is_its_wait(lane, slice)) {
		lane->in_wait = 1;
		lane->wait_begin = lane->now;
		return 1;
	}
	uint32_t site =
		slice->site != RUN_NONE ? slice->site : bare_site(lane->build, slice->brick);
	struct sample_list *samples = &lane->samples;
	if (site == RUN_NONE ||
		(samples->count - samples->first == samples->capacity && !grow_samples(lane))) {
		lane->too_deep++;
		return 0;
	}
	samples->tail[samples->count - samples->first] = (struct run_sample){
		.begin_ns = lane->now,
		.site = site,
		.depth = (uint8_t)lane->depth,
		.source = slice->source,
		.flags = RUN_SAMPLE_OPEN,
	};
	if (__builtin_expect(slice->step, 0))
		add_step(lane);
	lane->stack[lane->depth++] = (uint32_t)samples->count++;
	lane->ended = RUN_NONE;
	return 1;
}

static inline int end(struct build_lane *lane)
{
	if (lane->in_wait) {
		uint32_t *wait = &build_sample(lane, lane->ended)->wait_ns;
		*wait = build_saturate(*wait + (lane->now - lane->wait_begin));
		lane->in_wait = 0;
		return 1;
	}
	lane->ended = lane->stack[--lane->depth];
	struct run_sample *sample = build_sample(lane, lane->ended);
	sample->end_ns = lane->now;
	sample->flags = 0;
	return 1;
}

/* A begin that cannot be used is left out together with its end, and with all that is inside. */
static inline int can_begin(struct build_lane *lane)
{
	if (__builtin_expect(!lane->too_deep && !lane->in_wait && lane->depth < BUILD_MAX_DEPTH, 1))
		return 1;
	lane->too_deep++;
	return 0;
}

static inline int can_end(struct build_lane *lane)
{
	if (__builtin_expect(!lane->too_deep && (lane->in_wait || lane->depth), 1))
		return 1;
	lane->too_deep -= lane->too_deep > 0;
	return 0;
}

int build_can_begin(struct build_lane *lane)
{
	return can_begin(lane);
}

void build_seen(struct build_lane *lane)
{
	if (lane->now > lane->last_ns)
		lane->last_ns = lane->now;
}

int build_slice(struct build_lane *lane, const struct build_slice *slice)
{
	build_seen(lane);
	return slice->is_end ? can_end(lane) && end(lane) : can_begin(lane) && begin(lane, slice);
}

int build_thread_name(struct build_lane *lane, uint64_t tid, const char *name, size_t bytes)
{
	struct build *b = lane->build;
	struct run *run = b->run;
	char *text = build_text(b, name, bytes);

	if (!text || !build_grow(b, &run->thread_names, &b->capacity.thread_names,
			     run->thread_name_count, sizeof *run->thread_names)) {
		free(text);
		return 0;
	}
	run->thread_names[run->thread_name_count++] =
		(struct run_thread_name){lane->number, tid, text};
	return 1;
}

int build_point(struct build_lane *lane, enum run_point_kind kind, uint32_t brick, double value)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (!build_grow(
		    b, &run->points, &b->capacity.points, run->point_count, sizeof *run->points))
		return 0;
	run->points[run->point_count++] = (struct run_point){.ns = lane->now,
		.lane = lane->number,
		.kind = kind,
		.brick = brick,
		.value = value};
	return 1;
}
