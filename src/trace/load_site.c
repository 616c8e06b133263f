/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON object that stands for a site. Others' members are skipped, so that later writers may
 * add some.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_json.h"
#include "trace/load_value.h"

static void set_count(struct run_site *site, uint64_t *member, uint32_t flag, uint64_t count)
{
	*member = count;
	site->flags |= flag;
}

static void set_member(void *to, const char *key, struct load_json_value *value)
{
	struct run_site *site = to;

	if (!strcmp(key, "layer"))
		site->layer = (int32_t)value->number;
	else if (!strcmp(key, "op"))
		load_json_take(&site->operation, value);
	else if (!strcmp(key, "tensor"))
		load_json_take(&site->label, value);
	else if (!strcmp(key, "elements"))
		set_count(site, &site->elements, BRICK_SITE_HAS_ELEMENTS, value->count);
	else if (!strcmp(key, "bytes"))
		set_count(site, &site->bytes, BRICK_SITE_HAS_BYTES, value->count);
	else if (!strcmp(key, "flops"))
		set_count(site, &site->flops, BRICK_SITE_HAS_FLOPS, value->count);
	else if (!strcmp(key, "unknown") && value->is_true)
		site->flags |= BRICK_SITE_UNKNOWN_OPERATION;
	else if (!strcmp(key, "at_most") && value->is_true)
		site->flags |= BRICK_SITE_AT_MOST;
}

int load_site_json(struct pb_reader text, struct run_site *site)
{
	struct load_json j = {(const char *)text.at, (const char *)text.end};

	*site = (struct run_site){.brick = RUN_NONE, .layer = -1};
	if (load_json_object(&j, set_member, site))
		return 1;
	free(site->operation);
	free(site->label);
	return 0;
}
