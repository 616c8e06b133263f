/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage begins with what all stages of its kernel say, so that a compressed file has that once.
 * Perfetto knows events and contexts by numbers of the whole trace: those of the first process are
 * its own, so that most recordings have short ones.
 */
#include "lib/writer/gpu_stages.h"

#include <errno.h>
#include <string.h>

enum { LENGTH_BYTES = 2 };

/* 0: it has none. */
static uint64_t gpu_stages_event_of(const struct lane_names *names, uint64_t number)
{
	uint64_t process = names->process->number;

	if (!number || number >> FORMAT_FLOW_BITS)
		return 0;
	return number + (process << FORMAT_FLOW_BITS);
}

static const struct {
	const char *backend;
	uint32_t api;
} apis[] = {{"vulkan", API_VULKAN}, {"opencl", API_OPENCL}, {"cuda", API_CUDA}, {"hip", API_HIP}};
enum { APIS = sizeof(apis) / sizeof(*apis) };

void gpu_stages_init(struct gpu_stages *stages, const struct lane_names *names, const char *backend,
	size_t bytes)
{
	stages->names = names;
	while (stages->api < APIS && strncmp(backend, apis[stages->api].backend, bytes) != 0)
		stages->api++;
}

void gpu_stages_fini(struct gpu_stages *stages)
{
	array_fini(&stages->templates);
	hashmap_fini(&stages->by_kernel);
}

/* One for each process and API, numbered from 1. */
static uint64_t gpu_stages_context_of(const struct gpu_stages *stages)
{
	return (uint64_t)stages->names->process->number * (APIS + 1) + stages->api + 1;
}

void gpu_stages_intern(const struct gpu_stages *stages, const char *name, size_t name_bytes)
{
	const struct lane_names *names = stages->names;
	struct pb_buffer *b = &names->packets->scratch;

	names_entry(b, INTERNED_GPU_NAMES, FORMAT_QUEUE_IID + names->sequence, name, name_bytes);
	size_t context = pb_open(b, INTERNED_GRAPHICS_CONTEXTS);
	pb_varint(b, ENTRY_IID, gpu_stages_context_of(stages));
	pb_varint(b, CONTEXT_PID, names->process->pid);
	if (stages->api < APIS)
		pb_varint(b, CONTEXT_API, apis[stages->api].api);
	pb_close(b, context);
}

static unsigned put_sizes(uint8_t *at, uint32_t number, const uint32_t *sizes)
{
	unsigned n = 2;

	for (uint32_t i = 0; i < 3; i++)
		if (sizes[i])
			n += pb_put_field(at + n, DIMENSION_X + i, sizes[i]);
	at[0] = PB_TAG(number, PB_LENGTH);
	at[1] = (uint8_t)(n - 2);
	return n;
}

/* Without a group's size the grid is of work items, for which the launch has no field. */
static unsigned put_launch(uint8_t *at, const struct brick_session_kernel *kernel)
{
	unsigned n = pb_put_varint(at, PB_TAG(STAGE_LAUNCH, PB_LENGTH)), length = n++;

	if (!kernel->block[0])
		return 0;
	n += put_sizes(at + n, LAUNCH_GRID, kernel->grid);
	n += put_sizes(at + n, LAUNCH_GROUP, kernel->block);
	at[length] = (uint8_t)(n - length - 1);
	return n;
}

/* NULL: no memory. */
static struct stage_template *template_of(struct gpu_stages *stages, uint32_t kernel)
{
	uint64_t found = hashmap_get(&stages->by_kernel, kernel);

	if (found != HASHMAP_NONE)
		return &stages->templates.items[found];
	struct stage_template t = {0};
	const struct lane_names *names = stages->names;
	const struct brick_session_kernel *k = &names->process->tables.kernels[kernel];
	uint8_t *at = t.bytes;
	unsigned n = pb_put_field(at, PACKET_TIMESTAMP, 0);
	n += pb_put_field(at + n, PACKET_SEQUENCE_ID, names->sequence);
	n += pb_put_field(at + n, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	n += pb_put_varint(at + n, PB_TAG(PACKET_RENDER_STAGE, PB_LENGTH)) + LENGTH_BYTES;
	t.head = n;
	n += pb_put_field(at + n, STAGE_QUEUE_IID, FORMAT_QUEUE_IID + names->sequence);
	n += pb_put_field(at + n, STAGE_NAME_IID, FORMAT_N_KERNEL + kernel);
	n += pb_put_field(at + n, STAGE_GPU, names->gpu);
	n += pb_put_field(at + n, STAGE_CONTEXT, gpu_stages_context_of(stages));
	if (k->kind == BRICK_KERNEL_COMPUTE) {
		n += pb_put_field(at + n, STAGE_KERNEL_IID, kernel);
		n += put_launch(at + n, k);
	}
	t.length = n;
	if (array_push(&stages->templates, t) ||
		hashmap_set(&stages->by_kernel, kernel, stages->templates.count - 1)) {
		packets_fail(stages->names->packets, -ENOMEM);
		return NULL;
	}
	return &stages->templates.items[stages->templates.count - 1];
}

/* A packet's bytes behind its own tag and length. One that waited for many is a long one. */
static void lay(struct packets *p, struct stage_template *t, const uint8_t *bytes, unsigned n)
{
	if (n > INT8_MAX) {
		p->scratch.size = 0;
		pb_string(&p->scratch, TRACE_PACKET, (const char *)bytes, n);
		packets_add(p);
		return;
	}
	uint8_t *at = packets_end(p);
	at[0] = PB_TAG(TRACE_PACKET, PB_LENGTH);
	memcpy(at + 2, bytes, n);
	t->last = packet_laid(p, 2, n, distance_back(p, 2, &t->last), DEFLATE_UNKNOWN);
}

void gpu_stage(struct gpu_stages *stages, const struct record_args *args, uint64_t length_ns)
{
	uint8_t bytes[sizeof((struct stage_template *)0)->bytes + (RECORD_LINKS + 3) * 12];
	const struct lane_names *names = stages->names;
	uint64_t number = args->launch.elements;
	struct stage_template *t =
		template_of(stages, record_kernel(&names->process->tables, args));

	if (!t)
		return;
	memcpy(bytes, t->bytes, sizeof(t->bytes));
	unsigned n = t->length, head = t->head;
	n += pb_put_field(bytes + n, STAGE_SUBMISSION_ID, (uint32_t)number);
	n += pb_put_field(bytes + n, STAGE_EVENT_ID, gpu_stages_event_of(names, number));
	n += pb_put_field(bytes + n, STAGE_DURATION, length_ns);
	for (uint32_t i = 0; i < args->dependency_count; i++)
		if (gpu_stages_event_of(names, args->dependencies[i]))
			n += pb_put_field(bytes + n, STAGE_WAITS,
				gpu_stages_event_of(names, args->dependencies[i]));
	bytes[head - 2] = (uint8_t)((n - head) | 0x80);
	bytes[head - 1] = (uint8_t)((n - head) >> 7);
	lay(names->packets, t, bytes, n);
}

/* Numbers from first to first + further. */
static void put_events(
	const struct lane_names *names, uint32_t number, uint64_t first, uint32_t further)
{
	for (uint64_t i = 0; i <= further && i < GPU_MAX_FLOWS; i++)
		if (gpu_stages_event_of(names, first + i))
			pb_varint(&names->packets->scratch, number,
				gpu_stages_event_of(names, first + i));
}

void gpu_stages_launched(const struct lane_names *names, const struct record_args *args)
{
	struct pb_buffer *b = &names->packets->scratch;

	if (!args->flow_count)
		return;
	size_t correlation = pb_open(b, EVENT_GPU_CORRELATION);
	for (uint32_t i = 0; i < args->flow_count; i++)
		put_events(names, CORRELATION_SUBMITS, args->flows[i], args->further[i]);
	pb_close(b, correlation);
}

void gpu_stages_waited(const struct lane_names *names, const uint64_t *numbers, uint32_t count)
{
	struct pb_buffer *b = &names->packets->scratch;

	if (!count)
		return;
	size_t correlation = pb_open(b, EVENT_GPU_CORRELATION);
	for (uint32_t i = 0; i < count; i++)
		put_events(names, CORRELATION_WAITS, numbers[i], 0);
	pb_close(b, correlation);
}
