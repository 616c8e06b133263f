/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that stand in the page once, and are named by numbers. Called by its parts. */
#include "ui/page/page.h"
#include "ui/text/json_out.h"

struct page_names page_names_begin(void)
{
	return (struct page_names){json_array(), json_object()};
}

json_int_t page_names_add(struct page_names *names, const char *name)
{
	json_auto_t *text = json_text(name);
	const char *valid = json_string_value(text);
	json_t *number = json_object_get(names->numbers, valid);

	if (!number) {
		number = json_number(json_array_size(names->list));
		json_put(names->numbers, valid, number);
		json_add(names->list, json_incref(text));
	}
	return json_integer_value(number);
}

json_t *page_names_end(struct page_names *names)
{
	json_decref(names->numbers);
	return names->list;
}
