/* SPDX-License-Identifier: Apache-2.0 */
/* Called by the parts of the page that hold a value for each of many steps or slices. */
#include "ui/page/pack.h"

#include <stdlib.h>

#include "base/base64.h"
#include "ui/text/die.h"
#include "ui/text/exit_code.h"
#include "ui/text/memory.h"

enum { BYTES_MAX = 10 };

void pack_add(struct pack *pack, uint64_t value)
{
	if (pack->capacity - pack->used < BYTES_MAX)
		pack->data = xgrow(pack->data, &pack->capacity, pack->used + BYTES_MAX, 1);
	for (; value > 0x7f; value >>= 7)
		pack->data[pack->used++] = (uint8_t)(value | 0x80);
	pack->data[pack->used++] = (uint8_t)value;
}

json_t *pack_end(struct pack *pack)
{
	size_t length = base64_length(pack->used);
	SCOPED char *text = xcalloc(length + 1, 1);

	base64_write(text, pack->data, pack->used);
	json_t *json = json_stringn_nocheck(text, length);
	if (!json)
		die(CLI_SYSTEM, "out of memory");
	free(pack->data);
	*pack = (struct pack){0};
	return json;
}
