/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/explain/explain_rules.h"

#define EXPLAIN_ENTRY(name, id) {id, rule_##name},

const struct explain_rule explain_rules[] = {EXPLAIN_RULES(EXPLAIN_ENTRY){NULL, NULL}};
