/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule files: patterns, what the parser accepts and how it refuses, which rule wins, and what
 * Brick's own rules make of the nodes of the model families that they name.
 */
#include "attach/rules/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "brick/error.h"

#define DEFAULT_RULES BRICK_SOURCE_DIR "/src/attach/rules/ggml-llama.rules"

static void assert_matches(const char *pattern, const char *text, int expected, int number)
{
	int got = -7;

	if (rules_pattern_matches(pattern, text, &got) != expected)
		fail_msg("\"%s\" %s \"%s\"", pattern, expected ? "misses" : "matches", text);
	assert_int_equal(got, number);
}

static void patterns_match_whole_texts(void **state)
{
	(void)state;
	assert_matches("", "", 1, -7);
	assert_matches("*", "", 1, -7);
	assert_matches("*", "anything at all", 1, -7);
	assert_matches("abc", "abc", 1, -7);
	assert_matches("abc", "abcd", 0, -7);
	assert_matches("abc", "ab", 0, -7);
	assert_matches("a?c", "abc", 1, -7);
	assert_matches("a?c", "ac", 0, -7);
	assert_matches("*attn_q.*", "blk.3.attn_q.weight", 1, -7);
	assert_matches("*attn_q.*", "blk.3.attn_qkv.weight", 0, -7);
	assert_matches("*a*b*c", "xxaxxbxxbxxc", 1, -7);
	assert_matches("*a*b*c", "xxaxxbxxbxxd", 0, -7);
	assert_matches("kq|kqv", "kqv", 1, -7);
	assert_matches("kq|kqv", "kq|kqv", 0, -7);
}

static void numbers_are_whole(void **state)
{
	(void)state;
	assert_matches("*-#", "Qcur-12", 1, 12);
	assert_matches("*-#", "a-b-7", 1, 7);
	assert_matches("*-#", "node_12", 0, -7);
	assert_matches("*#x", "12x", 1, 12);
	assert_matches("*#2", "12", 0, -7); /* not "1" as the number and "2" as itself */
	assert_matches("blk.#.*", "blk.0.attn_q.weight", 1, 0);
	assert_matches("blk.#.*", "blk.99999.w", 0, -7);
	assert_matches("blk.#.*", "blk.123456789012345678901.w", 0, -7);
	assert_matches("cache_?_l#?*", "cache_v_l31 (view)", 1, 31);
}

static void long_patterns_take_linear_time(void **state)
{
	char text[4096], pattern[256];

	(void)state;
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (size_t i = 0; i + 2 < sizeof pattern; i += 2)
		memcpy(pattern + i, "a*", 3);
	strcpy(pattern + sizeof pattern - 3, "b");
	assert_matches(pattern, text, 0, -7); /* would not end in our days otherwise */
}

static int parse(struct rules **rules, const char *text, struct rules_error *error)
{
	return rules_parse(rules, text, strlen(text), error);
}

static void assert_refused(const char *text, uint32_t line, const char *part)
{
	struct rules *rules = NULL;
	struct rules_error error;

	assert_int_equal(parse(&rules, text, &error), BRICK_EFORMAT);
	assert_null(rules);
	assert_int_equal(error.line, line);
	if (!strstr(error.text, part))
		fail_msg("\"%s\" does not say \"%s\"", error.text, part);
}

static void faults_are_named_by_line(void **state)
{
	(void)state;
	assert_refused("", 1, "missing");
	assert_refused("node * * * RmsNorm\n", 1, "brick-rules 1");
	assert_refused("brick-rules 2\n", 1, "brick-rules 1");
	assert_refused("brick-rules 1\n\n# text\nnode * * *\n", 4, "node needs");
	assert_refused("brick-rules 1\nnode * * * RmsNorm Norm more\n", 2, "node needs");
	assert_refused("brick-rules 1\nnode * * * RmsNrom\n", 2, "RmsNrom");
	assert_refused("brick-rules 1\nnode * * * RmsNorm FFN\n", 2, "of category Norm");
	assert_refused("brick-rules 1\nnode * * * Mine FFN\nnode * * * Mine Norm\n", 3, "FFN");
	assert_refused("brick-rules 1\nlayer blk.*\n", 2, "'#'");
	assert_refused("brick-rules 1\r\nnoed * * * X Y\r\n", 2, "noed");
	assert_refused("brick-rules 1\nnode * * * "
		       "aNameThatIsLongerThanFortySevenBytesWhichIsTooMuch Other\n",
		2, "longer");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static const char text[] = "brick-rules 1\nnode \0 * * RmsNorm\n";
	struct rules *rules = NULL;
	struct rules_error error;

	(void)state;
	assert_int_equal(rules_parse(&rules, text, sizeof text - 1, &error), BRICK_EFORMAT);
	assert_null(rules);
	assert_int_equal(rules_load(&rules, "/nonexistent/file", &error), -2);
	assert_int_equal(error.line, 0);
}

/* What a set of rules says of a node: "Brick/Category/layer". */
static const char *judge(const struct rules *rules, const char *operation, const char *name, ...)
{
	static char text[128];
	struct rules_source sources[8];
	struct rules_node node = {operation, name, sources, 0};
	struct rules_verdict v;
	va_list list;

	va_start(list, name);
	for (const char *s; (s = va_arg(list, const char *));)
		sources[node.source_count++] = (struct rules_source){s, va_arg(list, const char *)};
	va_end(list);
	rules_apply(rules, &node, &v);
	snprintf(text, sizeof text, "%s/%s/%d", v.brick ? v.brick : "?",
		v.category ? v.category : "", v.layer);
	return text;
}

static void the_first_rule_wins(void **state)
{
	struct rules *rules;
	struct rules_error error;

	(void)state;
	assert_int_equal(parse(&rules,
				 "# mine\nbrick-rules 1\n"
				 "layer L#\n layer *-#\n"
				 "node MUL_MAT|ADD kq* * Mine FFN\n"
				 "node MUL_MAT * @RMS_NORM RmsNorm\n"
				 "node MUL_MAT * w.* Mine\n"
				 "node * odd * Embedding",
				 &error),
		0);
	assert_false(rules_defaults_off(rules));
	assert_string_equal(judge(rules, "MUL_MAT", "kq-3", NULL), "Mine/FFN/3");
	assert_string_equal(judge(rules, "MUL", "kq-3", NULL), "?//3");
	assert_string_equal(judge(rules, "MUL_MAT", "x", "n", "RMS_NORM", NULL), "RmsNorm//-1");
	assert_string_equal(
		judge(rules, "MUL_MAT", "x", "L9", "NONE", "w.q", "NONE", NULL), "Mine/FFN/9");
	assert_string_equal(judge(rules, "ROPE", "odd", "b-4", "NONE", NULL), "Embedding//4");
	/* The first layer pattern decides, the node's own name before its sources'. */
	assert_string_equal(judge(rules, "ROPE", "odd-1", "L9", "NONE", NULL), "?//9");
	assert_string_equal(judge(rules, "ROPE", "odd-1", "b-4", "NONE", NULL), "?//1");
	rules_destroy(rules);
	rules_destroy(NULL);
}

static void what_is_outside_lies_in_no_layer(void **state)
{
	struct rules *rules;
	struct rules_error error;

	(void)state;
	assert_int_equal(
		parse(&rules, "brick-rules 1\nlayer *-#\noutside norm-#\noutside * mm.*|post.*\n",
			&error),
		0);
	assert_string_equal(judge(rules, "NORM", "norm-3", "out-2", "ADD", NULL), "?//-1");
	assert_string_equal(judge(rules, "MUL_MAT", "up", "norm-3", "ADD", NULL), "?//3");
	assert_string_equal(
		judge(rules, "MUL_MAT", "up-3", "out-2", "ADD", "mm.0", "NONE", NULL), "?//-1");
	rules_destroy(rules);
	assert_refused("brick-rules 1\noutside a b c\n", 2, "NAME [SOURCE]");
}

static void defaults_can_be_switched_off(void **state)
{
	struct rules *rules;
	struct rules_error error;

	(void)state;
	assert_int_equal(parse(&rules, "brick-rules 1\ndefaults-off\n", &error), 0);
	assert_true(rules_defaults_off(rules));
	rules_destroy(rules);
}

static int load_defaults(void **state)
{
	struct rules *rules;
	struct rules_error error;

	if (rules_load(&rules, DEFAULT_RULES, &error)) {
		print_error("%s:%u: %s\n", DEFAULT_RULES, error.line, error.text);
		return -1;
	}
	*state = rules;
	return 0;
}

static int unload_defaults(void **state)
{
	rules_destroy(*state);
	return 0;
}

#define N "NONE"
#define V "VIEW"
#define expect(text, ...) assert_string_equal(judge(*state, __VA_ARGS__, NULL), text)

static void llama(void **state)
{
	expect("Embedding//-1", "GET_ROWS", "embd", "token_embd.weight", N, "inp_tokens", N);
	expect("Embedding//-1", "GET_ROWS", "inp_embd", "token_embd.weight", N);
	expect("RmsNorm//2", "RMS_NORM+MUL", "attn_norm-2", "l_out-1", "ADD",
		"blk.2.attn_norm.weight", N);
	expect("RmsNorm//0", "RMS_NORM", "norm-0", "embd", "GET_ROWS");
	expect("RmsNorm//4", "MUL", "ffn_norm-4", "norm-4", "RMS_NORM", "blk.4.ffn_norm.weight", N);
	expect("RmsNorm//-1", "RMS_NORM+MUL", "result_norm", "l_out-5", "ADD", "output_norm.weight",
		N);
	expect("QkvProjection//1", "MUL_MAT", "Qcur-1", "blk.1.attn_q.weight", N, "attn_norm-1",
		"MUL");
	expect("QkvProjection//1", "MUL_MAT", "node_9", "blk.1.attn_v.weight", N, "attn_norm-1",
		"MUL");
	expect("QkvProjection//1", "ADD", "Qcur-1", "Qcur-1", "MUL_MAT", "blk.1.attn_q.bias", N);
	expect("QkvProjection//7", "MUL_MAT", "wqkv-7", "blk.7.attn_qkv.weight", N);
	expect("RopeEmbedding//3", "ROPE", "Kcur-3", "Kcur-3 (reshaped)", "RESHAPE", "inp_pos", N);
	expect("KvCacheWrite//3", "SET_ROWS", "cache_k_l3 (view)", "Kcur-3 (view)", V, "leaf_9", N,
		"cache_k_l3", N);
	expect("KvCacheWrite//5", "CPY", "k_cache_view-5 (copy of Kcur-5)", "Kcur-5", "ROPE",
		"k_cache_view-5", V);
	expect("FlashAttention//0", "FLASH_ATTN_EXT", "node_21", "Qcur-0 (view) (permuted)",
		"PERMUTE", "cache_k_l0 (view) (permuted)", "PERMUTE");
	expect("FlashAttention//0", "FLASH_ATTN_EXT", "__fattn__-0", "q", N);
	expect("AttentionScore//2", "MUL_MAT", "kq-2", "cache_k_l2 (view)", V, "Qcur-2", "ROPE");
	expect("AttentionSoftmax//2", "SOFT_MAX", "kq_soft_max-2", "kq-2", "MUL_MAT", "KQ_mask", N);
	expect("AttentionOutput//2", "MUL_MAT", "kqv-2", "cache_v_l2 (view)", V, "kq_soft_max-2",
		"SOFT_MAX");
	expect("AttentionOutput//2", "CONT", "kqv_out-2", "kqv-2 (permuted)", "PERMUTE");
	/* of 2025: the products have no names */
	expect("AttentionScore//2", "MUL_MAT", "node_58", "cache_k_l2 (view) (permuted)", "PERMUTE",
		"Qcur-2 (permuted)", "PERMUTE");
	expect("AttentionSoftmax//-1", "SOFT_MAX", "node_59", "node_58", "MUL_MAT", "KQ_mask", N);
	expect("AttentionOutput//2", "MUL_MAT", "node_60", "cache_v_l2 (view) (permuted)",
		"PERMUTE", "node_59", "SOFT_MAX");
	expect("OutputProjection//2", "MUL_MAT", "attn_out-2", "blk.2.attn_output.weight", N);
	expect("ResidualAdd//2", "ADD", "ffn_inp-2", "attn_out-2", "MUL_MAT", "l_out-1", "ADD");
	expect("GateProjection//2", "MUL_MAT", "ffn_gate-2", "blk.2.ffn_gate.weight", N);
	expect("UpProjection//2", "MUL_MAT", "ffn_up-2", "blk.2.ffn_up.weight", N);
	expect("Activation//2", "SWIGLU", "ffn_swiglu-2", "ffn_gate-2", "MUL_MAT");
	expect("Activation//2", "SILU", "ffn_silu-2", "ffn_gate-2", "MUL_MAT");
	expect("Activation//2", "MUL", "ffn_gate_par-2", "ffn_silu-2", "SILU", "ffn_up-2",
		"MUL_MAT");
	expect("DownProjection//2", "MUL_MAT", "ffn_out-2", "blk.2.ffn_down.weight", N,
		"ffn_gate_par-2", "MUL");
	expect("ResidualAdd//2", "ADD", "l_out-2", "ffn_out-2", "MUL_MAT", "ffn_inp-2", "ADD");
	expect("RowGather/Other/5", "GET_ROWS", "node_210", "attn_out-5", "MUL_MAT", "inp_out_ids",
		N);
	expect("LmHead//-1", "MUL_MAT", "result_output", "output.weight", N, "result_norm", "MUL");
	expect("LmHead//-1", "MUL_MAT", "node_99", "token_embd.weight", N, "result_norm", "MUL");
}

static void mixture_of_experts(void **state)
{
	expect("ExpertRouter//3", "MUL_MAT", "ffn_moe_logits-3", "blk.3.ffn_gate_inp.weight", N);
	expect("ExpertRouter//3", "SOFT_MAX", "ffn_moe_probs-3", "ffn_moe_logits-3", "MUL_MAT");
	expect("ExpertRouter//3", "ARGSORT", "ffn_moe_argsort-3", "ffn_moe_probs-3", "SOFT_MAX");
	expect("ExpertRouter//3", "GET_ROWS", "ffn_moe_weights-3", "ffn_moe_probs-3", "RESHAPE");
	expect("GateProjection//3", "MUL_MAT_ID", "ffn_moe_gate-3", "blk.3.ffn_gate_exps.weight",
		N);
	expect("UpProjection//3", "MUL_MAT_ID", "ffn_moe_up-3", "blk.3.ffn_up_exps.weight", N);
	expect("GateUpProjection/FFN/3", "MUL_MAT_ID", "ffn_moe_gate_up-3",
		"blk.3.ffn_gate_up_exps.weight", N);
	expect("Activation//3", "SWIGLU", "ffn_moe_swiglu-3", "ffn_moe_gate-3", "MUL_MAT_ID");
	expect("DownProjection//3", "MUL_MAT_ID", "ffn_moe_down-3", "blk.3.ffn_down_exps.weight",
		N);
	expect("ExpertCombine//3", "MUL", "ffn_moe_weighted-3", "ffn_moe_down-3", "MUL_MAT_ID");
	expect("ExpertCombine//3", "ADD", "ffn_moe_out-3", "v", V);
	expect("GateProjection//3", "MUL_MAT", "ffn_gate-3", "blk.3.ffn_gate_shexp.weight", N);
	/* without names, of two results: the node's text tells so */
	expect("AttentionOutput//-1", "MUL_MAT", "node_61", "node_50", "CONT", "", "SOFT_MAX");
	expect("AttentionProduct/Attention/-1", "MUL_MAT", "node_60", "node_50", "PERMUTE",
		"node_51", "PERMUTE", "", "RESULTS");
	/* of forks, which compute several of these in one */
	expect("GateUpProjection/FFN/3", "FUSED_UP_GATE", "ffn_up_gate-3", "blk.3.ffn_up.weight", N,
		"blk.3.ffn_gate.weight", N);
	expect("GateUpProjection/FFN/3", "MOE_FUSED_UP_GATE", "ffn_moe-3",
		"blk.3.ffn_up_exps.weight", N);
	expect("RmsNorm//3", "FUSED_RMS_NORM", "attn_norm-3", "l_out-2", "ADD");
	expect("Activation//3", "FUSED_MUL_UNARY", "ffn_gate_par-3", "ffn_gate-3", "MUL_MAT");
	expect("ExpertCombine//3", "MULTI_ADD", "ffn_out-3", "ffn_moe_down-3", "MUL_MAT_ID");
	expect("DownProjection//3", "MUL_MAT", "ffn_out-3", "blk.3.ffn_down_shexp.weight", N);
}

static void gpt2_bert_and_whisper(void **state)
{
	expect("LayerNorm//1", "NORM", "norm-1", "l_out-0", "ADD");
	expect("LayerNorm//1", "MUL", "norm_w-1", "norm-1", "NORM", "blk.1.attn_norm.weight", N);
	expect("LayerNorm//1", "ADD", "attn_norm-1", "norm_w-1", "MUL", "blk.1.attn_norm.bias", N);
	expect("Embedding//-1", "GET_ROWS", "pos_embd", "position_embd.weight", N, "inp_pos", N);
	expect("Embedding//-1", "ADD", "inp_embd", "node_1", "GET_ROWS", "node_2", "GET_ROWS");
	expect("OutputProjection//1", "ADD", "attn_out-1", "attn_out-1", "MUL_MAT",
		"blk.1.attn_output.bias", N);
	expect("UpProjection//1", "ADD", "ffn_up_b-1", "ffn_up-1", "MUL_MAT", "blk.1.ffn_up.bias",
		N);
	expect("DownProjection//1", "ADD", "ffn_out-1", "x", "MUL_MAT", "blk.1.ffn_down.bias", N);
	expect("Activation//1", "GELU", "ffn_gelu-1", "ffn_up_b-1", "ADD");
	expect("Pooling/Other/-1", "MUL_MAT", "result_embd_pooled", "inp_mean", N);

	expect("QkvProjection//4", "MUL_MAT", "", "encoder.blocks.4.attn.query.weight", N);
	expect("CrossKvProjection/Attention/4", "MUL_MAT", "",
		"decoder.blocks.4.cross_attn.key.weight", N);
	expect("OutputProjection//4", "MUL_MAT", "", "encoder.blocks.4.attn.out.weight", N);
	expect("LayerNorm//4", "MUL", "", "", "NORM", "encoder.blocks.4.attn_ln.weight", N);
	expect("UpProjection//4", "MUL_MAT", "", "decoder.blocks.4.mlp.0.weight", N);
	expect("DownProjection//4", "ADD", "", "", "MUL_MAT", "decoder.blocks.4.mlp.2.bias", N);
	expect("Embedding//-1", "GET_ROWS", "", "decoder.token_embedding.weight", N);
	expect("LmHead//-1", "MUL_MAT", "", "decoder.token_embedding.weight", N, "x", "ADD");
	expect("Convolution/Other/-1", "MUL_MAT", "", "encoder.conv1.weight", N);
	expect("QkvProjection//3", "MUL_MAT", "", "model/h3/attn/c_attn/w", N);
}

static void the_rest(void **state)
{
	expect("?//-1", "WIN_PART", "node_3", "x", N);
	expect("Elementwise/Other/7", "ADD", "mystery-7", "x", N);
	expect("?//-1", "MUL_MAT", "node_3", "w", N);
	expect("EmptyNode/Engine/0", "VIEW", "Qcur-0 (view)", "Qcur-0", "ROPE");
	expect("TensorCopy/Other/-1", "CPY", " (copy)", "", N);
	expect("StateSpaceScan/Other/2", "SSM_SCAN", "node_9", "ssm-2", N);
}

/* What annotations.rules make of a text: "name=Brick/Category/layer phase prompt output". */
static const char *heard(const struct rules *rules, const char *domain, const char *text)
{
	static char answer[256];
	struct rules_verdict v;
	struct rules_step step;
	char name[128];
	const char *begin;
	size_t bytes = rules_name(rules, text, strlen(text), &begin);

	snprintf(name, sizeof name, "%.*s", (int)bytes, begin);
	const struct rules_node node = {domain, name, NULL, 0};
	rules_apply(rules, &node, &v);
	int n = snprintf(answer, sizeof answer, "%s=%s/%s/%d", name, v.brick ? v.brick : "?",
		v.category ? v.category : "", v.layer);
	if (rules_step(rules, name, &step))
		snprintf(answer + n, sizeof answer - (size_t)n, " %d %u %u", step.phase,
			step.prompt, step.output);
	return answer;
}

static void annotations(void **state)
{
	struct rules *rules = NULL;
	struct rules_error error;

	(void)state;
	assert_int_equal(
		rules_load(&rules, BRICK_SOURCE_DIR "/src/attach/rules/annotations.rules", &error),
		0);
#define HEARD(domain, text, what) assert_string_equal(heard(rules, domain, text), what)
	HEARD("-", "{'Module': 'top.model.layers.11.mlp.gate_up_proj', 'Inputs': [[4, 8]]}",
		"top.model.layers.11.mlp.gate_up_proj=GateUpProjection/FFN/11");
	HEARD("-", "{'Module': 'model.layers.0.self_attn.attn'}",
		"model.layers.0.self_attn.attn=SelfAttention/Attention/0");
	HEARD("-", "{'Module': 'lm_head', 'Inputs': []}", "lm_head=LmHead//-1");
	HEARD("-", "{'Module': 'model.norm'}", "model.norm=LayerNorms/Norm/-1");
	HEARD("-", "{'Module': '", "{'Module': '=?//-1"); /* cut off: as it is */
	HEARD("-", "transformer.h.3.attn.c_attn", "transformer.h.3.attn.c_attn=QkvProjection//3");
	HEARD("-", "aten::mm, seq = 17, op_id = 9, sizes = [[1, 2]]", "aten::mm=?//-1");
	HEARD("NCCL", "ncclAllReduce", "ncclAllReduce=AllReduce/Communication/-1");
	HEARD("other", "ncclAllReduce", "ncclAllReduce=?//-1");
	HEARD("-", "execute_context_2(131072)_generation_3(4)",
		"execute_context_2(131072)_generation_3(4)=?//-1 2 131072 4");
	HEARD("-", "[Executor] _forward_step 9: 1 ctx reqs, 40 ctx tokens, 0 gen reqs",
		"[Executor] _forward_step 9: 1 ctx reqs, 40 ctx tokens, 0 gen reqs=?//-1 0 40 0");
	HEARD("-", "[Executor] _forward_step: 0 ctx reqs, 7 gen reqs",
		"[Executor] _forward_step: 0 ctx reqs, 7 gen reqs=?//-1 1 0 7");
	HEARD("-", "[Executor] _forward_step 9: 2 ctx reqs, 7 gen reqs",
		"[Executor] _forward_step 9: 2 ctx reqs, 7 gen reqs=?//-1 2 0 7");
	rules_destroy(rules);
}

static void faults_of_annotation_rules(void **state)
{
	(void)state;
	assert_refused("brick-rules 1\ncut\n", 2, "cut needs");
	assert_refused("brick-rules 1\ninside a\n", 2, "inside needs");
	assert_refused("brick-rules 1\nstep a\n", 2, "step needs");
	assert_refused("brick-rules 1\nstep a decode prompt\n", 2, "\"decode\" is not one");
	assert_refused("brick-rules 1\nstep a# tokens\n", 2, "\"tokens\" is not one");
}

/* The layer that an attacher's own rules find in a module's path. */
static int layer_by(const char *file, const char *name)
{
	const struct rules_node node = {"conv", name, NULL, 0};
	struct rules_verdict verdict;
	struct rules_error error;
	struct rules *rules;

	assert_int_equal(rules_load(&rules, file, &error), 0);
	rules_apply(rules, &node, &verdict);
	rules_destroy(rules);
	return verdict.layer;
}

static void layers_of_modules(void **state)
{
	static const char torch[] = BRICK_SOURCE_DIR "/src/attach/rules/torch.rules";
	static const char onnx[] = BRICK_SOURCE_DIR "/src/attach/rules/onnxruntime.rules";

	(void)state;
	assert_int_equal(layer_by(torch, "conformer_layers.11.ffn1.sequential.0"), 11);
	assert_int_equal(layer_by(torch, "encoder.conformer_layers.2"), 2);
	assert_int_equal(layer_by(torch, "layer3.1.conv2"), 3);
	assert_int_equal(layer_by(torch, "backbone.layer4.0"), 4);
	assert_int_equal(layer_by(torch, "conv1"), -1);
	assert_int_equal(layer_by(onnx, "/encoder/conformer_layers.5/norm/Add"), 5);
	assert_int_equal(layer_by(onnx, "/layer2/layer2.3/conv1/Conv"), 2);
	assert_int_equal(layer_by(onnx, "/conv1/Conv"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_of_modules),
		cmocka_unit_test(annotations),
		cmocka_unit_test(faults_of_annotation_rules),
		cmocka_unit_test(patterns_match_whole_texts),
		cmocka_unit_test(numbers_are_whole),
		cmocka_unit_test(long_patterns_take_linear_time),
		cmocka_unit_test(faults_are_named_by_line),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(the_first_rule_wins),
		cmocka_unit_test(what_is_outside_lies_in_no_layer),
		cmocka_unit_test(defaults_can_be_switched_off),
		cmocka_unit_test_setup_teardown(llama, load_defaults, unload_defaults),
		cmocka_unit_test_setup_teardown(mixture_of_experts, load_defaults, unload_defaults),
		cmocka_unit_test_setup_teardown(
			gpt2_bert_and_whisper, load_defaults, unload_defaults),
		cmocka_unit_test_setup_teardown(the_rest, load_defaults, unload_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
