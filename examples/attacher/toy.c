/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-toy.so: stands in front of the engine's toy_decode(), and records each call as a step.
 * The whole of an attacher (docs/ATTACHERS.md); the entry for the table is in toy_record.c.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "brick/abi/attacher.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "toy_engine.h"

typedef double (*decode_fn)(int tokens);
typedef const char *(*version_fn)(void);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static decode_fn engine_decode; /* NULL: the program has no such engine */

/* The next library's; a function's address may not be cast from a data pointer in C. */
static void find(const char *name, void *function)
{
	void *found = dlsym(RTLD_NEXT, name);

	memcpy(function, &found, sizeof(found));
}

static void start(void)
{
	version_fn version;

	find("toy_decode", &engine_decode);
	find("toy_version", &version);
	brick_note("attach", "toy_decode");
	if (version)
		brick_note("toy.version", "%s", version());
}

__attribute__((visibility("default"))) double toy_decode(int tokens)
{
	int saved = errno;
	int recorded = brick_thread_ready() == 0;

	pthread_once(&once, start);
	brick_span step = recorded ? brick_step_begin(tokens == 1, (uint32_t)tokens) : 0;
	errno = saved;
	double result = engine_decode(tokens);
	saved = errno;
	if (recorded)
		brick_end(step);
	errno = saved;
	return result;
}

__attribute__((visibility("default"))) int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes, "calls of toy_decode() are recorded as steps");
	return 0;
}
