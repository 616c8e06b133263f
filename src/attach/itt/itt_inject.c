/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbrick-itt.so: as `brick record` sets INTEL_LIBITTNOTIFY64, ITT loads it at the first call of
 * each object that contains ITT, and gives it the object's list of functions.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "attach/annotate/annotations.h"
#include "attach/annotate/fixed_map.h"
#include "attach/annotate/ranges.h"
#include "attach/common/notes_once.h"
#include "attach/itt/itt_abi.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/abi/attacher.h"
#include "brick/clock.h"
#include "brick/registry.h"

static pthread_mutex_t itt_lock = PTHREAD_MUTEX_INITIALIZER;
LOCK_OVER_FORKS(itt_lock)

/* Lookups of a program's domains and strings. */

static struct annotation_domain *itt_domain_of(struct itt_domain *domain)
{
	struct annotation_domain *known = domain ? domain->extra2 : NULL;

	if (known)
		return known;
	known = annotation_domain(domain ? domain->name : "");
	if (domain)
		__atomic_store_n(&domain->extra2, known, __ATOMIC_RELAXED);
	return known;
}

static const struct annotation *itt_said(struct itt_domain *domain, struct itt_string *string)
{
	const struct annotation_domain *where = itt_domain_of(domain);
	const struct annotation *known =
		string ? __atomic_load_n(&string->extra2, __ATOMIC_RELAXED) : NULL;

	if (known && known->domain == where)
		return known;
	known = annotation_find(where, string ? string->text : NULL, BRICK_CATEGORY_OTHER);
	if (string && known->bytes) /* the annotation is never freed */
		__atomic_store_n(&string->extra2, (void *)(uintptr_t)known, __ATOMIC_RELAXED);
	return known;
}

/* Domains and strings that the program asks for: one object for each name, never freed. */

static struct fixed_map_entry itt_domain_entries[1 << 9], itt_string_entries[1 << 13],
	counter_entries[1 << 10], function_entries[1 << 10];
static struct fixed_map itt_domains = FIXED_MAP(itt_domain_entries),
			itt_strings = FIXED_MAP(itt_string_entries),
			counters = FIXED_MAP(counter_entries),
			itt_functions = FIXED_MAP(function_entries);

typedef const char *(*name_fn)(const void *made);

static const char *name_of_domain(const void *made)
{
	return ((const struct itt_domain *)made)->name;
}

static const char *name_of_string(const void *made)
{
	return ((const struct itt_string *)made)->text;
}

/*
 * Finds the object with that name; else NULL, and *key is its place. Objects of another `space`
 * differ.
 */
static void *itt_find(const struct fixed_map *map, const char *space, const char *name,
	name_fn name_of, uint64_t *key)
{
	for (*key = hash_add(fnv1a_text(space), fnv1a_text(name)) | 1;; *key += 2) {
		void *made = (void *)(uintptr_t)fixed_map_get(map, *key);
		if (!made || !strcmp(name_of(made), name))
			return made;
	}
}

static struct itt_domain *domain_create(const char *name)
{
	static struct itt_domain many = {.flags = 1, .name = "(other domains)"};
	uint64_t key;
	KEEP_ERRNO();

	if (!name)
		return NULL;
	HOLD(&itt_lock);
	struct itt_domain *domain = itt_find(&itt_domains, "", name, name_of_domain, &key);
	if (domain)
		return domain;
	domain = calloc(1, sizeof(*domain));
	char *copy = strdup(name);
	if (!domain || !copy || !fixed_map_put(&itt_domains, key, (uintptr_t)domain)) {
		free(domain);
		free(copy);
		return &many;
	}
	domain->flags = 1;
	domain->name = copy;
	return domain;
}

static struct itt_string *string_handle_create(const char *text)
{
	static struct itt_string many = {.text = "(other strings)"};
	uint64_t key;
	KEEP_ERRNO();

	if (!text)
		return NULL;
	struct itt_string *string = itt_find(&itt_strings, "", text, name_of_string, &key);
	if (string)
		return string;
	HOLD(&itt_lock);
	string = itt_find(&itt_strings, "", text, name_of_string, &key);
	if (string)
		return string;
	string = calloc(1, sizeof(*string));
	char *copy = strdup(text);
	if (string)
		string->text = copy;
	if (!string || !copy || !fixed_map_put(&itt_strings, key, (uintptr_t)string)) {
		free(string);
		free(copy);
		return &many;
	}
	return string;
}

/* Tasks of a thread. */

static void task_begin(
	struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *name)
{
	ranges_push(itt_domain_of(domain), itt_said(domain, name));
}

static void task_end(struct itt_domain *domain)
{
	ranges_pop(itt_domain_of(domain));
}

/* Annotates by the name of the function's symbol. */
static const struct annotation *said_function(struct itt_domain *domain, void *function)
{
	const struct annotation_domain *where = itt_domain_of(domain);
	uint64_t key = hash_add(hash_pointer(function), where->number) | 1;
	const struct annotation *known =
		(const struct annotation *)(uintptr_t)fixed_map_get(&itt_functions, key);
	Dl_info info;
	KEEP_ERRNO();

	if (known)
		return known;
	bool is_found = dladdr(function, &info) && info.dli_sname;
	known = annotation_find(
		where, is_found ? info.dli_sname : "(function)", BRICK_CATEGORY_OTHER);
	HOLD(&itt_lock);
	if (known->bytes)
		fixed_map_put(&itt_functions, key, (uintptr_t)known);
	return known;
}

static void task_begin_fn(
	struct itt_domain *domain, struct itt_id id, struct itt_id parent, void *function)
{
	ranges_push(itt_domain_of(domain), said_function(domain, function));
}

/* Overlapping ranges, by domain and id. */

static struct hashmap open_ids; /* -> number of the range */

static uint64_t itt_key_of(const struct itt_domain *domain, const struct itt_id *id, uint32_t kind)
{
	uint64_t key = hash_add(hash_pointer(domain), kind);

	for (int i = 0; i < 3; i++)
		key = hash_add(key, id ? id->parts[i] : 0);
	return key;
}

static void open_id(uint64_t key, const struct annotation *annotation)
{
	uint64_t number = ranges_start(annotation);
	KEEP_ERRNO();

	pthread_mutex_lock(&itt_lock);
	uint64_t before = hashmap_take(&open_ids, key);
	hashmap_set(&open_ids, key, number);
	pthread_mutex_unlock(&itt_lock);
	if (before != HASHMAP_NONE) /* begun twice: the first range ends here */
		ranges_end(before);
}

static void close_id(uint64_t key)
{
	pthread_mutex_lock(&itt_lock);
	uint64_t number = hashmap_take(&open_ids, key);
	pthread_mutex_unlock(&itt_lock);
	ranges_end(number == HASHMAP_NONE ? 0 : number);
}

enum { TASK, REGION, FRAME };

static void task_begin_overlapped(
	struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *name)
{
	open_id(itt_key_of(domain, &id, TASK), itt_said(domain, name));
}

static void task_end_overlapped(struct itt_domain *domain, struct itt_id id)
{
	close_id(itt_key_of(domain, &id, TASK));
}

static void region_begin(
	struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *name)
{
	open_id(itt_key_of(domain, &id, REGION), itt_said(domain, name));
}

static void region_end(struct itt_domain *domain, struct itt_id id)
{
	close_id(itt_key_of(domain, &id, REGION));
}

/* A frame's name is its domain's. One that the rules call a step lies on its thread. */

static const struct annotation *said_frame(struct itt_domain *domain)
{
	return annotation_find(
		itt_domain_of(domain), domain ? domain->name : NULL, BRICK_CATEGORY_OTHER);
}

static void frame_begin(struct itt_domain *domain, struct itt_id *id)
{
	const struct annotation *frame = said_frame(domain);

	if (frame->is_step)
		ranges_push(itt_domain_of(domain), frame);
	else
		open_id(itt_key_of(domain, id, FRAME), frame);
}

static void frame_end(struct itt_domain *domain, struct itt_id *id)
{
	if (said_frame(domain)->is_step)
		ranges_pop(itt_domain_of(domain));
	else
		close_id(itt_key_of(domain, id, FRAME));
}

static unsigned long long get_timestamp(void)
{
	return brick_ticks();
}

static void frame_submit(struct itt_domain *domain, struct itt_id *id, unsigned long long begin,
	unsigned long long end)
{
	ranges_took(said_frame(domain), begin, end);
}

static void marker(struct itt_domain *domain, struct itt_id id, struct itt_string *name, int scope)
{
	ranges_mark(itt_said(domain, name));
}

/* Numbers. */

struct series {
	const struct annotation *annotation;
	int64_t value; /* of a counter that is incremented and decremented */
};

static double itt_number_of(int type, const void *value)
{
	union {
		uint64_t u64;
		int64_t s64;
		uint32_t u32;
		int32_t s32;
		uint16_t u16;
		int16_t s16;
		float f32;
		double f64;
	} v = {0};
	static const uint8_t bytes[] = {8, 8, 8, 4, 4, 2, 2, 4, 8};

	memcpy(&v, value, bytes[type >= ITT_U64 && type <= ITT_DOUBLE ? type : 0]);
	switch (type) {
	case ITT_S64:
		return (double)v.s64;
	case ITT_U32:
		return v.u32;
	case ITT_S32:
		return v.s32;
	case ITT_U16:
		return v.u16;
	case ITT_S16:
		return v.s16;
	case ITT_FLOAT:
		return (double)v.f32;
	case ITT_DOUBLE:
		return v.f64;
	default:
		return (double)v.u64;
	}
}

/* NULL: there is no room. */
static struct series *itt_series_of(struct itt_counter *counter)
{
	struct series *series =
		counter ? __atomic_load_n((struct series **)&counter->extra2, __ATOMIC_ACQUIRE)
			: NULL;
	KEEP_ERRNO();

	if (series || !counter)
		return series;
	const struct annotation_domain *domain = annotation_domain(counter->domain);
	const struct annotation *annotation =
		annotation_find(domain, counter->name, BRICK_CATEGORY_OTHER);
	HOLD(&itt_lock);
	series = counter->extra2;
	if (series || !annotation->bytes)
		return series;
	series = calloc(1, sizeof(*series));
	if (series)
		series->annotation = annotation;
	__atomic_store_n((struct series **)&counter->extra2, series, __ATOMIC_RELEASE);
	return series;
}

static const char *name_of_counter(const void *made)
{
	return ((const struct itt_counter *)made)->name;
}

static struct itt_counter *counter_create_typed(const char *name, const char *domain, int type)
{
	uint64_t key;
	KEEP_ERRNO();

	if (!name)
		return NULL;
	HOLD(&itt_lock);
	struct itt_counter *counter =
		itt_find(&counters, domain ? domain : "", name, name_of_counter, &key);
	if (counter)
		return counter;
	counter = calloc(1, sizeof(*counter));
	if (!counter)
		return NULL;
	counter->name = strdup(name);
	counter->domain = domain ? strdup(domain) : NULL;
	counter->type = type;
	if (counter->name && fixed_map_put(&counters, key, (uintptr_t)counter))
		return counter;
	free((void *)(uintptr_t)counter->name);
	free((void *)(uintptr_t)counter->domain);
	free(counter);
	return NULL;
}

static struct itt_counter *counter_create(const char *name, const char *domain)
{
	return counter_create_typed(name, domain, ITT_U64);
}

static void itt_count(struct itt_counter *counter, int64_t change)
{
	struct series *series = itt_series_of(counter);

	if (!series)
		return;
	int64_t value = __atomic_add_fetch(&series->value, change, __ATOMIC_RELAXED);
	ranges_value(series->annotation, (double)value);
}

static void counter_inc(struct itt_counter *counter)
{
	itt_count(counter, 1);
}

static void counter_dec(struct itt_counter *counter)
{
	itt_count(counter, -1);
}

static void counter_inc_delta(struct itt_counter *counter, unsigned long long change)
{
	itt_count(counter, (int64_t)change);
}

static void counter_dec_delta(struct itt_counter *counter, unsigned long long change)
{
	itt_count(counter, -(int64_t)change);
}

static void counter_set_value(struct itt_counter *counter, void *value)
{
	struct series *series = value ? itt_series_of(counter) : NULL;

	if (series)
		ranges_value(series->annotation, itt_number_of(counter->type, value));
}

/*
 * Adds a task's or frame's metadata: the first number is a point of the series that its key names.
 */
static void metadata_add(struct itt_domain *domain, struct itt_id id, struct itt_string *key,
	int type, size_t many, void *data)
{
	if (data && many && type >= ITT_U64 && type <= ITT_DOUBLE)
		ranges_value(itt_said(domain, key), itt_number_of(type, data));
}

static void thread_set_name(const char *name)
{
	if (name)
		ranges_name_thread((uint32_t)syscall(SYS_gettid), name);
}

#define OURS(function) "__itt_" #function, (void (*)(void))(function)

static const struct {
	const char *name;
	void (*function)(void);
} ours[] = {
	{OURS(domain_create)},
	{OURS(string_handle_create)},
	{OURS(counter_create)},
	{OURS(counter_create_typed)},
	{OURS(task_begin)},
	{OURS(task_begin_fn)},
	{OURS(task_end)},
	{OURS(task_begin_overlapped)},
	{OURS(task_end_overlapped)},
	{OURS(region_begin)},
	{OURS(region_end)},
	{"__itt_frame_begin_v3", (void (*)(void))frame_begin},
	{"__itt_frame_end_v3", (void (*)(void))frame_end},
	{"__itt_frame_submit_v3", (void (*)(void))frame_submit},
	{OURS(get_timestamp)},
	{OURS(marker)},
	{OURS(counter_inc)},
	{OURS(counter_dec)},
	{OURS(counter_inc_delta)},
	{OURS(counter_dec_delta)},
	{OURS(counter_set_value)},
	{OURS(metadata_add)},
	{OURS(thread_set_name)},
	{"__itt_thr_name_set", (void (*)(void))thread_set_name},
};

/* Ours of that name ("__itt_task_begin"); NULL: the program's own does nothing in its place. */
static void *itt_function_of(const char *name)
{
	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!strcmp(ours[i].name, name)) {
			void *function;
			memcpy(&function, &ours[i].function, sizeof(function));
			return function;
		}
	return NULL;
}

BRICK_API void __itt_api_init(struct itt_global *global, int groups);

static pthread_once_t itt_once = PTHREAD_ONCE_INIT;

static void itt_start(void)
{
	ranges_tell_at_exit("itt");
}

/* The object holds its own lock meanwhile: nothing of it is called here. */
void __itt_api_init(struct itt_global *global, int groups)
{
	KEEP_ERRNO();

	if (!global || memcmp(global->magic, ITT_MAGIC, sizeof(global->magic)) != 0)
		return;
	if (global->version_build < ITT_BUILD_OLDEST || !global->functions) {
		note_once("itt", "ITT %lu.%lu (build %lu) of an object is older than what is known",
			global->version_major, global->version_minor, global->version_build);
		return;
	}
	pthread_once(&itt_once, itt_start);
	note_once("attach", "ITT tasks");
	for (struct itt_function *f = global->functions; f->name; f++) {
		void *our_function = itt_function_of(f->name);
		if (f->pointer)
			__atomic_store_n(f->pointer, our_function ? our_function : f->null_function,
				__ATOMIC_RELEASE);
	}
}

BRICK_API int brick_attacher_check(char *text, size_t bytes)
{
	snprintf(text, bytes, "ITT tasks, regions and frames of any program are recorded");
	return 0;
}
