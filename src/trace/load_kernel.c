/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON object that stands for a kernel or a kind of transfer (writer_text.c). */
#include <stdlib.h>
#include <string.h>
#include "lib/writer/format.h"
#include "trace/load_json.h"
#include "trace/load_value.h"

static void take_triple(uint32_t *triple, const struct load_json_value *value)
{
	for (int i = 0; i < 3; i++)
		triple[i] = value->list[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)value->list[i];
}

static uint32_t kind_named(const char *name)
{
	static const char *const kinds[] = FORMAT_KERNEL_KINDS;

	for (uint32_t i = 0; name && i < FORMAT_KERNEL_KIND_COUNT; i++)
		if (!strcmp(name, kinds[i]))
			return i;
	return BRICK_KERNEL_OTHER;
}

static void set_member(void *to, const char *key, struct load_json_value *value)
{
	struct run_kernel *kernel = to;

	if (!strcmp(key, "name"))
		load_json_take(&kernel->name, value);
	else if (!strcmp(key, "backend"))
		load_json_take(&kernel->backend, value);
	else if (!strcmp(key, "kind"))
		kernel->kind = kind_named(value->text);
	else if (!strcmp(key, "grid"))
		take_triple(kernel->grid, value);
	else if (!strcmp(key, "block"))
		take_triple(kernel->block, value);
	else if (!strcmp(key, "shared"))
		kernel->shared_bytes = value->count;
	else if (!strcmp(key, "registers"))
		kernel->registers = (uint32_t)value->count;
	else if (!strcmp(key, "code") && value->text)
		kernel->code = strtoull(value->text, NULL, 16);
}

void load_kernel_free(struct run_kernel *kernel)
{
	free(kernel->name);
	free(kernel->backend);
}

int load_kernel_json(struct pb_reader text, struct run_kernel *kernel)
{
	struct load_json j = {(const char *)text.at, (const char *)text.end};

	*kernel = (struct run_kernel){.kind = BRICK_KERNEL_OTHER};
	if (load_json_object(&j, set_member, kernel) && kernel->name)
		return 1;
	load_kernel_free(kernel);
	return 0;
}
