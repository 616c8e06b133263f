/* SPDX-License-Identifier: Apache-2.0 */
/* One of several objects of a process, each with a static part of ITT of its own. */
#include <ittnotify.h>
#include <stdio.h>
#include <time.h>
#include "tests/programs/annotated_object.h"

__attribute__((visibility("default"))) extern const struct annotated_object annotated_object;
__attribute__((visibility("default"))) void itt_named_function(void);

void itt_named_function(void)
{
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#define BEGIN(s, name, in_layer, asynchronous, call)                                              \
	do {                                                                                      \
		(s) = &said[n++];                                                                 \
		*(s) = (struct said){.brick = name, .layer = in_layer, .is_async = asynchronous}; \
		(s)->before_begin = now_ns();                                                     \
		call;                                                                             \
		(s)->after_begin = now_ns();                                                      \
	} while (0)
#define END(s, call)                        \
	do {                                \
		(s)->before_end = now_ns(); \
		call;                       \
		(s)->after_end = now_ns();  \
	} while (0)

static const __itt_id none;

static int work(int number, int rounds, struct said *said, int most)
{
	static const char *const names[] = {"ObjectA", "ObjectB", "ObjectC", "ObjectD"};
	/* before the collector is there, and after */
	__itt_domain *domain = __itt_domain_create(names[number]);
	__itt_string_handle *outer_name = __itt_string_handle_create("outer task");
	__itt_counter queued = __itt_counter_create_typed("queued", names[number], ITT_DOUBLE);
	__itt_task_begin(domain, none, none, outer_name);
	__itt_task_end(domain);
	__itt_domain *frames = __itt_domain_create("Simulation");
	__itt_string_handle *inner_name =
		__itt_string_handle_create("model.layers.6.mlp.down_proj");
	__itt_string_handle *size = __itt_string_handle_create("size");
	__itt_counter total = __itt_counter_create_typed("total", names[number], ITT_U64);
	int n = 0;

	if (__itt_string_handle_create("size") != size ||
		__itt_domain_create("Simulation") != frames)
		return 0;
	for (int i = 0; i < rounds && n + 9 <= most; i++) {
		struct said *outer, *s, *t;
		__itt_id one = {{(unsigned)i, (unsigned)number, 1}},
			 two = {{(unsigned)i, (unsigned)number, 2}};

		BEGIN(outer, "outer task", -1, 0, __itt_task_begin(domain, none, none, outer_name));
		BEGIN(s, "DownProjection", 6, 0, __itt_task_begin(domain, one, none, inner_name));
		__itt_metadata_add(domain, one, size, ITT_S32, 1, &(int){i});
		END(s, __itt_task_end(domain));
		BEGIN(s, "itt_named_function", -1, 0,
			__itt_task_begin_fn(domain, two, one, (void *)itt_named_function));
		END(s, __itt_task_end(domain));
		END(outer, __itt_task_end(domain));

		BEGIN(s, "outer task", -1, 1,
			__itt_task_begin_overlapped(domain, one, none, outer_name));
		BEGIN(t, "DownProjection", 6, 1,
			__itt_task_begin_overlapped(domain, two, one, inner_name));
		END(s, __itt_task_end_overlapped(domain, one));
		END(t, __itt_task_end_overlapped(domain, two));

		BEGIN(s, "DownProjection", 6, 1, __itt_region_begin(domain, one, none, inner_name));
		END(s, __itt_region_end(domain, one));
		BEGIN(s, "Simulation", -1, 1, __itt_frame_begin_v3(frames, &two));
		END(s, __itt_frame_end_v3(frames, &two));

		unsigned long long begin = 0, end = 0;
		BEGIN(s, "Simulation", -1, 1, begin = __itt_get_timestamp());
		END(s, end = __itt_get_timestamp());
		__itt_frame_submit_v3(frames, NULL, begin, end);

		__itt_marker(domain, none, size, 1);
		__itt_counter_set_value(queued, &(double){i / 2.0});
		__itt_counter_inc(total);
		__itt_counter_dec_delta(total, 2);
		__itt_sync_unheard_of(domain);
	}
	return n;
}

static void name_thread(const char *name)
{
	__itt_thread_set_name(name);
}

static double pairs(int count, int unused)
{
	__itt_domain *domain = __itt_domain_create("Pairs");
	__itt_string_handle *name = __itt_string_handle_create("model.layers.5.self_attn.qkv_proj");
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < count; i++) {
		__itt_task_begin(domain, none, none, name);
		__itt_task_end(domain);
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / count;
}

static int push(const char *text)
{
	__itt_task_begin(__itt_domain_create("Said"), none, none, __itt_string_handle_create(text));
	return 0;
}

static int pop(void)
{
	__itt_task_end(__itt_domain_create("Said"));
	return 0;
}

const struct annotated_object annotated_object = {
	.work = work, .push = push, .pop = pop, .name_thread = name_thread, .pairs = pairs};
