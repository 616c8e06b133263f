/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that attached hooks set within a step, by name. Frozen: recordings hold these names. */
#ifndef BRICK_ABI_STEP_COUNTERS_H
#define BRICK_ABI_STEP_COUNTERS_H

/* Tokens of the step's batch that begin like an earlier batch, at the same positions. */
#define BRICK_REPEATED_NAME "PromptTokensRepeated"
/* Tokens of the step's batch, which the engine would not evaluate. */
#define BRICK_REFUSED_NAME "TokensRefused"
/* The same where it began, and was stopped or failed: how many were evaluated is not known. */
#define BRICK_ABORTED_NAME "TokensAborted"

#endif
