/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that attached hooks set within a step or right after it, by name. Frozen: recordings
 * hold these names. */
#ifndef BRICK_ABI_STEP_COUNTERS_H
#define BRICK_ABI_STEP_COUNTERS_H

/* Tokens of the step's batch that begin like an earlier batch, at the same positions. */
#define BRICK_REPEATED_NAME "PromptTokensRepeated"
/* Tokens of the step's batch, which the engine would not evaluate. */
#define BRICK_REFUSED_NAME "TokensRefused"
/* The same where it began, and was stopped or failed: how many were evaluated is not known. */
#define BRICK_ABORTED_NAME "TokensAborted"
/* The number of the engine's context that evaluates it, from 0; -1: not known. None: the first. */
#define BRICK_CONTEXT_NAME "EngineContext"
/* Drafts among the step's tokens. They hold if the model chooses the same. */
#define BRICK_CHECKED_NAME "DraftTokensChecked"
/* ... and which context they are from, where one evaluated them. */
#define BRICK_DRAFTER_NAME "DraftingContext"
/*
 * How many drafts of the context's earlier steps did not hold. Also between steps, after an
 * EngineContext that names the context, if it is not the first.
 */
#define BRICK_REFUTED_NAME "DraftTokensRefuted"
/* The sequence of a step of one token, if the context's step before was one of another sequence. */
#define BRICK_SEQUENCE_NAME "SequenceSwitched"
/*
 * The bytes that the process read from a disk during a step, and the CPU time that the kernel took
 * meanwhile, in ns. They follow each step that read any; nobody looks any more after eight steps in
 * a row that read none.
 */
#define BRICK_DISK_NAME "BytesFromDisk"
#define BRICK_KERNEL_TIME_NAME "KernelTime"

#endif
