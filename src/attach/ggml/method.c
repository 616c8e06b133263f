/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing how nodes are timed (method.h). The choice falls at two moments: when a scheduler is
 * made and nothing that is loaded has the hooks, or when a first graph was computed and none was
 * called, as in builds that bind their own calls. It never goes back.
 */
#include "attach/ggml/method.h"

#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/resolve.h"
#include "brick/attach.h"

static uint32_t is_forced, is_chosen, has_device;

static void use(enum method method)
{
	__atomic_store_n(&attach_shared.method, (uint32_t)method, __ATOMIC_RELAXED);
	__atomic_store_n(&is_chosen, 1, __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void read_environment(void)
{
	const char *wanted = getenv("BRICK_ATTACH");

	if (!wanted || !*wanted || !strcmp(wanted, "auto"))
		return;
	is_forced = 1;
	use(!strcmp(wanted, "callback")	   ? METHOD_CALLBACK
		: !strcmp(wanted, "graph") ? METHOD_GRAPHS
					   : METHOD_NODES);
}

static int may_choose(void)
{
	return brick_enabled() && !__atomic_load_n(&is_chosen, __ATOMIC_RELAXED);
}

int method_is_chosen(void)
{
	return !may_choose();
}

int method_cpu_only(void)
{
	return !__atomic_load_n(&has_device, __ATOMIC_RELAXED);
}

/* Is there all that this use of hooks must have, besides our own? */
static int can_hook(enum ggml_use use)
{
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (ggml_symbols[i].use == use && ggml_symbols[i].need == GGML_MUST &&
			!resolve_exists((enum ggml_symbol_id)i))
			return 0;
	return 1;
}

void method_scheduler_made(int cpu_only)
{
	if (!cpu_only)
		__atomic_store_n(&has_device, 1, __ATOMIC_RELAXED);
	if (!may_choose() || can_hook(GGML_FOR_NODES))
		return;
	use(cpu_only ? METHOD_CALLBACK : METHOD_GRAPHS);
	method_note();
}

void method_graph_computed(int nodes, uint32_t seen)
{
	if (!may_choose() || nodes <= 0)
		return;
	use(seen ? METHOD_NODES : method_cpu_only() ? METHOD_CALLBACK : METHOD_GRAPHS);
	method_note();
}

void method_note(void)
{
	static const char *const texts[] = {
		[METHOD_NODES] = "node hooks",
		[METHOD_CALLBACK] = "eval callback: it splits the graph, times are inflated",
		[METHOD_GRAPHS] = "graphs only: no node is timed",
		[METHOD_PLAIN] = "node hooks",
	};
	uint32_t method = shared_get(&attach_shared.method);
	char text[96];

	if (brick_thread_ready())
		return;
	strcpy(text, texts[method]);
	if (is_forced)
		strcat(text, " (BRICK_ATTACH)");
	note_once("attach", "%s", text);
}
