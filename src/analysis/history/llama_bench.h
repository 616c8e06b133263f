/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the output of `llama-bench -o jsonl` and `-o sql` as runs of a history. A prompt is the
 * phase "prefill", and generated tokens are "decode". A test that does both in one go is "mixed",
 * because it has one time for both. The file is not trusted: its SQL may only make a table in
 * memory and fill it. One thread at a time.
 */
#pragma once

#include "analysis/history/store.h"

/*
 * Hands each test to `each` and returns how many there were. -EINVAL: the file is no such output.
 * With any negative errno, error has a sentence.
 */
long llama_bench_read(
	const char *path, history_run_fn each, void *context, char *error, size_t error_bytes);
