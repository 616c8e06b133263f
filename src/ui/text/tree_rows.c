/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are made depth first, so a row follows the one that holds it. */
#include "ui/text/tree_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/function_accounts.h"
#include "analysis/steps/step_times.h"
#include "brick/registry.h"
#include "trace/exports.h"
#include "ui/text/phase_text.h"
#include "ui/text/text.h"

/* "gemv  <<<(32,1,1),(256,1,1)>>> smem=4096B", "copy  h2d": unknown parts are left out. */
static char *tree_kernel_name(const struct run_kernel *kernel)
{
	const uint32_t *g = kernel->grid, *b = kernel->block;
	if (kernel->kind != BRICK_KERNEL_COMPUTE && kernel->kind != BRICK_KERNEL_OTHER)
		return text_format("%s  %s", kernel->name, text_kernel_kind(kernel->kind));
	SCOPED char *shared =
		kernel->shared_bytes
			? text_format(" smem=%lluB", (unsigned long long)kernel->shared_bytes)
			: text_copy("");
	SCOPED char *block = b[0] ? text_format(",(%u,%u,%u)", b[0], b[1], b[2]) : text_copy("");
	SCOPED char *code = kernel->code
				    ? text_format(" code=%016llx", (unsigned long long)kernel->code)
				    : text_copy("");
	return g[0] ? text_format("%s  <<<(%u,%u,%u)%s>>>%s%s", kernel->name, g[0], g[1], g[2],
			      block, shared, code)
		    : text_format(
			      "%s%s%s%s", kernel->name, shared && *shared ? " " : "", shared, code);
}

static char *tree_rows_lane_name(const struct run_lane *lane)
{
	return text_format("%s %s (%llu)", lane->kind == BRICK_LANE_QUEUE ? "Queue" : "Thread",
		lane->name ? lane->name : "", (unsigned long long)lane->tid);
}

static char *stack_thread_name(const struct run_stack_thread *thread)
{
	return text_format("Thread %s (%u)", thread->name ? thread->name : "", thread->tid);
}

char *tree_name(const struct call_tree *tree, const struct call_node *node)
{
	const struct run *run = tree->run;
	const struct run_site *site;
	switch (node->kind) {
	case CALL_LAYER:
		return text_format("Layer %d", node->layer);
	case CALL_BRICK:
		return text_copy(run->bricks[node->brick].name);
	case CALL_OPERATION:
		site = &run->sites[node->site];
		return text_format("%s%s%s", site->operation ? site->operation : "",
			site->operation && site->label ? " " : "", site->label ? site->label : "");
	case CALL_KERNEL:
		return tree_kernel_name(&run->kernels[node->kernel]);
	case CALL_LANE:
		return tree_rows_lane_name(&run->lanes[node->site]);
	case CALL_PHASE:
		return text_copy(phase_label((int)node->site));
	case CALL_THREAD:
		return stack_thread_name(&run->stack_threads[node->site]);
	case CALL_FUNCTION:
		return function_name(&run->functions[node->site]);
	case CALL_LEFT_OUT:
		return text_copy("left out");
	case CALL_WAIT:
		return text_copy(brick_name(BRICK_BARRIER_WAIT));
	case CALL_PREEMPTED:
	case CALL_BLOCKED:
		return text_copy(call_kind_name(node->kind));
	default:
		break;
	}
	if (tree->step != RUN_NONE) {
		int phase = (int)run->steps[tree->step].phase;
		return text_copy(phase == STEP_OTHER ? "Step" : phase_title(phase));
	}
	if (tree->lane == RUN_NONE) /* stacks.h */
		return text_copy("all threads and queues");
	return tree_rows_lane_name(&run->lanes[tree->lane]);
}

static bool tree_rows_shows(const struct tree_rows *rows, const struct call_node *node)
{
	return rows->operations || node->kind != CALL_OPERATION;
}

/*
 * True if the node gets a row for its time outside of the nodes below it. A brick whose operations
 * are shown has no such time; kernels below it do not count, because devices have times of their
 * own. The root always has the row, also with no time left.
 */
static bool tree_rows_has_rest(const struct tree_rows *rows, const struct call_node *node)
{
	const struct call_node *nodes = rows->tree->nodes;
	bool on_host = false;

	for (uint32_t i = node->first; i != RUN_NONE; i = nodes[i].next) {
		if (!tree_rows_shows(rows, &nodes[i]))
			continue;
		if (nodes[i].kind == CALL_OPERATION)
			return false;
		on_host |= !call_node_on_device(&nodes[i]);
	}
	return node->kind == CALL_ROOT || (node->kind == CALL_BRICK && on_host && node->self_ns);
}

static void tree_rows_add(struct tree_rows *rows, struct tree_row row)
{
	uint32_t number = (uint32_t)rows->list.count;

	if (text_fail(array_push(&rows->list, row)) < 0 || row.node == RUN_NONE)
		return;
	const struct call_node *nodes = rows->tree->nodes, *node = &nodes[row.node];
	uint32_t last = RUN_NONE;
	for (int between = 0; between < 2; between++)
		for (uint32_t i = node->first; i != RUN_NONE; i = nodes[i].next)
			if (tree_rows_shows(rows, &nodes[i]) &&
				call_node_is_between(&nodes[i]) == between)
				last = i;
	bool has_rest = tree_rows_has_rest(rows, node);
	rows->list.items[number].holds = last != RUN_NONE;
	if ((last == RUN_NONE && !has_rest) || !rows->opens(rows, number, rows->context))
		return;
	rows->list.items[number].is_open = true;
	for (int between = 0; between < 2; between++)
		for (uint32_t i = node->first; i != RUN_NONE; i = nodes[i].next)
			if (tree_rows_shows(rows, &nodes[i]) &&
				call_node_is_between(&nodes[i]) == between)
				tree_rows_add(rows, (struct tree_row){.node = i,
							    .above = number,
							    .depth = row.depth + 1,
							    .is_last = i == last && !has_rest});
	if (has_rest)
		tree_rows_add(rows, (struct tree_row){.node = RUN_NONE,
					    .above = number,
					    .depth = row.depth + 1,
					    .is_last = true});
}

void tree_rows_make(struct tree_rows *rows)
{
	tree_rows_add(rows, (struct tree_row){.is_last = true});
}

char *tree_rows_name(const struct tree_rows *rows, uint32_t row)
{
	const struct tree_row *r = &rows->list.items[row];

	if (r->node == RUN_NONE)
		return text_copy(r->depth == 1 ? "unattributed" : "itself");
	SCOPED char *name = tree_name(rows->tree, &rows->tree->nodes[r->node]);
	return text_safe(name);
}

uint64_t tree_rows_time_ns(const struct tree_rows *rows, uint32_t row)
{
	const struct tree_row *r = &rows->list.items[row];
	const struct call_node *nodes = rows->tree->nodes;

	return r->node == RUN_NONE ? nodes[rows->list.items[r->above].node].self_ns
				   : call_node_time_ns(&nodes[r->node]);
}

char *tree_rows_branches(
	const struct tree_rows *rows, uint32_t row, const struct tree_rows_glyphs *glyphs)
{
	const struct tree_row *list = rows->list.items, *r = &list[row];
	char *text = text_copy(r->is_last ? glyphs->last_row : glyphs->row);

	for (r = &list[r->above]; r->depth; r = &list[r->above]) {
		char *longer = text_format(
			"%s%s", r->is_last ? glyphs->below_last : glyphs->below, text ? text : "");
		free(text);
		text = longer;
	}
	return text;
}
