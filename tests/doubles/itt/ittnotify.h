/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of ITT's static part, of which every object that includes this has one: the calls that
 * tests make, and how the collector is found, by what is published of that. Include it in one
 * source of an object. Any thread, after the first call.
 */
#pragma once

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/itt/itt_abi.h"

typedef struct itt_domain __itt_domain;
typedef struct itt_string __itt_string_handle;
typedef struct itt_counter *__itt_counter;
typedef struct itt_id __itt_id;

static struct itt_domain *itt__domains;
static struct itt_string *itt__strings;
static struct itt_counter *itt__counters;

/* X(type, name, parameters, arguments): what a collector may set. */
#define ITT__CALLS(X)                                                                             \
	X(__itt_domain *, domain_create, (const char *name), (name))                              \
	X(__itt_string_handle *, string_handle_create, (const char *text), (text))                \
	X(__itt_counter, counter_create, (const char *name, const char *domain), (name, domain))  \
	X(__itt_counter, counter_create_typed, (const char *name, const char *domain, int type),  \
		(name, domain, type))                                                             \
	X(void, task_begin,                                                                       \
		(const __itt_domain *domain, __itt_id id, __itt_id parent,                        \
			__itt_string_handle *name),                                               \
		(domain, id, parent, name))                                                       \
	X(void, task_begin_fn,                                                                    \
		(const __itt_domain *domain, __itt_id id, __itt_id parent, void *function),       \
		(domain, id, parent, function))                                                   \
	X(void, task_end, (const __itt_domain *domain), (domain))                                 \
	X(void, task_begin_overlapped,                                                            \
		(const __itt_domain *domain, __itt_id id, __itt_id parent,                        \
			__itt_string_handle *name),                                               \
		(domain, id, parent, name))                                                       \
	X(void, task_end_overlapped, (const __itt_domain *domain, __itt_id id), (domain, id))     \
	X(void, region_begin,                                                                     \
		(const __itt_domain *domain, __itt_id id, __itt_id parent,                        \
			__itt_string_handle *name),                                               \
		(domain, id, parent, name))                                                       \
	X(void, region_end, (const __itt_domain *domain, __itt_id id), (domain, id))              \
	X(void, frame_begin_v3, (const __itt_domain *domain, __itt_id *id), (domain, id))         \
	X(void, frame_end_v3, (const __itt_domain *domain, __itt_id *id), (domain, id))           \
	X(void, frame_submit_v3,                                                                  \
		(const __itt_domain *domain, __itt_id *id, unsigned long long begin,              \
			unsigned long long end),                                                  \
		(domain, id, begin, end))                                                         \
	X(unsigned long long, get_timestamp, (void), ())                                          \
	X(void, marker,                                                                           \
		(const __itt_domain *domain, __itt_id id, __itt_string_handle *name, int scope),  \
		(domain, id, name, scope))                                                        \
	X(void, counter_inc, (__itt_counter counter), (counter))                                  \
	X(void, counter_dec_delta, (__itt_counter counter, unsigned long long by), (counter, by)) \
	X(void, counter_set_value, (__itt_counter counter, void *value), (counter, value))        \
	X(void, metadata_add,                                                                     \
		(const __itt_domain *domain, __itt_id id, __itt_string_handle *key, int type,     \
			size_t count, void *data),                                                \
		(domain, id, key, type, count, data))                                             \
	X(void, thread_set_name, (const char *name), (name))                                      \
	X(int, sync_unheard_of, (void *address), (address))

#define ITT__POINTER(type, name, parameters, arguments) static type(*itt__##name) parameters;
ITT__CALLS(ITT__POINTER)

/* Set where nothing was ever set: what a collector must not leave. */
static void itt__unset(void)
{
	abort();
}

#define ITT__ENTRY(type, name, parameters, arguments) \
	{"__itt_" #name, (void **)(void *)&itt__##name, (void *)itt__unset, NULL, 1},
static struct itt_function itt__functions[] = {ITT__CALLS(ITT__ENTRY){0}};

static struct itt_global itt__global = {
	.version_major = 3, .version_build = 20151119, .functions = itt__functions};

static void itt__load(void)
{
	const char *path = getenv("INTEL_LIBITTNOTIFY64");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	void (*initialize)(struct itt_global *, int) = NULL;
	void *found = library ? dlsym(library, "__itt_api_init") : NULL;

	memcpy(itt__global.magic, ITT_MAGIC, 8);
	for (struct itt_function *f = itt__functions; f->name; f++)
		*f->pointer = found ? f->init_function : NULL;
	memcpy(&initialize, &found, sizeof(found));
	if (initialize)
		initialize(&itt__global, 0xffff);
	__atomic_store_n(&itt__global.api_initialized, 1, __ATOMIC_RELEASE);
}

static int itt__is_loaded(void)
{
	return __atomic_load_n(&itt__global.api_initialized, __ATOMIC_ACQUIRE) != 0;
}

/* As the real one: these three do not load the collector, but keep what they make for it. */
static __itt_domain *__itt_domain_create(const char *name)
{
	if (itt__is_loaded())
		return itt__domain_create ? itt__domain_create(name) : NULL;
	struct itt_domain *domain = calloc(1, sizeof(*domain));
	domain->flags = 1;
	domain->name = strdup(name);
	domain->next = itt__domains;
	return itt__domains = domain;
}

static __itt_string_handle *__itt_string_handle_create(const char *text)
{
	if (itt__is_loaded())
		return itt__string_handle_create ? itt__string_handle_create(text) : NULL;
	struct itt_string *string = calloc(1, sizeof(*string));
	string->text = strdup(text);
	string->next = itt__strings;
	return itt__strings = string;
}

static __itt_counter __itt_counter_create_typed(const char *name, const char *domain, int type)
{
	if (itt__is_loaded())
		return itt__counter_create_typed ? itt__counter_create_typed(name, domain, type)
						 : NULL;
	struct itt_counter *counter = calloc(1, sizeof(*counter));
	counter->name = strdup(name);
	counter->domain = strdup(domain);
	counter->type = type;
	counter->next = itt__counters;
	return itt__counters = counter;
}

/* All others. */
static pthread_once_t itt__once = PTHREAD_ONCE_INIT;
#define ITT__CALL(type, none, name, parameters, arguments)          \
	__attribute__((unused)) static type __itt_##name parameters \
	{                                                           \
		pthread_once(&itt__once, itt__load);                \
		return itt__##name ? itt__##name arguments : none;  \
	}
#define ITT__VOID (void)0
ITT__CALL(void, ITT__VOID, task_begin,
	(const __itt_domain *domain, __itt_id id, __itt_id parent, __itt_string_handle *name),
	(domain, id, parent, name))
ITT__CALL(void, ITT__VOID, task_begin_fn,
	(const __itt_domain *domain, __itt_id id, __itt_id parent, void *function),
	(domain, id, parent, function))
ITT__CALL(void, ITT__VOID, task_end, (const __itt_domain *domain), (domain))
ITT__CALL(void, ITT__VOID, task_begin_overlapped,
	(const __itt_domain *domain, __itt_id id, __itt_id parent, __itt_string_handle *name),
	(domain, id, parent, name))
ITT__CALL(void, ITT__VOID, task_end_overlapped, (const __itt_domain *domain, __itt_id id),
	(domain, id))
ITT__CALL(void, ITT__VOID, region_begin,
	(const __itt_domain *domain, __itt_id id, __itt_id parent, __itt_string_handle *name),
	(domain, id, parent, name))
ITT__CALL(void, ITT__VOID, region_end, (const __itt_domain *domain, __itt_id id), (domain, id))
ITT__CALL(void, ITT__VOID, frame_begin_v3, (const __itt_domain *domain, __itt_id *id), (domain, id))
ITT__CALL(void, ITT__VOID, frame_end_v3, (const __itt_domain *domain, __itt_id *id), (domain, id))
ITT__CALL(void, ITT__VOID, frame_submit_v3,
	(const __itt_domain *domain, __itt_id *id, unsigned long long begin,
		unsigned long long end),
	(domain, id, begin, end))
ITT__CALL(unsigned long long, 0, get_timestamp, (void), ())
ITT__CALL(void, ITT__VOID, marker,
	(const __itt_domain *domain, __itt_id id, __itt_string_handle *name, int scope),
	(domain, id, name, scope))
ITT__CALL(void, ITT__VOID, counter_inc, (__itt_counter counter), (counter))
ITT__CALL(void, ITT__VOID, counter_dec_delta, (__itt_counter counter, unsigned long long by),
	(counter, by))
ITT__CALL(
	void, ITT__VOID, counter_set_value, (__itt_counter counter, void *value), (counter, value))
ITT__CALL(void, ITT__VOID, metadata_add,
	(const __itt_domain *domain, __itt_id id, __itt_string_handle *key, int type, size_t count,
		void *data),
	(domain, id, key, type, count, data))
ITT__CALL(void, ITT__VOID, thread_set_name, (const char *name), (name))
ITT__CALL(int, 0, sync_unheard_of, (void *address), (address))
