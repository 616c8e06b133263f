/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases inside of llama.cpp's own C++ functions, which its library calls through its PLT or its
 * virtual tables. Versions that lack one simply never call its hook.
 */
#include "attach/ggml/hook_words.h"

PHASE_HOOK(hook_sched_reserve, "_ZN13llama_context13sched_reserveEv", PHASE_GRAPH_ALLOC)
PHASE_HOOK(hook_memory_update, "_ZN13llama_context13memory_updateEb", PHASE_KV_PREPARE)
PHASE_HOOK(hook_output_reserve, "_ZN13llama_context14output_reserveEi", PHASE_BATCH_PREPARE)
PHASE_HOOK(hook_process_ubatch,
	"_ZN13llama_context14process_ubatchERK12llama_ubatch14llm_graph_type"
	"P22llama_memory_context_iR11ggml_status",
	PHASE_UBATCH)
PHASE_HOOK(hook_apply_ubatch, "_ZN14llama_kv_cache12apply_ubatchERKNS_9slot_infoERK12llama_ubatch",
	PHASE_KV_PREPARE)
PHASE_HOOK(hook_kv_context_destroy, "_ZN22llama_kv_cache_contextD1Ev", PHASE_KV_PREPARE)
PHASE_HOOK(
	hook_can_reuse, "_ZN16llm_graph_result9can_reuseERK16llm_graph_params", PHASE_GRAPH_BUILD)
PHASE_HOOK(hook_result_reset, "_ZN16llm_graph_result5resetEv", PHASE_GRAPH_BUILD)
PHASE_HOOK(
	hook_build_graph, "_ZNK11llama_model11build_graphERK16llm_graph_params", PHASE_GRAPH_BUILD)
PHASE_HOOK(hook_set_inputs, "_ZN16llm_graph_result10set_inputsEPK12llama_ubatch", PHASE_INPUT_COPY)
PHASE_HOOK(hook_context_graph_compute, "_ZN13llama_context13graph_computeEP11ggml_cgraphb",
	PHASE_GRAPH_COMPUTE)
WAIT_HOOK(hook_context_synchronize, "_ZN13llama_context11synchronizeEv")
WAIT_HOOK(hook_synchronize, "llama_synchronize")
