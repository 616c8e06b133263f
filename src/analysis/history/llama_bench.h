/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the output of `llama-bench -o jsonl` and `-o sql` as runs of kind "imported". Each test is
 * a run with one part, of kind "step": the phase is "prefill" for a prompt, "decode" for generated
 * tokens, and "mixed" for a test of both, which has one time only. The file is not trusted: its SQL
 * may only make a table in memory and fill it. One thread at a time.
 */
#pragma once

#include "analysis/history/store.h"

/*
 * Hands the run of each test to `each`, which returns 0 or a negative errno, and returns their
 * number. -EIO: the file cannot be read; -EINVAL: the file is no such output; both write a sentence
 * to `error`. -ENOMEM, and errors of `each`, write none.
 */
long llama_bench_read(
	const char *path, history_run_fn each, void *context, char *error, size_t error_bytes);
