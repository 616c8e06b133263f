/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences and JSON of what placed_of_run() tells. */
#include "ui/text/placed_view.h"

#include <stdlib.h>

#include "analysis/accounts/placed.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"

static void placed_say_nodes(char **text, const struct placed *p)
{
	char bytes[UNITS_BYTES], share[UNITS_BYTES];
	const char *between = "";

	for (uint32_t i = 0; i < p->node_count && p->knows_memory; i++) {
		const struct placed_node *n = &p->nodes[i];
		if (n->memory < 0.01)
			continue;
		text_append(text, between, "%s%s on node %u", *text ? "" : "memory ",
			units_bytes(bytes, n->file_bytes + n->anonymous_bytes), n->node);
		between = ", ";
	}
	between = "; ";
	for (uint32_t i = 0; i < p->node_count; i++) {
		const struct placed_node *n = &p->nodes[i];
		if (n->time < 0.01)
			continue;
		text_append(text, between, "%s of the threads' time on node %u",
			units_percent(share, n->time), n->node);
		between = ", ";
	}
}

char *placed_text(const struct run *run)
{
	struct placed p;
	char *text = NULL;
	char share[UNITS_BYTES];

	if (!placed_of_run(&p, run))
		return NULL;
	placed_say_nodes(&text, &p);
	if (p.kind_count)
		text_append(&text, "; ",
			"cores of %u kinds, %s of the threads' time on the %u fastest",
			p.kind_count, units_percent(share, p.kinds[0].time), p.kinds[0].cpus);
	return text;
}

json_t *placed_json(const struct run *run)
{
	struct placed p;

	if (!placed_of_run(&p, run))
		return json_null();
	json_t *object = json_object(), *nodes = json_array(), *kinds = json_array();
	for (uint32_t i = 0; i < p.node_count; i++) {
		const struct placed_node *n = &p.nodes[i];
		json_t *node = json_object();
		json_put_numbers(node, n, node, file_bytes, anonymous_bytes);
		json_put(node, "time_share", json_rate(n->time));
		json_add(nodes, node);
	}
	for (uint32_t i = 0; i < p.kind_count; i++) {
		json_t *kind = json_object();
		json_put_numbers(kind, &p.kinds[i], capacity, cpus);
		json_put(kind, "time_share", json_rate(p.kinds[i].time));
		json_add(kinds, kind);
	}
	json_put(object, "nodes", nodes);
	json_put(object, "far_share",
		p.node_count && p.knows_memory ? json_rate(p.far) : json_null());
	json_put(object, "cores", kinds);
	return object;
}
