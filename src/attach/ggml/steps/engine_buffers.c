/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of buffers, and sums of it by device and kind. A buffer's kind is settled when the engine
 * says its use, or else when it is told: then it follows from the call that made the buffer. All of
 * ggml's buffers come from ggml_backend_buffer_init(); a buffer that consists of others is left
 * out, and so is one of another machine ("RPC0[host:port]").
 */
#include "attach/ggml/steps/engine_buffers.h"

#include <ctype.h>
#include <string.h>
#include "attach/common/system_memory.h"
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/engine/resolve.h"
#include "attach/ggml/nodes/node_thread.h"
#include "base/array.h"
#include "base/lock.h"
#include "base/scope.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum {
	PLACES = 17, /* the host, and GPUs; further ones count as the last */
	RARELY = 32, /* in so many steps each row is told, as a part of a recording may begin
			anywhere */
	MOST = 4096, /* buffers and states; further buffers are known all the same */
	USAGE_WEIGHTS = 1,
	USAGE_COMPUTE = 2,
};

struct engine_buffer {
	const void *at, *thread; /* that made it */
	uint64_t bytes, number;
	uint8_t place; /* 1 + the GPU's number; 0: the host */
	uint8_t kind;  /* BRICK_MEMORY_ALL: not settled */
	uint8_t later; /* its kind if it is not settled when it is told */
};

struct buffer_row {
	uint64_t live, peak; /* the peak is since it was told */
	uint64_t told_live, told_peak;
};

pthread_mutex_t engine_buffers_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	ARRAY(struct engine_buffer) list;
	struct buffer_row rows[PLACES][BRICK_MEMORY_KINDS];
	uint64_t numbers;
	uint32_t session;    /* that was told */
	uint32_t has_change; /* atomic */
	uint32_t steps;	     /* atomic: since the begin */
} engine_memory;

/* The functions below are called under the lock. */

static void buffers_set(uint8_t place, uint32_t kind, uint64_t live)
{
	struct buffer_row *row = &engine_memory.rows[place][kind];

	row->live = live;
	row->peak = live > row->peak ? live : row->peak;
	__atomic_store_n(&engine_memory.has_change, 1, __ATOMIC_RELAXED);
}

static void buffers_add(uint8_t place, uint32_t kind, uint64_t bytes, int sign)
{
	uint64_t live = engine_memory.rows[place][kind].live;

	buffers_set(place, kind, sign > 0 ? live + bytes : live > bytes ? live - bytes : 0);
}

static void buffers_become(struct engine_buffer *b, uint8_t kind)
{
	if (b->kind == kind)
		return;
	if (b->kind != BRICK_MEMORY_ALL)
		buffers_add(b->place, b->kind, b->bytes, -1);
	if (kind != BRICK_MEMORY_ALL)
		buffers_add(b->place, kind, b->bytes, 1);
	b->kind = kind;
}

static void buffers_remove(size_t i)
{
	struct engine_buffer *b = &engine_memory.list.items[i];

	if (b->kind != BRICK_MEMORY_STATES)
		buffers_add(b->place, BRICK_MEMORY_ALL, b->bytes, -1);
	buffers_become(b, BRICK_MEMORY_ALL);
	*b = engine_memory.list.items[--engine_memory.list.count];
}

static struct engine_buffer *buffers_find(const void *at)
{
	for (size_t i = 0; i < engine_memory.list.count; i++)
		if (engine_memory.list.items[i].at == at &&
			engine_memory.list.items[i].kind != BRICK_MEMORY_STATES)
			return &engine_memory.list.items[i];
	return NULL;
}

/* "CUDA1" is the second GPU; a type of the host's memory, also of such as "AMX", is no GPU's. */
static uint8_t buffers_place(const char *type, bool is_host)
{
	size_t length = type ? strlen(type) : 0, digits = length;
	uint32_t number = 0;

	if (is_host || !length || !strncmp(type, "CPU", 3) || !strcmp(type, "AMX"))
		return 0;
	while (digits && isdigit((unsigned char)type[digits - 1]))
		digits--;
	for (size_t i = digits; i < length && number < PLACES; i++)
		number = number * 10 + (uint32_t)(type[i] - '0');
	return (uint8_t)(number + 1 < PLACES ? number + 1 : PLACES - 1);
}

/* False: the function is no engine's, and nothing of it is called. */
static bool buffers_object(const void *function, struct loaded_object *object)
{
	uintptr_t home = patched_home((uintptr_t)function);
	const struct engine *e = engine_at(home);

	return e && e->is_proved && object_at(home, object);
}

void engine_buffers_made(const void *buffer, const void *type, const void *function)
{
	KEEP_ERRNO();
	size_t (*size_of)(const void *);
	_Bool (*is_of_others)(const void *), (*is_meta)(const void *), (*is_host)(const void *);
	const char *(*name_of)(const void *);
	struct loaded_object object;

	if (!buffer || !type || !buffers_object(function, &object))
		return;
	RESOLVE(size_of, &object, "ggml_backend_buffer_get_size", 0);
	RESOLVE(is_of_others, &object, "ggml_backend_buffer_is_multi_buffer", 0);
	RESOLVE(is_meta, &object, "ggml_backend_buffer_is_meta", 0);
	RESOLVE(is_host, &object, "ggml_backend_buft_is_host", 0);
	RESOLVE(name_of, &object, "ggml_backend_buft_name", 0);
	const char *name = name_of ? name_of(type) : NULL;
	uint64_t bytes = size_of ? size_of(buffer) : 0;
	if (!bytes || (name && !strncmp(name, "RPC", 3)) ||
		(is_of_others && is_of_others(buffer)) || (is_meta && is_meta(buffer)))
		return;
	struct engine_buffer b = {.at = buffer,
		.thread = &node_thread,
		.bytes = bytes,
		.later = BRICK_MEMORY_OTHER,
		.place = buffers_place(name, is_host && is_host(type))};
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	b.number = ++engine_memory.numbers;
	if (!array_push(&engine_memory.list, b))
		buffers_add(b.place, BRICK_MEMORY_ALL, b.bytes, 1);
}

void engine_buffers_freed(const void *buffer)
{
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	struct engine_buffer *b = buffer ? buffers_find(buffer) : NULL;
	if (b)
		buffers_remove((size_t)(b - engine_memory.list.items));
}

void engine_buffers_used(const void *buffer, int usage)
{
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	struct engine_buffer *b = buffers_find(buffer);
	if (b && usage == USAGE_WEIGHTS)
		buffers_become(b, BRICK_MEMORY_WEIGHTS);
	else if (b && usage == USAGE_COMPUTE)
		buffers_become(b, BRICK_MEMORY_COMPUTE);
}

uint64_t engine_buffers_mark(void)
{
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	return engine_memory.numbers;
}

void engine_buffers_settle(uint64_t mark, enum brick_memory_kind kind)
{
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	for (size_t i = 0; i < engine_memory.list.count; i++) {
		struct engine_buffer *b = &engine_memory.list.items[i];
		if (b->number > mark && b->thread == &node_thread)
			b->later = (uint8_t)kind;
	}
}

bool engine_buffers_is_cache(const void *context, const void *function)
{
	KEEP_ERRNO();
	const void *(*first)(const void *);
	const char *(*name_of)(const void *);
	struct loaded_object object;

	if (!buffers_object(function, &object))
		return false;
	RESOLVE(first, &object, "ggml_get_first_tensor", 0);
	RESOLVE(name_of, &object, "ggml_get_name", 0);
	const void *tensor = first && name_of ? first(context) : NULL;
	return tensor && !strncmp(name_of(tensor), "cache_", 6);
}

/* Of a program that has saved very many states, the oldest is forgotten. */
static void buffers_forget_oldest(void)
{
	size_t oldest = engine_memory.list.count;

	for (size_t i = 0; i < engine_memory.list.count; i++) {
		const struct engine_buffer *b = &engine_memory.list.items[i];
		if (b->kind == BRICK_MEMORY_STATES &&
			(oldest == engine_memory.list.count ||
				b->number < engine_memory.list.items[oldest].number))
			oldest = i;
	}
	if (oldest < engine_memory.list.count)
		buffers_remove(oldest);
}

void engine_buffers_saved(const void *to, uint64_t bytes)
{
	const char *begin = to;

	HOLD_UNCANCELLED(&engine_buffers_mutex);
	for (size_t i = engine_memory.list.count; i-- > 0;) {
		const struct engine_buffer *b = &engine_memory.list.items[i];
		if (b->kind == BRICK_MEMORY_STATES && (const char *)b->at < begin + bytes &&
			begin < (const char *)b->at + b->bytes)
			buffers_remove(i);
	}
	if (engine_memory.list.count >= MOST)
		buffers_forget_oldest();
	const struct engine_buffer state = {.at = to,
		.bytes = bytes,
		.number = ++engine_memory.numbers,
		.kind = BRICK_MEMORY_STATES};
	if (!array_push(&engine_memory.list, state))
		buffers_add(0, BRICK_MEMORY_STATES, bytes, 1);
}

/* What the ring has no room for is told at the next step's end. */
static void buffers_tell_place(uint8_t place, bool is_due)
{
	struct brick_memory_record records[BRICK_MEMORY_KINDS];
	struct buffer_row *told[BRICK_MEMORY_KINDS];
	uint32_t count = 0;

	for (uint32_t kind = 0; kind < BRICK_MEMORY_KINDS; kind++) {
		struct buffer_row *row = &engine_memory.rows[place][kind];
		if (row->live == row->told_live && row->peak <= row->told_peak &&
			!(is_due && (row->live || row->peak)))
			continue;
		told[count] = row;
		records[count++] = (struct brick_memory_record){.live_bytes = row->live,
			.memory = (uint8_t)kind,
			.gpu = place,
			.peak_bytes = row->peak};
	}
	if (count && !brick_record_memory(records, count)) {
		__atomic_store_n(&engine_memory.has_change, 1, __ATOMIC_RELAXED);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		told[i]->told_live = told[i]->live;
		told[i]->told_peak = told[i]->peak;
		told[i]->peak = told[i]->live;
	}
}

static bool buffers_is_late(void)
{
	return shared_get(&attach_shared.is_late) != 0;
}

void engine_buffers_tell(void)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);
	uint32_t steps = __atomic_fetch_add(&engine_memory.steps, 1, __ATOMIC_RELAXED);

	if (BRICK_LIKELY(!__atomic_load_n(&engine_memory.has_change, __ATOMIC_RELAXED) &&
			 steps % RARELY && session == engine_memory.session) ||
		buffers_is_late())
		return;
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	__atomic_store_n(&engine_memory.has_change, 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < engine_memory.list.count; i++)
		if (engine_memory.list.items[i].kind == BRICK_MEMORY_ALL)
			buffers_become(
				&engine_memory.list.items[i], engine_memory.list.items[i].later);
	bool is_due = !(steps % RARELY) || session != engine_memory.session;
	engine_memory.session = session;
	for (uint32_t place = 0; place < PLACES; place++)
		buffers_tell_place((uint8_t)place, is_due);
}

void engine_buffers_look(void)
{
	if (BRICK_LIKELY(__atomic_load_n(&engine_memory.steps, __ATOMIC_RELAXED) % RARELY != 1) ||
		buffers_is_late())
		return;
	const struct system_memory now = system_memory_now();
	HOLD_UNCANCELLED(&engine_buffers_mutex);
	buffers_set(0, BRICK_MEMORY_SYSTEM, now.peak_bytes);
	buffers_set(0, BRICK_MEMORY_ANONYMOUS, now.anonymous_bytes);
}
