/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of ggml_symbols.h as data, and functions of them. */
#include "attach/rules/ggml_symbols.h"

#include <stddef.h>
#include <string.h>

#define SYMBOL(kind, id, symbol, library, use, need, phase, gives) \
	[GGML_##id] = {symbol, GGML_IN_##library, GGML_FOR_##use, GGML_##need, gives},

const struct ggml_symbol ggml_symbols[GGML_SYMBOL_COUNT] = {GGML_SYMBOLS(SYMBOL)};

/*
 * True if this function belongs to a backend that computes on a device. Without one nobody has to
 * know which tensor's emptiness is asked for, which happens three times for each node.
 */
static int ggml_symbols_is_of_device(const char *function)
{
	static const char *const others[] = {"cpu_reg", "blas_reg", "dev_backend_reg"};
	static const char prefix[] = "ggml_backend_";
	size_t length = strlen(function);

	if (strncmp(function, prefix, sizeof(prefix) - 1) || length < sizeof(prefix) + 4)
		return 0;
	const char *name = function + sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(name, others[i]))
			return 0;
	return !strcmp(function + length - 4, "_reg") || !strcmp(name, "cuda_init") ||
	       !strcmp(name, "vk_init"); /* before there was a registry */
}

void ggml_symbols_names(struct patch_name names[GGML_SYMBOL_COUNT])
{
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		names[i] = (struct patch_name){.name = ggml_symbols[i].name,
			.group = (int)ggml_symbols[i].use,
			.is_needed = ggml_symbols[i].need == GGML_MUST};
	names[GGML_COMPUTE_FORWARD].stands_in = names[GGML_NODE_FORWARD].is_replaced = true;
	names[GGML_BARRIER].can_keep = names[GGML_IS_EMPTY].can_keep = true;
	names[GGML_IS_EMPTY].is_wanted_with = ggml_symbols_is_of_device;
	names[GGML_GRAPH_PLAN].is_sign = names[GGML_SCHED_NEW].is_sign = true;
	names[GGML_CONTEXT_DECODE].is_sign = names[GGML_COMPUTE_FORWARD].is_sign = true;
	names[GGML_COMMON_SAMPLE].is_sign = true; /* libllama-common has no other */
}

/* True if all functions that this use must have are there. */
static bool has_all(const char reached[GGML_SYMBOL_COUNT], enum ggml_use use)
{
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (ggml_symbols[i].use == use && ggml_symbols[i].need == GGML_MUST && !reached[i])
			return false;
	return true;
}

enum ggml_way ggml_way_of(const char reached[GGML_SYMBOL_COUNT], bool cpu_only, bool digests)
{
	if (has_all(reached, GGML_FOR_NODES) || (reached[GGML_COMPUTE_FORWARD] && !digests))
		return GGML_WAY_NODES;
	if (cpu_only && has_all(reached, GGML_FOR_CALLBACK))
		return GGML_WAY_CALLBACK;
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (reached[i] && (ggml_symbols[i].use == GGML_FOR_GRAPHS ||
					  ggml_symbols[i].use == GGML_FOR_CALLBACK ||
					  ggml_symbols[i].use == GGML_FOR_STEPS))
			return GGML_WAY_GRAPHS;
	return GGML_WAY_NONE;
}
