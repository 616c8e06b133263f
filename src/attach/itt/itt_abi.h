/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of ITT's interface to collectors that Brick uses, on 64-bit Linux, written down from the
 * published interface. The order of members is ITT's. Every object that contains ITT has its own
 * static part with its own lists. Constant data; any thread.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#define ITT_MAGIC "\xED\xAB\xAB\xEC\x0D\xEE\xDA\x30"
enum { ITT_BUILD_OLDEST = 20111111 }; /* before, an entry of the list had four members */

/* A function pointer of the program's, to be set to our function, or to null_function. */
struct itt_function {
	const char *name; /* "__itt_task_begin"; NULL ends the list */
	void **pointer;
	void *init_function, *null_function;
	int group;
};

struct itt_domain {
	volatile int flags; /* 0: the program does not call */
	const char *name;
	void *wide_name;
	int extra1;
	void *extra2; /* the collector's: struct annotation_domain */
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	void *wide_text;
	int extra1;
	void *extra2; /* the collector's: the last lookup, struct annotation */
	struct itt_string *next;
};

enum itt_type {
	ITT_U64 = 1,
	ITT_S64,
	ITT_U32,
	ITT_S32,
	ITT_U16,
	ITT_S16,
	ITT_FLOAT,
	ITT_DOUBLE,
};

struct itt_counter {
	const char *name;
	void *wide_name;
	const char *domain;
	void *wide_domain;
	int type;
	long index;
	int extra1;
	void *extra2; /* the collector's: struct series */
	struct itt_counter *next;
};

struct itt_id {
	unsigned long long parts[3];
};

struct itt_global {
	unsigned char magic[8];
	unsigned long version_major, version_minor, version_build;
	volatile long api_initialized, mutex_initialized, atomic_counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **path;
	struct itt_function *functions;
	/* more follows, and grew over versions */
};
