/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule files from strangers: whatever parses is applied to a few nodes whose names are taken from
 * the input itself, so that patterns meet texts that they nearly match.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "attach/rules/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void apply(const struct rules *rules, const char *name, const char *source)
{
	const struct rules_source sources[] = {{source, "RMS_NORM"}, {name, "NONE"}};
	const struct rules_node node = {"MUL_MAT", name, sources, 2};
	struct rules_verdict verdict;
	struct rules_step step;
	const char *part;

	size_t bytes = rules_name(rules, name, strlen(name), &part);
	if (part < name || bytes > strlen(name) - (size_t)(part - name))
		__builtin_trap();
	if (rules_step(rules, name, &step) && step.phase > BRICK_PHASE_WARM_UP)
		__builtin_trap();
	rules_apply(rules, &node, &verdict);
	if (verdict.layer < -1 || verdict.layer > INT16_MAX)
		__builtin_trap();
	if (verdict.brick && (!verdict.brick[0] || strlen(verdict.brick) > 47))
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct rules *rules = NULL;
	struct rules_error error;
	char tail[64] = "";

	if (rules_parse(&rules, (const char *)data, bytes, &error)) {
		if (rules)
			__builtin_trap();
		return 0;
	}
	if (bytes) {
		size_t n = bytes < sizeof tail - 1 ? bytes : sizeof tail - 1;
		memcpy(tail, data + bytes - n, n);
	}
	apply(rules, "Qcur-3", "blk.3.attn_q.weight");
	apply(rules, tail, "cache_k_l12 (view)");
	rules_destroy(rules);
	return 0;
}
