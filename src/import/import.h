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

/* What is wrong, and where it stands in the file: "line 3, byte 120: there is no value". */
struct import_error {
	char text[320];
};

/* 0 and the file's contents in *imported (imported_init() before), or a negative code and *error.
 */
int import_read(struct imported *imported, const char *path, struct import_error *error);

/* A text that is in memory, or comes in parts: read() returns bytes, 0 at the end, or -1. */
struct import_source {
	const char *text;
	size_t bytes;
	int (*read)(void *from, char *to, size_t bytes);
	void *from;
};

/* The same of JSON, of rocprofv3's CSV and XLA's XSpace in memory, and of a database of Nsight
 * Systems. */
int import_chrome(
	struct imported *imported, const struct import_source *source, struct import_error *error);
int import_rocprof_csv(
	struct imported *imported, const char *text, size_t bytes, struct import_error *error);
int import_xplane(
	struct imported *imported, const char *text, size_t bytes, struct import_error *error);
int import_nsight(struct imported *imported, const char *path, struct import_error *error);
