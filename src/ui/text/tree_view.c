/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both forms of `brick tree`, and the live view, call the nodes of a tree.
 */
#include "ui/text/tree_view.h"

#include "brick/registry.h"
#include "trace/trace_text.h"
#include "ui/text/text.h"

/* "gemv  <<<(32,1,1),(256,1,1)>>> smem=4096B", "copy  h2d": what is not known is left out. */
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
	char *name = g[0] ? text_format("%s  <<<(%u,%u,%u)%s>>>%s", kernel->name, g[0], g[1], g[2],
				    block, shared)
			  : text_format("%s%s%s", kernel->name, shared && *shared ? " " : "", shared);
	return name;
}

static char *lane_name(const struct run_lane *lane)
{
	return text_format("%s %s (%llu)", lane->kind == BRICK_LANE_QUEUE ? "Queue" : "Thread",
		lane->name ? lane->name : "", (unsigned long long)lane->tid);
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
		return lane_name(&run->lanes[node->site]);
	case CALL_PHASE:
		return text_copy(step_phase_name((int)node->site));
	case CALL_LEFT_OUT:
		return text_copy("left out");
	case CALL_WAIT:
		return text_copy(brick_name(BRICK_BARRIER_WAIT));
	default:
		break;
	}
	if (tree->step != RUN_NONE) {
		char *name = text_copy(step_phase_name((int)run->steps[tree->step].phase));
		if (name)
			name[0] = (char)(name[0] - 'a' + 'A');
		return name;
	}
	return lane_name(&run->lanes[tree->lane]);
}

int tree_shows(const struct tree_view *view, const struct call_node *node, unsigned depth)
{
	if (node->kind == CALL_OPERATION && !view->operations)
		return 0;
	return !view->depth || depth <= view->depth;
}
