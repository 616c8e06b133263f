/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the parts of the CUDA attachment that need no driver: cubins of any content, kernels
 * by module, nodes of graphs, calls by their names, calls whose records are still to come, what
 * events put in order, streams that others time, and what is forgotten along with a context.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "attach/cuda/call_names.h"
#include "attach/cuda/cubin.h"
#include "attach/cuda/events.h"
#include "attach/cuda/stream_tail.h"
#include "attach/cuda/launches.h"
#include "attach/cuda/modules.h"
#include "attach/cuda/nodes.h"
#include "attach/cuda/excluded.h"

/* An ELF file whose first section is the table of names, and a section per kernel. */
static size_t make_cubin(unsigned char *out, size_t capacity, const char *const *kernels, int count)
{
	size_t names = sizeof(Elf64_Ehdr) + (size_t)(count + 1) * sizeof(Elf64_Shdr), used = 1;
	Elf64_Ehdr elf = {.e_shoff = sizeof elf,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(count + 1)};

	memset(out, 0, capacity);
	memcpy(elf.e_ident, ELFMAG, SELFMAG);
	elf.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(out, &elf, sizeof elf);
	for (int i = 0; i < count; i++) {
		Elf64_Shdr section = {.sh_name = (uint32_t)used};
		memcpy(out + sizeof elf + (size_t)(i + 1) * sizeof section, &section,
			sizeof section);
		used += (size_t)sprintf((char *)out + names + used, ".text.%s", kernels[i]) + 1;
	}
	Elf64_Shdr table = {.sh_offset = names, .sh_size = used};
	memcpy(out + sizeof elf, &table, sizeof table);
	assert_true(names + used <= capacity);
	return names + used;
}

static void append(void *context, const char *name)
{
	char *list = context;
	if (strlen(list) + strlen(name) < 4000)
		strcat(strcat(list, name), " ");
}

static void cubin_of_any_content(void **state)
{
	static const char *const kernels[] = {"scale", "_Z3addPfPKfj"};
	unsigned char good[1024];
	size_t bytes = make_cubin(good, sizeof good, kernels, 2);
	char found[4096] = "";

	assert_int_equal(cubin_names(good, bytes, append, found), 2);
	assert_string_equal(found, "scale _Z3addPfPKfj ");
	assert_int_equal(cubin_names(NULL, 0, append, found), 0);
	assert_int_equal(cubin_names("PTX", 3, append, found), 0);
	for (size_t size = 0; size <= bytes; size++) {
		unsigned char *cut = malloc(size ? size : 1); /* its end is watched by sanitizers */
		memcpy(cut, good, size);
		found[0] = '\0';
		assert_true(cubin_names(cut, size, append, found) <= 2);
		free(cut);
	}
	for (size_t at = 0; at < bytes; at++)
		for (int bit = 0; bit < 8; bit++) {
			unsigned char *bent = malloc(bytes);
			memcpy(bent, good, bytes);
			bent[at] ^= (unsigned char)(1 << bit);
			found[0] = '\0';
			cubin_names(bent, bytes, append, found);
			free(bent);
		}
}

static void kernels_by_module(void **state)
{
	static const char *const first[] = {"gemm", "norm"}, *const second[] = {"gemm"};
	unsigned char a[1024], b[1024];
	size_t a_bytes = make_cubin(a, sizeof a, first, 2), b_bytes;

	assert_int_equal(modules_code("gemm"), 0);
	modules_loaded(1, a, a_bytes, 0);
	uint64_t code = modules_code("gemm");
	assert_true(code != 0 && code == modules_code("norm"));
	assert_int_equal(modules_code("other"), 0);
	modules_loaded(2, a, a_bytes, 0); /* the same again, in another context say */
	assert_true(modules_code("gemm") == code);
	b_bytes = make_cubin(b, sizeof b, second, 1);
	modules_loaded(3, b, b_bytes, 77);
	assert_int_equal(modules_code("gemm"), 0); /* either */
	assert_true(modules_code("norm") == code);
	modules_unloading(2);
	assert_int_equal(modules_code("gemm"), 0);
	modules_loaded(4, b, b_bytes, 78);
	assert_int_equal(modules_code("gemm"), 78);
	modules_loaded(5, NULL, 9, 0);
	modules_loaded(6, a, 0, 0);
}

static void sources(void **state)
{
	static const char fatbin[] = "\x50\xed\x55\xba\x01";

	assert_int_equal(modules_source(NULL), 0);
	assert_int_equal(modules_source("\x7f"
					"ELF"),
		0);
	assert_int_equal(modules_source(fatbin), 0);
	assert_int_equal(modules_source("// comment without end"), 0);
	assert_int_equal(modules_source(""), 0);
	uint64_t hash = modules_source("// made by hand\n\n .version 7.0\n.target sm_75\n");
	assert_true(hash != 0);
	assert_true(hash != modules_source(".version 7.0\n.target sm_80\n"));
}

static void nodes_come_and_go(void **state)
{
	uint32_t brick;
	int32_t layer;

	assert_false(nodes_find(5, &brick, &layer));
	for (uint64_t i = 1; i <= 200000; i++)
		nodes_created(i << 32, (uint16_t)(i % 100), (int16_t)(i % 30));
	for (uint64_t i = 1; i <= 200000; i++) {
		assert_true(nodes_find(i << 32, &brick, &layer));
		assert_int_equal(brick, i % 100);
		assert_int_equal(layer, i % 30);
	}
	nodes_cloned(7, 1ull << 32);
	nodes_cloned(8, 999); /* of one that is not known */
	assert_true(nodes_find(7, &brick, &layer));
	assert_int_equal(brick, 1);
	assert_false(nodes_find(8, &brick, &layer));
	nodes_destroyed(7);
	assert_true(nodes_find(7, &brick, &layer)); /* records of it may still come */
	assert_int_equal(nodes_lost(), 0);
	nodes_exec(&brick, 5);
	assert_int_equal(nodes_exec_records(&brick), 5);
	nodes_exec(&brick, 0);
	assert_int_equal(nodes_exec_records(&brick), 0);
}

/* A server that makes graphs for every batch: the table does not grow for ever. */
static void nodes_are_forgotten(void **state)
{
	uint64_t id = 1;

	for (int batch = 0; batch < 4000; batch++) {
		for (int i = 0; i < 1000; i++)
			nodes_created(++id << 20, 3, 3);
		for (int i = 0; i < 1000; i++)
			nodes_destroyed((id - (uint64_t)i) << 20);
		nodes_next_round();
	}
	assert_int_equal(nodes_lost(), 0);
}

static struct brick_launch launch_at(uint64_t begin)
{
	return (struct brick_launch){.number = begin, .begin = begin};
}

static void begin(uint32_t correlation, uint64_t at, uint32_t count, uint32_t certain)
{
	struct brick_launch launch = launch_at(at);
	struct launch_records records = {count, certain, 0};
	launches_begin(correlation, &launch, &records);
}

static void end(uint32_t correlation, uint64_t at)
{
	struct brick_launch launch = {.end = at};
	launches_end(correlation, &launch);
}

static void records_still_to_come(void **state)
{
	struct brick_launch launch;

	assert_true(launches_pending_since(0) == UINT64_MAX);
	begin(10, 100, 1, 1);
	assert_int_equal(launches_pending_since(0), 100);
	end(10, 105);
	begin(12, 120, 3, 0);
	end(12, 125);
	begin(13, 130, 1, 1);
	launches_forget(13); /* it failed */
	assert_int_equal(launches_pending_since(0), 100);
	launches_seen(10);
	assert_int_equal(launches_pending_since(0), 120);
	launches_seen(12);
	launches_seen(12);
	assert_int_equal(launches_pending_since(0), 120);
	launches_seen(12);
	assert_true(launches_pending_since(0) == UINT64_MAX);

	assert_true(launches_take(12, &launch));
	assert_int_equal(launch.number, 120);
	assert_int_equal(launch.end, 125);
	assert_true(launches_take(12, &launch));
	assert_true(launch.number != 120); /* the second kernel of that graph */
	assert_false(launches_take(13, &launch));
	assert_false(launches_take(11, &launch));
}

/* The last of several commands of a call has the number that was kept for it. */
static void last_of_several(void **state)
{
	struct brick_launch launch = launch_at(50);
	struct launch_records records = {3, 0, 777};

	launches_begin(15, &launch, &records);
	end(15, 55);
	for (int i = 0; i < 3; i++) {
		assert_true(launches_take(15, &launch));
		assert_int_equal(launch.number == 777, i == 2);
	}
	for (int i = 0; i < 3; i++)
		launches_seen(15);
	assert_false(launches_are_disowned(15));
	launches_disown(16);
	assert_true(launches_are_disowned(16));
	launches_ignore(17);
	assert_true(launches_are_ignored(17));
	assert_false(launches_are_ignored(16));
	assert_false(launches_are_disowned(17));
	assert_true(launches_pending_since(0) == UINT64_MAX); /* nobody waits for them */
}

static void records_that_never_come(void **state)
{
	begin(20, 1000, 1, 1);
	end(20, 1001);
	begin(21, 1010, 1, 0);
	end(21, 1011);
	begin(22, 1020, 1, 1); /* still under way: not given up */
	assert_int_equal(launches_pending_since(1500), 1020);
	assert_int_equal(launches_unanswered(), 1);
	end(22, 1600);
	launches_seen(20); /* it does come, late */
	assert_int_equal(launches_unanswered(), 0);
	assert_true(launches_pending_since(UINT64_MAX) == UINT64_MAX);
	assert_int_equal(launches_unanswered(), 1);
}

/* More calls under way than the table holds: the oldest are not known any more, nothing breaks. */
static void more_than_there_is_room_for(void **state)
{
	struct brick_launch launch;

	for (uint32_t i = 0; i < 400000; i++) {
		begin(1000 + i, 10000 + i, 1, 1);
		end(1000 + i, 10000 + i);
	}
	assert_true(launches_pending_since(0) >= 10000 + 400000 - 262144);
	assert_false(launches_take(1000, &launch));
	assert_true(launches_take(1000 + 399999, &launch));
	begin(UINT32_MAX, 500000, 1,
		1); /* far away: ids that jump do not make it search for ever */
	launches_pending_since(UINT64_MAX);
}

/* A call inside of another: either id answers for both. */
static void calls_in_calls(void **state)
{
	uint64_t before = launches_unanswered();

	begin(700001, 5000, 1, 1);
	begin(700002, 5001, 1, 1);
	launches_join(700001, 700002);
	end(700002, 5002);
	end(700001, 5003);
	assert_int_equal(launches_pending_since(0), 5000);
	launches_seen(700001);
	assert_int_equal(launches_pending_since(0), UINT64_MAX);
	begin(700003, 6000, 1, 1);
	begin(700004, 6001, 1, 1);
	launches_join(700003, 700004);
	end(700004, 6002);
	end(700003, 6003);
	launches_seen(700004);
	assert_int_equal(launches_pending_since(UINT64_MAX), UINT64_MAX);
	assert_int_equal(launches_unanswered(), before);
}

/* A graph of which nobody knows how many records come is over with the next call in its stream. */
static void uncounted_launches(void **state)
{
	char stream, other;

	begin(700011, 7000, 0, 0);
	end(700011, 7001);
	launches_in_stream(700011, &stream);
	launches_seen(700011);
	assert_int_equal(launches_pending_since(0), 7000);
	begin(700012, 7002, 1, 1);
	end(700012, 7003);
	launches_in_stream(700012, &other);
	launches_seen(700012);
	assert_int_equal(launches_pending_since(0), 7000);
	begin(700013, 7004, 1, 1);
	end(700013, 7005);
	launches_in_stream(700013, &stream);
	launches_seen(700013);
	assert_int_equal(launches_pending_since(0), UINT64_MAX);
}

/* Thousands of executable graphs: none pushes another one out. */
static void many_executable_graphs(void **state)
{
	static char execs[20000];

	for (uint32_t i = 0; i < 20000; i++)
		nodes_exec(&execs[i], i + 1);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(nodes_exec_records(&execs[i]), i + 1);
	for (uint32_t i = 0; i < 20000; i++)
		nodes_exec_gone(&execs[i]);
	assert_int_equal(nodes_exec_records(&execs[7]), 0);
}

static void last_launches(void **state)
{
	int a, b;

	assert_int_equal(stream_tail_context(&a), 0);
	stream_tail_set(&a, &b, 5);
	stream_tail_set(&a, NULL, 6);
	assert_int_equal(stream_tail_context(&a), 6);
	assert_int_equal(stream_tail_get(&a, NULL), 6);
	assert_int_equal(stream_tail_get(&a, &b), 5);
	assert_int_equal(stream_tail_get(&b, &b), 0);
	stream_tail_forget(&a, &b);
	assert_int_equal(stream_tail_get(&a, &b), 0);
	assert_int_equal(stream_tail_context(&a), 6);
	stream_tail_set(&b, &b, 7);
	stream_tail_forget_context(&a);
	assert_int_equal(stream_tail_context(&a), 0);
	assert_int_equal(stream_tail_get(&a, NULL), 0);
	assert_int_equal(stream_tail_context(&b), 7);
	assert_int_equal(stream_tail_get(&b, &b), 7);
}

void brick_cuda_exclude(void *context, void *stream, void *owner);
void brick_cuda_include(void *owner);

/* Handles are used again by what is made next, which nobody has taken over. */
static void streams_that_are_excluded(void **state)
{
	char context, other, streams[300], owner;

	assert_false(excluded_has(&streams[0]));
	brick_cuda_exclude(&context, &streams[0], &owner);
	brick_cuda_exclude(&context, &streams[0], &owner);
	brick_cuda_exclude(&context, CUDA_STREAM_LEGACY, &owner);
	brick_cuda_exclude(&other, NULL, &owner);
	assert_true(excluded_has(&streams[0]));
	assert_true(excluded_has(&context)); /* its default stream */
	assert_true(excluded_has(&other));
	excluded_forget(&streams[0]);
	assert_false(excluded_has(&streams[0]));
	for (int i = 0; i < 300; i++) /* more than there is room for */
		brick_cuda_exclude(&context, &streams[i], &owner);
	assert_true(excluded_has(&streams[253]));
	assert_false(excluded_has(&streams[254]));
	excluded_forget(&context);
	for (int i = 0; i < 300; i++)
		assert_false(excluded_has(&streams[i]));
	assert_false(excluded_has(&context));
	assert_true(excluded_has(&other));
	brick_cuda_exclude(&context, &streams[299], &owner);
	assert_true(excluded_has(&streams[299]));
}

/* Until their owner is done with them; whoever claimed a stream last is its owner. */
static void yields_end(void **state)
{
	char context, streams[3], owner, another;

	brick_cuda_exclude(&context, &streams[0], &owner);
	brick_cuda_exclude(&context, &streams[1], &owner);
	brick_cuda_exclude(&context, &streams[1], &another);
	brick_cuda_exclude(&context, &streams[2], &another);
	brick_cuda_include(&owner);
	assert_false(excluded_has(&streams[0]));
	assert_true(excluded_has(&streams[1]));
	assert_true(excluded_has(&streams[2]));
	brick_cuda_include(&another);
	assert_false(excluded_has(&streams[1]));
	assert_false(excluded_has(&streams[2]));
}

static cuda_handle launched_per_thread(void)
{
	const struct cuda_launch_kernel kernel = {.stream = CUDA_STREAM_PER_THREAD};
	struct call_shape shape = call_shape_of_driver("cuLaunchKernel");
	cuda_handle stream;

	assert_true(call_stream(&shape, &kernel, &stream));
	return stream;
}

static void *yield_own_stream(void *context)
{
	brick_cuda_exclude(context, CUDA_STREAM_PER_THREAD, context);
	return excluded_has(launched_per_thread()) ? launched_per_thread() : NULL;
}

/* The thread's default stream is told apart from other threads', also from later ones'. */
static void own_streams_yield(void **state)
{
	char context;
	void *streams[2];

	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, yield_own_stream, &context), 0);
		pthread_join(thread, &streams[i]);
		assert_true(excluded_has(streams[i]));
	}
	assert_ptr_not_equal(streams[0], streams[1]);
	assert_false(excluded_has(launched_per_thread()));
	brick_cuda_include(&context);
	assert_false(excluded_has(streams[0]));
}

static void expect_call(const char *name, uint32_t kind, const void *parameters, cuda_handle stream)
{
	struct call_shape shape = call_shape_of_driver(name);
	cuda_handle found;

	assert_int_equal(shape.kind, kind);
	assert_true(call_stream(&shape, parameters, &found));
	assert_ptr_equal(found, stream);
}

static void calls_by_name(void **state)
{
	int a;
	const cuda_handle words[] = {NULL, NULL, NULL, &a, NULL, NULL};
	const cuda_handle legacy[] = {NULL, NULL, NULL, CUDA_STREAM_LEGACY};
	const cuda_handle none[] = {NULL, NULL, NULL, NULL};
	const struct cuda_launch_kernel kernel = {.stream = &a};
	const struct cuda_launch_config config = {.stream = &a};
	const struct cuda_launch_kernel_ex ex = {&config}, bare = {NULL};
	const struct cuda_stream_wait wait = {&a, NULL};
	cuda_handle own, other;

	expect_call("cuLaunchKernel", CALL_KERNEL, &kernel, &a);
	expect_call("cuLaunchKernel_ptsz", CALL_KERNEL, &kernel, &a);
	expect_call("cuLaunchCooperativeKernel", CALL_KERNEL, &kernel, &a);
	expect_call("cuLaunchKernelEx", CALL_KERNEL, &ex, &a);
	expect_call("cuMemcpyHtoDAsync_v2", CALL_COPY, words, &a);
	expect_call("cuMemsetD32Async", CALL_COPY, words, &a);
	expect_call("cuMemsetD32Async", CALL_COPY, legacy, NULL);
	expect_call("cuMemcpyHtoD_v2", CALL_COPY, NULL, NULL);
	expect_call("cuStreamWaitEvent", CALL_AFTER_EVENT, &wait, &a);
	assert_int_equal(call_shape_of_driver("cuCtxDestroy_v2").kind, CALL_CONTEXT_GOES);
	assert_int_equal(call_shape_of_driver("cuDevicePrimaryCtxReset").kind, CALL_PRIMARY_GOES);
	assert_int_equal(call_shape_of_driver("cuLaunchHostFunc").kind, CALL_NONE);
	assert_int_equal(call_shape_of_driver("cuMemAlloc_v2").kind, CALL_NONE);
	assert_int_equal(call_shape_of_runtime("cudaMemcpyAsync").kind, CALL_COPY);
	assert_int_equal(call_shape_of_runtime("cudaMalloc").kind, CALL_NONE);
	assert_int_equal(call_shape_of_runtime("__cudaLaunchKernel_v13000").kind, CALL_COPY);
	assert_int_equal(call_shape_of_runtime("__cudaLaunchKernel_ptsz_v13000").kind, CALL_COPY);
	assert_int_equal(call_shape_of_runtime("__cudaGetKernel_v13000").kind, CALL_NONE);
	assert_int_equal(
		call_shape_of_driver("cuGraphInstantiateWithParams_ptsz").kind, CALL_INSTANTIATE);
	assert_int_equal(call_shape_of_driver("cuGraphNodeSetEnabled").kind, CALL_NODE_SWITCH);

	struct call_shape shape = call_shape_of_driver("cuLaunchKernelEx");
	assert_false(call_stream(&shape, &bare, &own));
	shape = call_shape_of_driver("cuMemcpyOfTheFutureAsync");
	assert_int_equal(shape.kind, CALL_COPY);
	assert_false(call_stream(&shape, words, &own));
	/* the thread's own default stream is none of the others */
	shape = call_shape_of_driver("cuMemsetD8Async_ptsz");
	assert_true(call_stream(&shape, none, &own));
	shape = call_shape_of_driver("cuMemcpy_ptds");
	assert_true(call_stream(&shape, none, &other));
	assert_non_null(own);
	assert_ptr_equal(own, other);
}

static void what_events_put_in_order(void **state)
{
	char context, streams[20], event, another;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_waited(&context, &streams[1], &event); /* it has never been recorded */
	events_launched(&streams[1], 1);
	assert_int_equal(events_after(1, numbers), 0);
	assert_int_equal(events_number(&event), 0);
	events_recorded(&context, &event, &streams[0], 5);
	assert_int_equal(events_number(&event), 5);
	events_waited(&context, &streams[1], &event);
	events_launched(&streams[0], 2);
	assert_int_equal(events_after(2, numbers), 0);
	/* handed on by a stream that was given nothing in between */
	events_recorded(&context, &another, &streams[1], 3);
	events_waited(&context, &streams[2], &another);
	events_launched(&streams[2], 3);
	assert_int_equal(events_after(3, numbers), 2);
	assert_int_equal(numbers[0] + numbers[1], 5 + 3);
	events_launched(&streams[1], 4);
	assert_int_equal(events_after(4, numbers), 1);
	assert_int_equal(numbers[0], 5);
	events_launched(&streams[1], 5); /* only the next one waits */
	assert_int_equal(events_after(5, numbers), 0);
	/* what is made next may have the same handle */
	events_waited(&context, &streams[1], &event);
	events_forget_stream(&streams[1]);
	events_launched(&streams[1], 7);
	assert_int_equal(events_after(7, numbers), 0);
	events_forget(&event);
	assert_int_equal(events_number(&event), 0);
	/* the oldest of too many are left out */
	for (uint64_t i = 0; i < MAX_EVENTS_AFTER + 4; i++) {
		events_recorded(&context, &event, &streams[i + 4], 100 + i);
		events_waited(&context, &streams[3], &event);
		events_waited(&context, &streams[3], &event);
	}
	events_launched(&streams[3], 6);
	assert_int_equal(events_after(6, numbers), MAX_EVENTS_AFTER);
	for (int i = 0; i < MAX_EVENTS_AFTER; i++)
		assert_in_range(numbers[i], 104, 111);
}

/* Streams that are captured together order nothing of what is launched later. */
static void what_is_captured_orders_nothing(void **state)
{
	char context, stream, other, third, event, outside;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_recorded(&context, &outside, &third, 7);
	events_capture(&context, &stream);
	events_recorded(&context, &event, &stream, 8);
	assert_int_equal(events_number(&event), 0);
	events_waited(&context, &other, &event);
	events_waited(&context, &other, &outside);
	events_recorded(&context, &event, &other, 9);
	events_waited(&context, &stream, &event);
	events_capture_end(&stream);
	events_launched(&stream, 70);
	events_launched(&other, 71);
	assert_int_equal(events_after(70, numbers) + events_after(71, numbers), 0);
	events_waited(&context, &other, &event); /* the capture that it was part of is over */
	events_recorded(&context, &event, &stream, 10);
	events_waited(&context, &other, &event);
	events_launched(&other, 72);
	assert_int_equal(events_after(72, numbers), 1);
	assert_int_equal(numbers[0], 10);
}

/* An event of one stream stands for a command; how many the next one of the other comes after. */
static uint32_t after_event(cuda_handle stream, cuda_handle waiting, uint32_t command)
{
	static char event, context;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_recorded(&context, &event, stream, command);
	events_waited(&context, waiting, &event);
	events_launched(waiting, command);
	return events_after(command, numbers);
}

/* However many streams there are, so that each place of theirs has been another's. */
static void captures_end_all_the_same(void **state)
{
	static char streams[20000];
	char context, origin, joined, event, other, third;

	for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
		uint32_t command = 1000 + 10 * (uint32_t)is_destroyed;
		events_capture(&context, &origin);
		events_recorded(&context, &event, &origin, 0);
		events_waited(&context, &joined, &event);
		assert_int_equal(after_event(&other, &joined, command), 0); /* is captured */
		events_recorded(&context, &event, &other, 5);
		for (size_t i = 0; i < sizeof streams; i++)
			if (&streams[i] != &joined)
				events_waited(&context, &streams[i], &event);
		events_recorded(&context, &event, &origin, 0);
		events_waited(&context, &joined, &event); /* its place was taken, too */
		if (is_destroyed)
			events_forget_stream(&origin);
		else
			events_capture_end(&origin);
		assert_int_equal(after_event(&other, &joined, command + 1), 1);
		assert_int_equal(after_event(&joined, &third, command + 2), 1);
	}
	/* those that never end make room for others */
	for (int i = 0; i < 200; i++)
		events_capture(&context, &streams[i]);
	events_recorded(&context, &event, &streams[199], 8);
	assert_int_equal(events_number(&event), 0);
	events_forget_context(&context);
	assert_int_equal(after_event(&streams[199], &other, 1100), 1);
}

/* Handles of its streams and events may be the next context's. */
static void contexts_go(void **state)
{
	char context, another, stream, event, waiting, kept;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_recorded(&context, &event, &stream, 5);
	events_recorded(&another, &kept, &stream, 6);
	events_waited(&context, &waiting, &event);
	events_forget_context(&context);
	events_launched(&waiting, 1200);
	assert_int_equal(events_after(1200, numbers), 0);
	assert_int_equal(events_number(&event), 0);
	assert_int_equal(events_number(&kept), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cubin_of_any_content),
		cmocka_unit_test(kernels_by_module),
		cmocka_unit_test(sources),
		cmocka_unit_test(nodes_come_and_go),
		cmocka_unit_test(nodes_are_forgotten),
		cmocka_unit_test(records_still_to_come),
		cmocka_unit_test(last_of_several),
		cmocka_unit_test(records_that_never_come),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(calls_in_calls),
		cmocka_unit_test(uncounted_launches),
		cmocka_unit_test(many_executable_graphs),
		cmocka_unit_test(last_launches),
		cmocka_unit_test(streams_that_are_excluded),
		cmocka_unit_test(yields_end),
		cmocka_unit_test(own_streams_yield),
		cmocka_unit_test(calls_by_name),
		cmocka_unit_test(what_events_put_in_order),
		cmocka_unit_test(what_is_captured_orders_nothing),
		cmocka_unit_test(captures_end_all_the_same),
		cmocka_unit_test(contexts_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
