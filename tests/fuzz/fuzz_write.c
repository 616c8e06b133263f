/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a session that a profiled process left behind: tables, records, lanes. Whatever
 * they are, the writer makes a recording of them in which the reader finds nothing wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/trace_bytes.h"
#include "tests/unit/trace_check.h"
#include "trace/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

static struct run *load(const char *path)
{
	struct run *run;
	struct load_error error;
	int result = run_load(&run, path, &error);

	if (result) {
		fprintf(stderr, "%s: %d at %llu: %s\n", path, result,
			(unsigned long long)error.offset, error.text);
		abort();
	}
	const char *wrong = check_run(run);
	/* a line of notes may be no note: that is one bad packet, of the fuzzer's own making */
	if (!wrong && run->bad_packets > 1)
		wrong = "bad packets";
	if (!wrong && (!run->complete || run->truncated_bytes))
		wrong = "not complete";
	if (wrong)
		fail(wrong);
	return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char room[] = "/dev/shm/brick-fuzz-XXXXXX", path[64];
	struct trace_writer *w;

	if (!mkdtemp(room))
		return 0;
	snprintf(path, sizeof path, "%s/written", room);
	struct trace_writer_options options = {.path = path, .compress = 1};
	if (trace_writer_create(&w, &options))
		return rmdir(room);
	feed_bytes(w, data, size);
	if (trace_writer_finish(w))
		abort();
	run_destroy(load(path));
	unlink(path);
	rmdir(room);
	return 0;
}
