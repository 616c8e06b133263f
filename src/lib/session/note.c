/* SPDX-License-Identifier: Apache-2.0 */
/* Notes of the session: lines "key=value" that anybody adds (provenance: what was attached, how).
 */
#include "brick/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/scope.h"
#include "brick/error.h"
#include "lib/session/session_state.h"
#include "lib/session/session_map.h"

/* Append a line to the notes; what does not fit is dropped whole and counted. */
static int append_note(struct brick_session_header *h, const char *line, size_t bytes)
{
	uint32_t used = h->notes_bytes;

	if (bytes > BRICK_NOTES_BYTES - used) {
		h->ledger.table_full++;
		return BRICK_EFULL;
	}
	memcpy((char *)h + h->notes_offset + used, line, bytes);
	__atomic_store_n(&h->notes_bytes, used + (uint32_t)bytes, __ATOMIC_RELEASE);
	return 0;
}

int brick_note(const char *key, const char *format, ...)
{
	char line[1024];
	int error = -ENOENT;
	va_list arguments;

	int n = snprintf(line, sizeof line, "%s=", key);
	if (n < 0 || n >= (int)sizeof line / 2)
		return -EINVAL;
	va_start(arguments, format);
	vsnprintf(line + n, sizeof line - (size_t)n - 1, format, arguments);
	va_end(arguments);
	for (char *p = line; *p; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	size_t bytes = strlen(line);
	line[bytes++] = '\n';
	brick__session_ensure();
	BETWEEN(brick__session_lock, brick__session_unlock);
	if (brick__session.header)
		error = append_note(brick__session.header, line, bytes);
	return error;
}
