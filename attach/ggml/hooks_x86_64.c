/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases in functions that return structures through a hidden pointer, or take more arguments than
 * fit into six registers. On x86-64 the hidden pointer is simply the first word; other machines
 * pass it where C cannot reach it, so this file is built for x86-64 only.
 */
#include "attach/ggml/hook_words.h"
#include "attach/ggml/site_table.h"

/* (plan, graph, threads, pool); says early whether sites need twins. */
WORDS_HOOK(hook_graph_plan, "ggml_graph_plan")
{
	static struct resolve_symbol original = {"ggml_graph_plan", NULL};
	words_fn function = (words_fn)resolve(&original, __builtin_return_address(0));
	struct phase_scope scope;

	if (!function)
		return 0;
	if ((int)c > 1)
		__atomic_store_n(&site_table_wants_parts, 1, __ATOMIC_RELAXED);
	phase_begin(&scope, PHASE_GRAPH_PLAN, __builtin_frame_address(0));
	word_pair result = function(a, b, c, d, e, f);
	phase_end(&scope);
	return result;
}

PHASE_HOOK(hook_graph_params,
	"_ZNK13llama_context12graph_paramsEP16llm_graph_resultRK12llama_ubatch"
	"PK22llama_memory_context_i14llm_graph_type",
	PHASE_GRAPH_BUILD)
PHASE_HOOK(hook_kv_init_batch, "_ZN14llama_kv_cache10init_batchER18llama_batch_allocrjb",
	PHASE_KV_PREPARE)
PHASE_HOOK(hook_kv_iswa_init_batch, "_ZN19llama_kv_cache_iswa10init_batchER18llama_batch_allocrjb",
	PHASE_KV_PREPARE)
PHASE_HOOK(hook_recurrent_init_batch,
	"_ZN22llama_memory_recurrent10init_batchER18llama_batch_allocrjb", PHASE_KV_PREPARE)
PHASE_HOOK(hook_hybrid_init_batch, "_ZN19llama_memory_hybrid10init_batchER18llama_batch_allocrjb",
	PHASE_KV_PREPARE)

#define BATCH_INIT \
	"_ZN18llama_batch_allocr4initERK11llama_batchRK11llama_vocabPK14llama_memory_ijjb"

/* Seven words; an eighth on the stack is read and passed on for nothing. */
typedef word_pair (*eight_words_fn)(word, word, word, word, word, word, word, word);

BRICK_API word_pair hook_batch_init(
	word a, word b, word c, word d, word e, word f, word g, word h) __asm__(BATCH_INIT);
word_pair hook_batch_init(word a, word b, word c, word d, word e, word f, word g, word h)
{
	static struct resolve_symbol original = {BATCH_INIT, NULL};
	eight_words_fn function = (eight_words_fn)resolve(&original, __builtin_return_address(0));
	struct phase_scope scope;

	if (!function)
		return 0;
	phase_begin(&scope, PHASE_BATCH_PREPARE, __builtin_frame_address(0));
	word_pair result = function(a, b, c, d, e, f, g, h);
	phase_end(&scope);
	return result;
}
