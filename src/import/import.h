/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings made of other tools' files: Chrome's and Kineto's trace events, ONNX Runtime's
 * profile, what rocprofv3 writes as JSON or CSV, XLA's XSpace, and what Nsight Systems exports as
 * SQLite. Input is never trusted: any file gives a recording, or an error that says where and why.
 * One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "import/imported.h"

/* The place and the reason of a failure: "line 3, byte 120: there is no value". */
struct import_error {
	char text[320];
};

/*
 * Reads a file of any of these kinds; its first bytes tell the kind. The caller has called
 * imported_init(). 0, or *error and a negative code: -errno, -ENOMEM, BRICK_EFORMAT, or that of a
 * reader.
 */
int import_read(struct imported *imported, const char *path, struct import_error *error);

/* A text that comes in parts. */
struct import_source {
	/* Returns the number of bytes read; 0: the end; -1: it cannot be read. */
	int (*read)(void *from, char *to, size_t bytes);
	void *from;    /* for `read` */
	size_t window; /* bytes that are held at first; 0: a good number */
};

/*
 * As import_read(), of one kind each: JSON, rocprofv3's CSV, XLA's XSpace, Nsight Systems' SQLite.
 */
int import_chrome(
	struct imported *imported, const struct import_source *source, struct import_error *error);
int import_rocprof_csv(
	struct imported *imported, const char *text, size_t bytes, struct import_error *error);
int import_xplane(
	struct imported *imported, const char *text, size_t bytes, struct import_error *error);
int import_nsight(struct imported *imported, const char *path, struct import_error *error);
