/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of this session, by hashes of key and value (notes_once.h). */
#include "attach/common/notes_once.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/fnv.h"
#include "base/hash.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { MAX_NOTES = 64 };

static uint64_t notes_once_written[MAX_NOTES];
static uint32_t written_count, session;
static pthread_mutex_t notes_once_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(notes_once_lock)

/* True if this is new to the session: then it is remembered. The caller holds the lock. */
static bool notes_once_is_new(uint64_t hash)
{
	uint32_t now = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (now != session) {
		session = now;
		written_count = 0;
	}
	for (uint32_t i = 0; i < written_count; i++)
		if (notes_once_written[i] == hash)
			return false;
	if (written_count == MAX_NOTES)
		return false;
	notes_once_written[written_count++] = hash;
	return true;
}

void note_once(const char *key, const char *format, ...)
{
	char value[768];
	KEEP_ERRNO();
	va_list arguments;

	/* makes the thread ready for the session that the note goes into */
	if (!brick_enabled() || brick_thread_ready())
		return;
	va_start(arguments, format);
	vsnprintf(value, sizeof(value), format, arguments);
	va_end(arguments);
	pthread_mutex_lock(&notes_once_lock);
	bool is_first = notes_once_is_new(hash_add(fnv1a_text(key), fnv1a_text(value)));
	pthread_mutex_unlock(&notes_once_lock);
	if (is_first)
		brick_note(key, "%s", value);
}
