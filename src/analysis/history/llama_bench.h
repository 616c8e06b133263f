/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `llama-bench -o jsonl` and `-o sql` write, as runs of a history: a prompt is the phase
 * "prefill", generated tokens are "decode"; where a test does both in one go nobody knows which
 * took what, and it is "mixed". Its file is not trusted: SQL may only make a table in memory and
 * fill it. One thread at a time.
 */
#pragma once

#include "analysis/history/store.h"

/*
 * Hand each test to `each`. How many there were; -EINVAL: it is no such file, or a negative errno,
 * with a sentence in error.
 */
long llama_bench_read(
	const char *path, history_run_fn each, void *context, char *error, size_t error_bytes);
