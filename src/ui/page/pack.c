/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers packed into bytes and bytes into base64; names in a list, their places in an object. */
#include "ui/page/pack.h"

#include "base/base64.h"
#include "base/scope.h"
#include "ui/text/json_out.h"

enum { BYTES_MAX = 10 };

void pack_add(struct pack *pack, uint64_t value)
{
	pack->failed |= array_reserve(&pack->bytes, BYTES_MAX) < 0;
	if (pack->failed)
		return;
	for (; value > 0x7f; value >>= 7)
		pack->bytes.items[pack->bytes.count++] = (uint8_t)(value | 0x80);
	pack->bytes.items[pack->bytes.count++] = (uint8_t)value;
}

json_t *pack_end(struct pack *pack)
{
	size_t length = base64_length(pack->bytes.count);
	SCOPED char *text = pack->failed ? NULL : malloc(length + 1);
	json_t *json = NULL;

	if (text) {
		base64_write(text, pack->bytes.items, pack->bytes.count);
		json = json_stringn_nocheck(text, length);
	}
	array_fini(&pack->bytes);
	pack->failed = false;
	return json;
}

struct page_names page_names_begin(void)
{
	return (struct page_names){json_array(), json_object()};
}

json_int_t page_names_add(struct page_names *names, const char *name)
{
	json_auto_t *text = json_text(name);
	const char *valid = json_string_value(text);
	const json_t *place = valid ? json_object_get(names->places, valid) : NULL;
	size_t next = json_array_size(names->list);

	if (place)
		return json_integer_value(place);
	json_put(names->places, valid, json_number(next));
	json_add(names->list, json_incref(text));
	return (json_int_t)next;
}

json_t *page_names_end(struct page_names *names)
{
	json_decref(names->places);
	return names->list;
}
