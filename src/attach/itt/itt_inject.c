/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-itt.so: ITT loads it at the first call of each object that has ITT inside, as `brick
 * record` sets INTEL_LIBITTNOTIFY64, and hands it that object's list of functions.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "attach/annotate/ranges.h"
#include "attach/common/notes_once.h"
#include "attach/itt/itt_abi.h"
#include "attach/itt/itt_calls.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/attach.h"

BRICK_API void __itt_api_init(struct itt_global *global, int groups);

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void)
{
	ranges_tell_at_exit("itt");
}

/* The object holds its own lock meanwhile: nothing of it is called here. */
void __itt_api_init(struct itt_global *global, int groups)
{
	KEEP_ERRNO();

	if (!global || memcmp(global->magic, ITT_MAGIC, sizeof(global->magic)) != 0)
		return;
	if (global->version_build < ITT_BUILD_OLDEST || !global->functions) {
		note_once("itt", "ITT %lu.%lu (build %lu) of an object is older than what is known",
			global->version_major, global->version_minor, global->version_build);
		return;
	}
	pthread_once(&once, start);
	note_once("attach", "ITT tasks");
	for (struct itt_function *f = global->functions; f->name; f++) {
		void *our_function = itt_function_of(f->name);
		if (f->pointer)
			__atomic_store_n(f->pointer, our_function ? our_function : f->null_function,
				__ATOMIC_RELEASE);
	}
}

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes, "ITT tasks, regions and frames of any program are recorded");
	return 0;
}
