/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sides of some rules that look at PyTorch's operators on a CPU: the same causes have other
 * evidence on a GPU or in ggml. Each is as rule_NAME() in finding.h.
 */
#pragma once

#include "analysis/explain/finding.h"

bool operators_attend(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_compile(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_copy(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_crowd(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_load(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_optimize(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_pad(const struct explain_facts *f, enum step_phase p, struct finding *out);
bool operators_repeat(const struct explain_facts *f, enum step_phase p, struct finding *out);
