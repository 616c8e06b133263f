/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of functions (function_table.h). OrtGetApiBase() returns the address of two words, the
 * first of which leads to a function that returns the table's. Both addresses stand in the code,
 * relative to it. Each word of a table leads into the library's code, so nothing else is taken for
 * one.
 */
#include "record/enter/function_table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include "attach/patch/image.h"
#include "attach/patch/insn.h"

enum { CODE_BYTES = 64 }; /* of a function, in which the address stands */

struct table_library {
	const struct image *image;
	uint64_t bias;
	pid_t pid;
};

/* So many words; 0, -ENOENT: they do not lead into code, or are not there; -EPERM. */
static int read_functions(
	const struct table_library *l, uint64_t at, uint64_t *functions, size_t count)
{
	struct iovec own = {functions, count * sizeof(*functions)};
	struct iovec theirs = {(void *)(uintptr_t)at, count * sizeof(*functions)};

	if (process_vm_readv(l->pid, &own, 1, &theirs, 1, 0) != (ssize_t)own.iov_len)
		return errno == EPERM ? -EPERM : -ENOENT;
	for (size_t i = 0; i < count; i++)
		if (!image_is_executed(l->image, functions[i] - l->bias, 1))
			return -ENOENT;
	return 0;
}

/* The words whose address the function at `address` in the file refers to first. */
static int follow_reference(const struct table_library *l, uint64_t address, uint64_t *functions,
	size_t count, uint64_t *at)
{
	uint64_t available;
	const uint8_t *code = image_bytes(l->image, address, &available);
	struct insn insn;

	for (uint64_t k = 0; code && k < CODE_BYTES; k += insn.length) {
		if (!insn_decode(&insn, code + k, available - k, address + k))
			return -ENOENT;
		*at = insn.reference + l->bias;
		int error = insn.reference ? read_functions(l, *at, functions, count) : -ENOENT;
		if (error != -ENOENT)
			return error;
	}
	return -ENOENT;
}

int function_table_find(
	pid_t pid, const char *path, uint64_t bias, uint64_t table[], size_t count, uint64_t *at)
{
	enum { BASE_WORDS = 2 };
	uint64_t base[BASE_WORDS];
	struct image image;
	int error = image_open(&image, path) ? -ENOENT : 0;

	if (error)
		return error;
	const struct table_library library = {&image, bias, pid};
	const struct image_function *f = image_find(&image, "OrtGetApiBase", NULL);
	error = f ? follow_reference(&library, f->address, base, BASE_WORDS, at) : -ENOENT;
	if (!error)
		error = follow_reference(&library, base[0] - bias, table, count, at);
	image_close(&image);
	return error;
}
