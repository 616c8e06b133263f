/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of ggml and llama.cpp that Brick hooks, in one table. The hooks are made from it
 * (attach/ggml/), the way to time nodes is chosen by it, and `brick doctor` tells by it what a set
 * of libraries offers. To hook another function, add a row; a TYPED or WORDS row also needs its
 * hook.
 *
 * A row: kind, id, symbol, library, use, need, phase, gives.
 *   kind     how the hook is written. By hand: TYPED with the engine's own prototype, WORDS with
 *            words for arguments. Made from the row: PHASE, a phase around the call; WAIT, the same
 *            unless all backends compute on the CPU; HIDDEN, a PHASE for a function that returns a
 *            structure; STACK, a PHASE for a function with more than six words of arguments. HIDDEN
 *            and STACK hooks exist only where the CPU passes a hidden result pointer as an ordinary
 *            argument.
 *   library  whose calls of the symbol reach the hook through the dynamic linker
 *   use      see enum ggml_use
 *   need     MUST: its use does not work without the symbol; MAY: else
 *   phase    of enum phase, without its prefix; NONE
 *   gives    what the symbol offers, for `brick doctor`; NULL: a detail that it does not list
 */
#pragma once

#include <stdbool.h>
#include "attach/patch/patch_name.h"

/* clang-format off */
#define GGML_SYMBOLS(X) \
X(TYPED, NODE_FORWARD, "ggml_cpu_extra_compute_forward", CPU, NODES, MUST, NONE, \
	"begin of each node on each thread") \
X(TYPED, BARRIER, "ggml_barrier", CPU, NODES, MUST, NONE, \
	"end of nodes, and waiting apart from work") \
X(TYPED, FUSED_FORWARD, "ggml_compute_forward_rms_norm_mul_fused", CPU, NODES, MAY, NONE, \
	"the fused norm") \
X(TYPED, COMPUTE_FORWARD, "ggml_compute_forward", CPU, NODES, MAY, NONE, \
	"each node where the hooks above are not there, as before 2025 or link-time optimised") \
X(WORDS, GRAPH_COMPUTE, "ggml_graph_compute", CPU, GRAPHS, MAY, NONE, "graphs") \
X(WORDS, SCHED_ALLOC_GRAPH, "ggml_backend_sched_alloc_graph", LLAMA, PHASES, MAY, NONE, \
	"allocation") \
X(PHASE, TENSOR_SET, "ggml_backend_tensor_set", LLAMA, PHASES, MAY, INPUT_COPY, "input copies") \
X(PHASE, TENSOR_GET_ASYNC, "ggml_backend_tensor_get_async", LLAMA, PHASES, MAY, OUTPUT_COPY, \
	"output copies") \
X(WORDS, DECODE, "llama_decode", PROGRAM, STEPS, MAY, NONE, "steps") \
X(WORDS, CONTEXT_DECODE, "_ZN13llama_context6decodeERK11llama_batch", LLAMA, STEPS, MAY, NONE, \
	"steps of callers that look symbols up") \
X(WORDS, SAMPLER_SAMPLE, "llama_sampler_sample", PROGRAM, PHASES, MAY, SAMPLING, "sampling") \
X(PHASE, SAMPLER_APPLY, "llama_sampler_apply", PROGRAM, PHASES, MAY, SAMPLING, "sampling") \
/* Backends of devices. */ \
X(TYPED, IS_EMPTY, "ggml_is_empty", DEVICE, DEVICES, MAY, NONE, \
	"which node a device is given next") \
X(PHASE, TENSOR_COPY, "ggml_backend_tensor_copy", BASE, PHASES, MAY, SPLIT_COPY, NULL) \
/* Steps. */ \
X(WORDS, ENCODE, "llama_encode", PROGRAM, STEPS, MAY, NONE, NULL) \
X(WORDS, SET_WARMUP, "llama_set_warmup", PROGRAM, STEPS, MAY, NONE, NULL) \
X(WORDS, CONTEXT_WARMUP, "_ZN13llama_context10set_warmupEb", LLAMA, STEPS, MAY, NONE, NULL) \
X(WORDS, MEMORY_SEQ_ADD, "llama_memory_seq_add", PROGRAM, STEPS, MAY, NONE, NULL) \
X(WORDS, MEMORY_SEQ_RM, "llama_memory_seq_rm", PROGRAM, STEPS, MAY, NONE, NULL) \
/* Changes of sequences, by the names that versions had for them. */ \
X(WORDS, MEMORY_SEQ_CP, "llama_memory_seq_cp", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, MEMORY_SEQ_KEEP, "llama_memory_seq_keep", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, MEMORY_CLEAR, "llama_memory_clear", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_SELF_SEQ_RM, "llama_kv_self_seq_rm", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_SELF_SEQ_CP, "llama_kv_self_seq_cp", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_SELF_SEQ_KEEP, "llama_kv_self_seq_keep", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_SELF_SEQ_ADD, "llama_kv_self_seq_add", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_SELF_CLEAR, "llama_kv_self_clear", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_CACHE_SEQ_RM, "llama_kv_cache_seq_rm", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_CACHE_SEQ_CP, "llama_kv_cache_seq_cp", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_CACHE_SEQ_KEEP, "llama_kv_cache_seq_keep", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_CACHE_SEQ_ADD, "llama_kv_cache_seq_add", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, KV_CACHE_CLEAR, "llama_kv_cache_clear", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_SET, "llama_state_set_data", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_LOAD_FILE, "llama_state_load_file", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_SEQ_SET, "llama_state_seq_set_data", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_SEQ_SET_EXT, "llama_state_seq_set_data_ext", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_SEQ_LOAD_FILE, "llama_state_seq_load_file", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_GET, "llama_state_get_data", PROGRAM, PHASES, MAY, NONE, NULL) \
X(PHASE, STATE_SAVE_FILE, "llama_state_save_file", PROGRAM, PHASES, MAY, STATE_SAVE, NULL) \
X(WORDS, STATE_SEQ_GET, "llama_state_seq_get_data", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, STATE_SEQ_GET_EXT, "llama_state_seq_get_data_ext", PROGRAM, PHASES, MAY, NONE, NULL) \
X(PHASE, STATE_SEQ_SAVE_FILE, "llama_state_seq_save_file", PROGRAM, PHASES, MAY, STATE_SAVE, \
	NULL) \
X(WORDS, FREE, "llama_free", PROGRAM, PHASES, MAY, NONE, NULL) \
X(WORDS, CONTEXT_ENCODE, "_ZN13llama_context6encodeERK11llama_batch", LLAMA, STEPS, MAY, NONE, \
	NULL) \
/* Graphs and who computes them. */ \
X(WORDS, SCHED_NEW, "ggml_backend_sched_new", LLAMA, CALLBACK, MAY, NONE, NULL) \
X(WORDS, SCHED_COMPUTE, "ggml_backend_sched_graph_compute_async", LLAMA, CALLBACK, MUST, NONE, \
	NULL) \
X(WORDS, SCHED_COMPUTE_WAIT, "ggml_backend_sched_graph_compute", LLAMA, PHASES, MAY, NONE, NULL) \
X(TYPED, SCHED_SET_CALLBACK, "ggml_backend_sched_set_eval_callback", LLAMA, CALLBACK, MUST, NONE, \
	NULL) \
X(WORDS, BACKEND_COMPUTE, "ggml_backend_graph_compute_async", BASE, GRAPHS, MAY, NONE, NULL) \
X(WORDS, GRAPH_PLAN, "ggml_graph_plan", CPU, PHASES, MAY, NONE, NULL) \
X(PHASE, SCHED_RESET, "ggml_backend_sched_reset", LLAMA, PHASES, MAY, GRAPH_ALLOC, NULL) \
X(PHASE, SCHED_RESERVE, "ggml_backend_sched_reserve", LLAMA, PHASES, MAY, GRAPH_ALLOC, NULL) \
/* Loading a model, by llama.cpp's own C++ functions. */ \
X(PHASE, FILE_OPEN, "_ZN10llama_fileC1EPKcS1_b", LLAMA, PHASES, MAY, MODEL_OPEN, NULL) \
X(PHASE, FILE_OPEN_2, "_ZN10llama_fileC1EPKcS1_", LLAMA, PHASES, MAY, MODEL_OPEN, NULL) \
X(PHASE, FILE_MAP, "_ZN10llama_mmapC1EP10llama_filembRKSt6vectorISt4pairImmESaIS4_EE", LLAMA, \
	PHASES, MAY, MODEL_MAP, NULL) \
X(PHASE, FILE_MAP_2, "_ZN10llama_mmapC1EP10llama_filemb", LLAMA, PHASES, MAY, MODEL_MAP, NULL) \
X(PHASE, FILE_READ, "_ZN10llama_file8read_rawEPvm", LLAMA, PHASES, MAY, MODEL_READ, NULL) \
X(PHASE, FILE_READ_UNSAFE, "_ZN10llama_file15read_raw_unsafeEPvm", LLAMA, PHASES, MAY, \
	MODEL_READ, NULL) \
X(PHASE, FILE_READ_2, "_ZNK10llama_file8read_rawEPvm", LLAMA, PHASES, MAY, MODEL_READ, NULL) \
X(PHASE, FILE_LOCK, "_ZN11llama_mlock7grow_toEm", LLAMA, PHASES, MAY, MODEL_LOCK, NULL) \
X(PHASE, HEAD_READ, "gguf_init_from_file", LLAMA, PHASES, MAY, MODEL_OPEN, NULL) \
/* Memory. */ \
X(WORDS, BUFFER_INIT, "ggml_backend_buffer_init", BASE, PHASES, MAY, NONE, NULL) \
X(WORDS, BUFFER_FREE, "ggml_backend_buffer_free", BASE, PHASES, MAY, NONE, NULL) \
X(WORDS, BUFFER_USAGE, "ggml_backend_buffer_set_usage", BASE, PHASES, MAY, NONE, NULL) \
X(WORDS, ALLOC_TENSORS, "ggml_backend_alloc_ctx_tensors_from_buft", LLAMA, PHASES, MAY, NONE, \
	NULL) \
X(WORDS, ALLOC_BUFFER, "ggml_backend_buft_alloc_buffer", LLAMA, PHASES, MAY, NONE, NULL) \
/* Copies, and waiting for a backend: C functions of all versions. */ \
X(PHASE, TENSOR_SET_ASYNC, "ggml_backend_tensor_set_async", LLAMA, PHASES, MAY, INPUT_COPY, NULL) \
X(PHASE, TENSOR_GET, "ggml_backend_tensor_get", LLAMA, PHASES, MAY, OUTPUT_COPY, NULL) \
X(WAIT, BACKEND_SYNCHRONIZE, "ggml_backend_synchronize", BASE, PHASES, MAY, NONE, NULL) \
X(WAIT, SCHED_SYNCHRONIZE, "ggml_backend_sched_synchronize", LLAMA, PHASES, MAY, NONE, NULL) \
X(WAIT, SYNCHRONIZE, "llama_synchronize", PROGRAM, PHASES, MAY, NONE, NULL) \
/* Choosing the next token, from fetching the logits on. */ \
X(PHASE, SAMPLER_ACCEPT, "llama_sampler_accept", PROGRAM, PHASES, MAY, TOKEN_ACCEPT, NULL) \
X(PHASE, GET_LOGITS, "llama_get_logits", PROGRAM, PHASES, MAY, SAMPLING, NULL) \
X(PHASE, GET_LOGITS_ITH, "llama_get_logits_ith", PROGRAM, PHASES, MAY, SAMPLING, NULL) \
X(PHASE, CONTEXT_GET_LOGITS_ITH, "_ZN13llama_context14get_logits_ithEi", LLAMA, PHASES, MAY, \
	SAMPLING, NULL) \
/* llama.cpp's programs, and addons that are made of their parts. */ \
X(WORDS, COMMON_SAMPLE, "_Z21common_sampler_sampleP14common_samplerP13llama_contextib", PROGRAM, \
	PHASES, MAY, SAMPLING, NULL) \
X(PHASE, COMMON_ACCEPT, "_Z21common_sampler_acceptP14common_samplerib", PROGRAM, PHASES, MAY, \
	TOKEN_ACCEPT, NULL) \
/* llama.cpp's own C++ functions; versions that lack one simply never call its hook. */ \
X(PHASE, CONTEXT_RESERVE, "_ZN13llama_context13sched_reserveEv", LLAMA, PHASES, MAY, \
	GRAPH_ALLOC, NULL) \
X(PHASE, MEMORY_UPDATE, "_ZN13llama_context13memory_updateEb", LLAMA, PHASES, MAY, \
	KV_PREPARE, NULL) \
X(PHASE, OUTPUT_RESERVE, "_ZN13llama_context14output_reserveEi", LLAMA, PHASES, MAY, \
	BATCH_PREPARE, NULL) \
X(PHASE, PROCESS_UBATCH, "_ZN13llama_context14process_ubatchERK12llama_ubatch14llm_graph_type" \
	"P22llama_memory_context_iR11ggml_status", LLAMA, PHASES, MAY, UBATCH, NULL) \
X(PHASE, APPLY_UBATCH, "_ZN14llama_kv_cache12apply_ubatchERKNS_9slot_infoERK12llama_ubatch", \
	LLAMA, PHASES, MAY, KV_PREPARE, NULL) \
X(PHASE, KV_CONTEXT_DESTROY, "_ZN22llama_kv_cache_contextD1Ev", LLAMA, PHASES, MAY, \
	KV_PREPARE, NULL) \
X(PHASE, CAN_REUSE, "_ZN16llm_graph_result9can_reuseERK16llm_graph_params", LLAMA, PHASES, MAY, \
	GRAPH_BUILD, NULL) \
X(PHASE, RESULT_RESET, "_ZN16llm_graph_result5resetEv", LLAMA, PHASES, MAY, GRAPH_BUILD, NULL) \
X(PHASE, BUILD_GRAPH, "_ZNK11llama_model11build_graphERK16llm_graph_params", LLAMA, PHASES, MAY, \
	GRAPH_BUILD, NULL) \
X(PHASE, SET_INPUTS, "_ZN16llm_graph_result10set_inputsEPK12llama_ubatch", LLAMA, PHASES, MAY, \
	INPUT_COPY, NULL) \
X(PHASE, CONTEXT_COMPUTE, "_ZN13llama_context13graph_computeEP11ggml_cgraphb", LLAMA, PHASES, \
	MAY, GRAPH_COMPUTE, NULL) \
X(WAIT, CONTEXT_SYNCHRONIZE, "_ZN13llama_context11synchronizeEv", LLAMA, PHASES, MAY, NONE, NULL) \
X(HIDDEN, GRAPH_PARAMS, "_ZNK13llama_context12graph_paramsEP16llm_graph_resultRK12llama_ubatch" \
	"PK22llama_memory_context_i14llm_graph_type", LLAMA, PHASES, MAY, GRAPH_BUILD, NULL) \
X(HIDDEN, KV_INIT_BATCH, "_ZN14llama_kv_cache10init_batchER18llama_batch_allocrjb", LLAMA, \
	PHASES, MAY, KV_PREPARE, NULL) \
X(HIDDEN, KV_ISWA_INIT_BATCH, "_ZN19llama_kv_cache_iswa10init_batchER18llama_batch_allocrjb", \
	LLAMA, PHASES, MAY, KV_PREPARE, NULL) \
X(HIDDEN, RECURRENT_INIT_BATCH, \
	"_ZN22llama_memory_recurrent10init_batchER18llama_batch_allocrjb", LLAMA, PHASES, MAY, \
	KV_PREPARE, NULL) \
X(HIDDEN, HYBRID_INIT_BATCH, "_ZN19llama_memory_hybrid10init_batchER18llama_batch_allocrjb", \
	LLAMA, PHASES, MAY, KV_PREPARE, NULL) \
X(STACK, BATCH_INIT, "_ZN18llama_batch_allocr4initERK11llama_batchRK11llama_vocab" \
	"PK14llama_memory_ijjb", LLAMA, PHASES, MAY, BATCH_PREPARE, NULL)
/* clang-format on */

#define GGML_SYMBOL_ID(kind, id, ...) GGML_##id,
enum ggml_symbol_id { GGML_SYMBOLS(GGML_SYMBOL_ID) GGML_SYMBOL_COUNT };
#undef GGML_SYMBOL_ID

enum ggml_library {
	GGML_IN_CPU,	/* the CPU backend calls it, of itself */
	GGML_IN_DEVICE, /* the backend of a device, once per node before it launches its kernels */
	GGML_IN_BASE,	/* the scheduler's library */
	GGML_IN_LLAMA,	/* llama.cpp's library */
	GGML_IN_PROGRAM /* the program that uses llama.cpp */
};

enum ggml_use {
	GGML_FOR_NODES,	   /* timing each node on each thread */
	GGML_FOR_CALLBACK, /* timing nodes by the scheduler's evaluation callback */
	GGML_FOR_GRAPHS,   /* timing whole graphs */
	GGML_FOR_DEVICES,  /* finding the node of a device's kernel */
	GGML_FOR_STEPS,	   /* steps; one such symbol is enough */
	GGML_FOR_PHASES,   /* the engine's work around its nodes */
};

enum ggml_need { GGML_MAY, GGML_MUST };

struct ggml_symbol {
	const char *name;
	enum ggml_library library;
	enum ggml_use use;
	enum ggml_need need;
	const char *gives;
};

/* By id; constant. */
extern const struct ggml_symbol ggml_symbols[GGML_SYMBOL_COUNT];

/* Fill the names, by id, of the functions to patch if the dynamic linker has no part in calls. */
void ggml_symbols_names(struct patch_name names[GGML_SYMBOL_COUNT]);

/* Ways to time nodes where these functions can be hooked; a recording and `doctor` go by them. */
enum ggml_way {
	GGML_WAY_NODES,	   /* each on each thread, without splitting the graph */
	GGML_WAY_CALLBACK, /* by the scheduler's evaluation callback, which splits it */
	GGML_WAY_GRAPHS,   /* whole graphs, or steps */
	GGML_WAY_NONE,
};

/*
 * The best way by the symbols that were found (reached[id] is 1). cpu_only: all backends compute on
 * the CPU; if not, a callback would make the others wait. digests: the recorder wants digests,
 * which need ggml_barrier(), so ggml_compute_forward() cannot stand in.
 */
enum ggml_way ggml_way_of(const char reached[GGML_SYMBOL_COUNT], bool cpu_only, bool digests);
