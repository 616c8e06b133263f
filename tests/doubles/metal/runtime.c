/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of the Objective-C runtime with what Metal's command buffers answer (runtime.h). It ends
 * the program when an object that is gone, or a selector that an object does not know, is used.
 */
#include "tests/doubles/metal/runtime.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DOUBLE_API int metal_double_alive, metal_double_pools, metal_double_has_device = 1;

/* On x86-64 a struct of a word and a double comes back in the registers of both: whoever calls
 * objc_msgSend as either finds its own. */
struct both {
	uintptr_t word;
	double number;
};

static void unknown(const char *selector)
{
	fprintf(stderr, "double: unrecognised selector %s\n", selector);
	_Exit(99);
}

DOUBLE_API void *sel_registerName(const char *name)
{
	static char *names[64];
	int i = 0;

	for (; names[i]; i++)
		if (!strcmp(names[i], name))
			return names[i];
	return names[i] = strdup(name);
}

DOUBLE_API void *objc_autoreleasePoolPush(void)
{
	metal_double_pools++;
	return &metal_double_pools;
}

DOUBLE_API void objc_autoreleasePoolPop(void *pool)
{
	metal_double_pools--;
}

DOUBLE_API struct metal_double *metal_double_buffer(double start, double end)
{
	static struct metal_double objects[256]; /* none is used twice: use after the end shows */
	static int used;
	struct metal_double *object = used < 256 ? &objects[used++] : NULL;

	if (!object)
		unknown("of more objects than there are");
	object->references = 1;
	object->is_buffer = 1;
	object->knows_times = 1;
	object->start = start;
	object->end = end;
	metal_double_alive++;
	return object;
}

DOUBLE_API void *MTLCreateSystemDefaultDevice(void)
{
	struct metal_double *object;

	if (!metal_double_has_device)
		return NULL;
	object = metal_double_buffer(0, 0);
	object->is_buffer = 0;
	return object;
}

/* As on macOS: ns of a clock of its own. */
DOUBLE_API uint64_t clock_gettime_nsec_np(int clock)
{
	static uint64_t now = 5000000000ull;
	return clock == 8 ? (now += 1000) : 0;
}

static void release(struct metal_double *object)
{
	if (--object->references)
		return;
	object->is_gone = 1;
	metal_double_alive--;
}

static struct both answer_buffer(struct metal_double *object, const char *selector)
{
	struct both both = {0, 0};

	if (!strcmp(selector, "status"))
		both.word = object->status;
	else if (!strcmp(selector, "GPUStartTime") && object->knows_times)
		both.number = object->start;
	else if (!strcmp(selector, "GPUEndTime") && object->knows_times)
		both.number = object->end;
	else if (!strcmp(selector, "waitUntilCompleted") && object->status >= 2)
		object->status = object->status == 5 ? 5 : 4;
	else
		unknown(selector);
	return both;
}

DOUBLE_API struct both objc_msgSend(
	struct metal_double *object, const char *selector, void *argument)
{
	struct both both = {0, 0};

	if (!object)
		return both;
	if (object->is_gone)
		unknown("of an object that is gone");
	if (!strcmp(selector, "retain")) {
		object->references++;
		both.word = (uintptr_t)object;
	} else if (!strcmp(selector, "release")) {
		release(object);
	} else if (!strcmp(selector, "respondsToSelector:")) {
		both.word = object->is_buffer && object->knows_times;
	} else if (object->is_buffer) {
		return answer_buffer(object, selector);
	} else if (!strcmp(selector, "name")) {
		both.word = (uintptr_t)object;
	} else if (!strcmp(selector, "UTF8String")) {
		both.word = (uintptr_t) "Double of a GPU";
	} else {
		unknown(selector);
	}
	return both;
}
