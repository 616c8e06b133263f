/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `brick doctor` found: one entry per thing that was looked at, in the order in which it is
 * told. Those who look only add entries. Main thread.
 */
#pragma once

#include <stddef.h>
#include "base/array.h"
#include "brick/export.h"
#include "attach/rules/ggml_symbols.h"

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* works, but not as well as it could */
	DOCTOR_NO,	/* does not work */
	DOCTOR_ABSENT,	/* "no" as well, but of what this machine simply does not have */
};

struct doctor_check {
	const char *group, *name;
	enum doctor_status status;
	char *finding; /* what is so, and why */
	char *advice;  /* what to do about it; NULL: nothing */
};

/* One symbol that Brick stands in front of. */
struct doctor_hook {
	const char *symbol, *gives;
	int defined, reached; /* exported; called through the dynamic linker */
};

struct doctor_engine {
	char *path;
	char *files; /* names of the objects that were looked at */
	struct doctor_hook hooks[GGML_SYMBOL_COUNT];
	size_t hook_count;
	enum doctor_status status;
	char *method;
};

struct doctor {
	ARRAY(struct doctor_check) checks;
	ARRAY(struct doctor_engine) engines;
	int is_of_program; /* only one program was looked at */
	int cannot_record; /* nothing can be recorded here at all */
};

/* Add an entry; group and name are constants. */
void doctor_add(struct doctor *doctor, const char *group, const char *name,
	enum doctor_status status, const char *advice, const char *format, ...) BRICK_PRINTF(6, 7);

/* Those who look. */
void doctor_clock(struct doctor *doctor);
void doctor_machine(struct doctor *doctor);
void doctor_counters(struct doctor *doctor);
void doctor_attach(struct doctor *doctor);
void doctor_attachers(struct doctor *doctor);
void doctor_surroundings(struct doctor *doctor);
void doctor_devices(struct doctor *doctor);

/* paths: directories and files that the user named, NULL-terminated. */
void doctor_ggml(struct doctor *doctor, const char *const *paths);

/* One program, by the command that starts it, or by its process. */
void doctor_command(struct doctor *doctor, char *const *command);
void doctor_process(struct doctor *doctor, long pid);

/*
 * Preload a library into a program. 1: it was loaded; else the reason is in why, in the dynamic
 * linker's words where it had any.
 */
int doctor_try_preload(const char *library, char *why, size_t size);
