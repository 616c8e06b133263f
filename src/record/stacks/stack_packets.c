/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of nodes stands for all stacks: a node is a frame below its caller's node, and a stack is
 * its innermost node. Frames have the file's own addresses. Functions' names come at the end
 * (ModuleSymbols), so that no file is searched while the program runs.
 */
#include "record/stacks/stack_packets.h"

#include <errno.h>
#include <string.h>
#include "base/clock_ns.h"
#include "lib/writer/writer_names.h"

enum {
	/* both together take some 64 MB at most */
	MAX_NODES = 1 << 20,
	MAX_ADDRESSES = 1 << 20, /* of all objects together */
	MAX_FRAMES = 128,	 /* of a stack; the kernel takes 127 */
	/* the writer takes packets of up to 128 KiB, which the sum of these stays below */
	SYMBOLS_BYTES = 32 << 10,  /* a packet of symbols ends when it is larger */
	MAX_NAME_BYTES = 64 << 10, /* longer names are cut */
};

/* Below the kernel's marks between parts of a stack (PERF_CONTEXT_USER and the like). */
#define MAX_ADDRESS ((uint64_t)-4096)

static size_t open_packet(struct stack_packets *p, uint64_t time_ns)
{
	struct pb_buffer *b = &p->out;
	size_t packet = packet_open(b, FORMAT_STACK_SEQUENCE,
		p->has_begun ? SEQUENCE_NEEDS_STATE : SEQUENCE_STATE_CLEARED);

	pb_varint(b, PACKET_TIMESTAMP, time_ns);
	if (p->has_begun)
		return packet;
	p->has_begun = true; /* the first packet says what holds for all */
	size_t defaults = pb_open(b, PACKET_DEFAULTS);
	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_MONOTONIC);
	size_t sampling = pb_open(b, DEFAULTS_PERF_SAMPLE);
	size_t timebase = pb_open(b, PERF_DEFAULTS_TIMEBASE);
	pb_varint(b, TIMEBASE_FREQUENCY, p->hz);
	pb_varint(b, TIMEBASE_COUNTER, TIMEBASE_CPU_CLOCK);
	pb_varint(b, TIMEBASE_CLOCK, TIMEBASE_MONOTONIC);
	pb_close(b, timebase);
	pb_close(b, sampling);
	pb_close(b, defaults);
	return packet;
}

static int tell_object(struct stack_packets *p, const struct code_object *object, uint32_t number)
{
	struct pb_buffer *b = &p->interned;

	while (p->is_object_told.count <= number)
		if (array_push(&p->is_object_told, 0))
			return -ENOMEM;
	if (p->is_object_told.items[number])
		return 0;
	p->is_object_told.items[number] = 1;
	names_entry(b, INTERNED_MAPPING_PATHS, number + 1, object->path, strlen(object->path));
	if (object->build_id_bytes)
		names_entry(b, INTERNED_BUILD_IDS, number + 1, (const char *)object->build_id,
			object->build_id_bytes);
	size_t mapping = pb_open(b, INTERNED_MAPPINGS);
	pb_varint(b, MAPPING_IID, number + 1);
	if (object->build_id_bytes)
		pb_varint(b, MAPPING_BUILD_ID, number + 1);
	pb_varint(b, MAPPING_EXACT_OFFSET, object->offset);
	pb_varint(b, MAPPING_LOAD_BIAS, object->bias);
	pb_varint(b, MAPPING_PATH, number + 1);
	pb_close(b, mapping);
	return 0;
}

/* The id of a frame, which is interned if it was not yet. 0: no memory. */
static uint32_t frame_of(
	struct stack_packets *p, struct code_object *object, uint32_t number, uint64_t address)
{
	struct pb_buffer *b = &p->interned;
	uint64_t known = hashmap_get(&object->frames, address);

	if (known == HASHMAP_NONE && p->addresses >= MAX_ADDRESSES) {
		address = 0; /* stands for all addresses that have no room */
		known = hashmap_get(&object->frames, address);
		p->nameless++;
	}
	p->addresses += known == HASHMAP_NONE;
	/* frames from before packets_forget() are interned once more */
	if (known != HASHMAP_NONE && known > p->forgotten_frames)
		return (uint32_t)known;
	if (tell_object(p, object, number) ||
		hashmap_set(&object->frames, address, p->last_frame + 1))
		return 0;
	size_t frame = pb_open(b, INTERNED_FRAMES);
	pb_varint(b, FRAME_IID, ++p->last_frame);
	pb_varint(b, FRAME_MAPPING, number + 1);
	pb_varint(b, FRAME_ADDRESS, address);
	pb_close(b, frame);
	return p->last_frame;
}

/* The number of the node for `frame` below the node `caller`; 0: no memory. */
static uint32_t stack_packets_node_of(struct stack_packets *p, uint32_t caller, uint32_t frame)
{
	uint64_t key = (uint64_t)caller << 32 | frame;
	uint64_t known = hashmap_get(&p->node_index, key);

	if (known != HASHMAP_NONE)
		return (uint32_t)known;
	if (!p->nodes.count && array_push(&p->nodes, (struct stack_node){0}))
		return 0;
	uint32_t number = (uint32_t)p->nodes.count;
	const struct stack_node node = {.caller = caller, .frame = frame};
	if (array_push(&p->nodes, node) || hashmap_set(&p->node_index, key, number))
		return 0;
	return number;
}

void packets_forget(struct stack_packets *p)
{
	p->forgotten_nodes += p->nodes.count;
	p->forgotten_frames = p->last_frame;
	p->nodes.count = p->is_object_told.count = 0;
	hashmap_clear(&p->node_index);
	p->has_begun = false;
	p->interned.size = 0;
	p->interned.failed = false;
}

/* The id of a stack, which is interned if it was not yet. */
static uint64_t stack_id(struct stack_packets *p, uint32_t node)
{
	struct pb_buffer *b = &p->interned;
	uint32_t frames[MAX_FRAMES], count = 0;
	uint64_t id = p->forgotten_nodes + node;

	if (p->nodes.items[node].is_told)
		return id;
	p->nodes.items[node].is_told = true;
	for (uint32_t n = node; n && count < MAX_FRAMES; n = p->nodes.items[n].caller)
		frames[count++] = p->nodes.items[n].frame;
	size_t stack = pb_open(b, INTERNED_STACKS);
	pb_varint(b, STACK_IID, id);
	while (count)
		pb_varint(b, STACK_FRAME, frames[--count]); /* the outermost first */
	pb_close(b, stack);
	return id;
}

/*
 * Resolve addresses from the innermost on, up to the first without known code: a function that uses
 * the frame pointer for something else leads the kernel astray. Returns the number of frames.
 */
static size_t stack_packets_resolve(const struct address_spaces *spaces,
	const struct stack_event *event, uint32_t objects[MAX_FRAMES],
	uint64_t addresses[MAX_FRAMES])
{
	size_t count = 0;

	for (size_t i = 0; i < event->count && count < MAX_FRAMES; i++) {
		uint64_t address = event->addresses[i];
		if (address >= MAX_ADDRESS)
			continue;
		/* a return address may be in the next function; the byte before is in the call */
		uint64_t of = address - (count && address);
		objects[count] = spaces_find(spaces, event->pid, of, &addresses[count]);
		if (objects[count] == SPACES_NONE)
			break;
		count++;
	}
	return count;
}

/* The innermost node of a stack; 0: no frame is known, or there is no memory. */
static uint32_t innermost(
	struct stack_packets *p, struct address_spaces *spaces, const struct stack_event *event)
{
	uint32_t objects[MAX_FRAMES], node = 0;
	uint64_t addresses[MAX_FRAMES];
	size_t count = stack_packets_resolve(spaces, event, objects, addresses);

	while (count--) {
		struct code_object *object = &spaces->objects.items[objects[count]];
		uint32_t frame = frame_of(p, object, objects[count], addresses[count]);
		node = frame ? stack_packets_node_of(p, node, frame) : 0;
		if (!node)
			return 0;
	}
	return node;
}

static uint64_t samples_on(struct stack_packets *p, uint32_t cpu)
{
	while (p->cpu_samples.count <= cpu)
		if (array_push(&p->cpu_samples, 0))
			return 0;
	return ++p->cpu_samples.items[cpu];
}

void packets_stack(
	struct stack_packets *p, struct address_spaces *spaces, const struct stack_event *event)
{
	struct pb_buffer *b = &p->out;

	if (p->nodes.count > MAX_NODES)
		packets_forget(p);
	uint32_t node = innermost(p, spaces, event);
	if (p->interned.failed) { /* no memory to intern it: the stack counts as unknown */
		packets_forget(p);
		node = 0;
	}
	uint64_t stack = node ? stack_id(p, node) : 0;
	p->unknown += !node;
	size_t packet = open_packet(p, event->time_ns);
	if (p->interned.size) {
		pb_string(
			b, PACKET_INTERNED_DATA, (const char *)p->interned.data, p->interned.size);
		p->interned.size = 0;
	}
	size_t sample = pb_open(b, PACKET_PERF_SAMPLE);
	pb_varint(b, PERF_CPU, event->cpu);
	pb_varint(b, PERF_PID, event->pid);
	pb_varint(b, PERF_TID, event->tid);
	if (stack)
		pb_varint(b, PERF_STACK, stack);
	pb_varint(b, PERF_CPU_MODE, PERF_MODE_USER);
	pb_varint(b, PERF_TIMEBASE_COUNT, samples_on(p, event->cpu) * (NS_PER_S / p->hz));
	pb_close(b, sample);
	pb_close(b, packet);
	p->samples++;
}

void packets_thread(struct stack_packets *p, const struct stack_event *event)
{
	struct pb_buffer *b = &p->out;
	size_t packet = open_packet(p, event->time_ns);
	size_t tree = pb_open(b, PACKET_PROCESS_TREE);
	size_t thread = pb_open(b, PROCESS_TREE_THREADS);

	pb_varint(b, TREE_THREAD_TID, event->tid);
	pb_string(b, TREE_THREAD_NAME, event->text, strlen(event->text));
	pb_varint(b, TREE_THREAD_PROCESS, event->pid);
	pb_close(b, thread);
	pb_close(b, tree);
	pb_close(b, packet);
}

size_t packets_symbols(struct stack_packets *p, const struct code_object *object, uint64_t time_ns,
	const struct stack_symbol *symbols, size_t count)
{
	struct pb_buffer *b = &p->out;
	size_t told = 0, packet = open_packet(p, time_ns);
	size_t module = pb_open(b, PACKET_MODULE_SYMBOLS);

	pb_string(b, SYMBOLS_PATH, object->path, strlen(object->path));
	pb_string(b, SYMBOLS_BUILD_ID, (const char *)object->build_id, object->build_id_bytes);
	do {
		const struct stack_symbol *symbol = &symbols[told++];
		size_t address = pb_open(b, SYMBOLS_ADDRESS);
		pb_varint(b, ADDRESS_ADDRESS, symbol->address);
		size_t line = pb_open(b, ADDRESS_LINE);
		pb_string(b, SYMBOL_LINE_FUNCTION, symbol->name,
			strnlen(symbol->name, MAX_NAME_BYTES));
		pb_close(b, line);
		pb_close(b, address);
	} while (told < count && b->size - packet < SYMBOLS_BYTES);
	pb_close(b, module);
	pb_close(b, packet);
	return told;
}

void packets_stacks_fini(struct stack_packets *p)
{
	pb_buffer_fini(&p->out);
	pb_buffer_fini(&p->interned);
	hashmap_fini(&p->node_index);
	array_fini(&p->nodes);
	array_fini(&p->cpu_samples);
	array_fini(&p->is_object_told);
}
