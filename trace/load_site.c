/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON object that stands for a site. Others' members are skipped, so that later writers may
 * add some.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_json.h"
#include "trace/load_state.h"

static void set_count(struct run_site *site, uint64_t *member, uint32_t flag, uint64_t count)
{
	*member = count;
	site->flags |= flag;
}

static void take_text(char **member, struct load_json_value *value)
{
	free(*member);
	*member = value->text;
	value->text = NULL;
}

static void set_member(struct run_site *site, const char *key, struct load_json_value *value)
{
	if (!strcmp(key, "layer"))
		site->layer = (int32_t)value->number;
	else if (!strcmp(key, "op"))
		take_text(&site->operation, value);
	else if (!strcmp(key, "tensor"))
		take_text(&site->label, value);
	else if (!strcmp(key, "elements"))
		set_count(site, &site->elements, BRICK_SITE_HAS_ELEMENTS, value->count);
	else if (!strcmp(key, "bytes"))
		set_count(site, &site->bytes, BRICK_SITE_HAS_BYTES, value->count);
	else if (!strcmp(key, "flops"))
		set_count(site, &site->flops, BRICK_SITE_HAS_FLOPS, value->count);
	else if (!strcmp(key, "unknown") && value->is_true)
		site->flags |= BRICK_SITE_UNKNOWN_OPERATION;
	free(value->text);
}

static int read_member(struct load_json *j, struct run_site *site)
{
	struct load_json_value value;
	char *key;

	if (!load_json_text(j, &key))
		return 0;
	int good = load_json_skip(j, ':') && load_json_value(j, &value);
	if (good)
		set_member(site, key, &value);
	free(key);
	return good;
}

int load_site_json(struct pb_reader text, struct run_site *site)
{
	struct load_json j = {(const char *)text.at, (const char *)text.end};

	*site = (struct run_site){.brick = RUN_NONE, .layer = -1};
	int good = load_json_skip(&j, '{') && read_member(&j, site);
	while (good && load_json_skip(&j, ','))
		good = read_member(&j, site);
	if (good && load_json_skip(&j, '}'))
		return 1;
	free(site->operation);
	free(site->label);
	return 0;
}
