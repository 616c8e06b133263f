/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the counters that attached hooks set within a step or right after it. Values are token
 * counts unless said otherwise. Frozen: recordings hold these names.
 */
#ifndef BRICK_ABI_STEP_COUNTERS_H
#define BRICK_ABI_STEP_COUNTERS_H

/* Tokens of the step's batch that begin like an earlier batch, at the same positions. */
#define BRICK_REPEATED_NAME "PromptTokensRepeated"
/* Tokens of the step's batch, where the engine refused the batch: none was evaluated. */
#define BRICK_REFUSED_NAME "TokensRefused"
/* Tokens of a batch that was begun, and then stopped or failed: some may have been evaluated. */
#define BRICK_ABORTED_NAME "TokensAborted"
/*
 * The number of the engine's context that evaluates the step, from 0; -1: not known. A step
 * without this counter is the first context's.
 */
#define BRICK_CONTEXT_NAME "EngineContext"
/* Drafted tokens among the step's. A draft holds if the model chooses the same token. */
#define BRICK_CHECKED_NAME "DraftTokensChecked"
/* The number of the context that made these drafts, if a context made them. */
#define BRICK_DRAFTER_NAME "DraftingContext"
/*
 * How many drafts of the context's earlier steps did not hold. Between steps an EngineContext
 * stands before this counter, unless the context is the first.
 */
#define BRICK_REFUTED_NAME "DraftTokensRefuted"
/*
 * The id of the sequence of a one-token step, if the context's step before evaluated another
 * sequence.
 */
#define BRICK_SEQUENCE_NAME "SequenceSwitched"
/*
 * The bytes that the process read from a disk during a step, its page faults, and the CPU time in
 * ns that the kernel took for it meanwhile. KernelTime and the one or two others that are not small
 * follow each step that read any bytes, or had 32 page faults. After eight steps in a row without
 * the hooks measure each eighth step only, until there is another.
 */
#define BRICK_DISK_NAME "BytesFromDisk"
#define BRICK_FAULTS_NAME "PageFaults"
#define BRICK_KERNEL_TIME_NAME "KernelTime"
/*
 * By the thread that opened, mapped or read a part of a model's file, within the brick that says
 * so, with such bricks inside of it: page faults of both kinds, and bytes from a disk. 0 is not
 * told.
 */
#define BRICK_LOAD_MINOR_NAME "LoadMinorFaults"
#define BRICK_LOAD_MAJOR_NAME "LoadMajorFaults"
#define BRICK_LOAD_DISK_NAME "LoadBytesFromDisk"

/*
 * PyTorch computes masked tokens of the step's input for nothing. They are not among the step's
 * tokens. A model without a cache sets PromptTokensRepeated for a new token to the tokens
 * before it, which are not among the step's tokens then.
 */
#define BRICK_PADDING_NAME "padding tokens"
/*
 * Tokens of the step beyond those that it began with: of further forward passes, whose gradients a
 * step of training adds up.
 */
#define BRICK_ADDED_NAME "TokensAdded"
/*
 * Tokens that PyTorch computes in a decode step for classifier-free guidance. The step makes no
 * token of the answer, and has none.
 */
#define BRICK_GUIDANCE_NAME "guidance tokens"
/*
 * The CPU time in ns of the process's other threads during a step, if Python has several threads
 * and they ran for a fifth of the time after which one asks for the interpreter's lock, 5 ms.
 */
#define BRICK_OTHERS_TIME_NAME "OtherThreadsTime"

#endif
