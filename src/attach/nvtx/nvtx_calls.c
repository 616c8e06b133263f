/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX's calls (nvtx_calls.h). At a range's begin the other tool is called before our part, and at
 * its end after it, so that the range's brick does not include that tool's time.
 */
#include "attach/nvtx/nvtx_calls.h"

#include <stdio.h>
#include "attach/annotate/annotations.h"
#include "attach/annotate/ranges.h"
#include "attach/nvtx/nvtx_handles.h"
#include "brick/registry.h"

enum { TEXT_BYTES = 128 };

/* The other tool's functions, by module and number; NULL: it has none. */
static nvtx_function nvtx_calls_others[NVTX_MODULES][NVTX_MAX_CALLS];

#define OTHER(module, call, type) \
	((type)__atomic_load_n(&nvtx_calls_others[module][call], __ATOMIC_RELAXED))

/* Call it, if there is one. */
#define PASS(module, call, type, ...)                             \
	do {                                                      \
		if (nvtx_is_chained && OTHER(module, call, type)) \
			OTHER(module, call, type)(__VA_ARGS__);   \
	} while (0)

typedef void (*event_fn)(const struct nvtx_event *);
typedef void (*text_fn)(const char *);
typedef void (*wide_fn)(const wchar_t *);
typedef uint64_t (*start_event_fn)(const struct nvtx_event *);
typedef uint64_t (*start_text_fn)(const char *);
typedef uint64_t (*start_wide_fn)(const wchar_t *);
typedef int (*push_event_fn)(const struct nvtx_event *);
typedef int (*push_text_fn)(const char *);
typedef int (*push_wide_fn)(const wchar_t *);
typedef int (*pop_fn)(void);
typedef void (*end_fn)(uint64_t);
typedef void (*name_fn)(uint32_t, const char *);
typedef void (*name_wide_fn)(uint32_t, const wchar_t *);
typedef void (*domain_event_fn)(void *, const struct nvtx_event *);
typedef uint64_t (*domain_start_fn)(void *, const struct nvtx_event *);
typedef void (*domain_end_fn)(void *, uint64_t);
typedef int (*domain_push_fn)(void *, const struct nvtx_event *);
typedef int (*domain_pop_fn)(void *);
typedef void (*domain_name_fn)(void *, uint32_t, const char *);
typedef void (*domain_name_wide_fn)(void *, uint32_t, const wchar_t *);
typedef void *(*register_fn)(void *, const char *);
typedef void *(*register_wide_fn)(void *, const wchar_t *);
typedef void *(*create_fn)(const char *);
typedef void *(*create_wide_fn)(const wchar_t *);

/* Events. */

static const struct annotation *nvtx_calls_said(
	const struct annotation_domain *domain, const struct nvtx_event *event)
{
	uint32_t category = nvtx_category_of(domain, event->category);
	const void *handle = event->message.handle;
	const struct annotation *known;

	if (event->message_type == NVTX_HANDLE && (known = nvtx_string_of(handle)))
		return known;
	if (event->message_type == NVTX_WIDE_TEXT)
		return annotation_find_wide(domain, event->message.wide, category);
	return annotation_find(
		domain, event->message_type == NVTX_TEXT ? event->message.text : NULL, category);
}

static bool has_number(const struct nvtx_event *event, double *number)
{
	switch (event->payload_type) {
	case NVTX_UINT64:
		*number = (double)event->payload.u64;
		return true;
	case NVTX_INT64:
		*number = (double)event->payload.i64;
		return true;
	case NVTX_DOUBLE:
		*number = event->payload.f64;
		return true;
	case NVTX_UINT32:
		*number = event->payload.u32;
		return true;
	case NVTX_INT32:
		*number = event->payload.i32;
		return true;
	case NVTX_FLOAT:
		*number = (double)event->payload.f32;
		return true;
	default:
		return false;
	}
}

/* A number is a point of a series, in front of the range that it came with. */
static void say_number(const struct annotation *annotation, const struct nvtx_event *event)
{
	double number;

	if (event->payload_type && has_number(event, &number))
		ranges_value(annotation, number);
}

static void mark(const void *handle, const struct nvtx_event *event)
{
	if (!event)
		return;
	const struct annotation *annotation = nvtx_calls_said(nvtx_domain_of(handle), event);
	ranges_mark(annotation);
	say_number(annotation, event);
}

static int nvtx_calls_push(const void *handle, const struct nvtx_event *event)
{
	static const struct nvtx_event nothing;
	struct annotation_domain *domain = nvtx_domain_of(handle);

	event = event ? event : &nothing;
	const struct annotation *annotation = nvtx_calls_said(domain, event);
	say_number(annotation, event);
	int level = ranges_push(domain, annotation);
	if (event->payload_type == NVTX_PAYLOADS && event->payload.payloads)
		ranges_bytes(domain, nvtx_payload_bytes(domain, event->payload.payloads,
					     (uint32_t)event->payload_count));
	return level;
}

static uint64_t nvtx_calls_start(const void *handle, const struct nvtx_event *event)
{
	static const struct nvtx_event nothing;

	event = event ? event : &nothing;
	const struct annotation *annotation = nvtx_calls_said(nvtx_domain_of(handle), event);
	say_number(annotation, event);
	return ranges_start(annotation);
}

/* Core. */

static void mark_event(const struct nvtx_event *event)
{
	PASS(NVTX_CORE, NVTX_MARK_EX, event_fn, event);
	mark(NULL, event);
}

static void mark_text(const char *text)
{
	PASS(NVTX_CORE, NVTX_MARK_A, text_fn, text);
	ranges_mark(annotation_find(nvtx_domain_of(NULL), text, BRICK_CATEGORY_OTHER));
}

static void mark_wide(const wchar_t *text)
{
	PASS(NVTX_CORE, NVTX_MARK_W, wide_fn, text);
	ranges_mark(annotation_find_wide(nvtx_domain_of(NULL), text, BRICK_CATEGORY_OTHER));
}

/* Calls the other tool's function, and returns its result; `none` where there is none. */
#define ASK(module, call, type, none, ...)                                                     \
	(nvtx_is_chained && OTHER(module, call, type) ? OTHER(module, call, type)(__VA_ARGS__) \
						      : (none))

static uint64_t start_event(const struct nvtx_event *event)
{
	uint64_t theirs = ASK(NVTX_CORE, NVTX_START_EX, start_event_fn, 0, event);
	return nvtx_range_started(theirs, nvtx_calls_start(NULL, event));
}

static uint64_t start_text(const char *text)
{
	uint64_t theirs = ASK(NVTX_CORE, NVTX_START_A, start_text_fn, 0, text);
	return nvtx_range_started(theirs,
		ranges_start(annotation_find(nvtx_domain_of(NULL), text, BRICK_CATEGORY_OTHER)));
}

static uint64_t start_wide(const wchar_t *text)
{
	uint64_t theirs = ASK(NVTX_CORE, NVTX_START_W, start_wide_fn, 0, text);
	return nvtx_range_started(theirs, ranges_start(annotation_find_wide(nvtx_domain_of(NULL),
						  text, BRICK_CATEGORY_OTHER)));
}

static void range_end(uint64_t number)
{
	nvtx_range_ended(number);
	PASS(NVTX_CORE, NVTX_END, end_fn, number);
}

static int push_event(const struct nvtx_event *event)
{
	int theirs = ASK(NVTX_CORE, NVTX_PUSH_EX, push_event_fn, -1, event);
	int ours = nvtx_calls_push(NULL, event);
	return theirs < 0 ? ours : theirs;
}

static int push_text(const char *text)
{
	int theirs = ASK(NVTX_CORE, NVTX_PUSH_A, push_text_fn, -1, text);
	struct annotation_domain *domain = nvtx_domain_of(NULL);
	int ours = ranges_push(domain, annotation_find(domain, text, BRICK_CATEGORY_OTHER));
	return theirs < 0 ? ours : theirs;
}

static int push_wide(const wchar_t *text)
{
	int theirs = ASK(NVTX_CORE, NVTX_PUSH_W, push_wide_fn, -1, text);
	struct annotation_domain *domain = nvtx_domain_of(NULL);
	int ours = ranges_push(domain, annotation_find_wide(domain, text, BRICK_CATEGORY_OTHER));
	return theirs < 0 ? ours : theirs;
}

static int nvtx_calls_pop(void)
{
	int ours = ranges_pop(nvtx_domain_of(NULL));
	int theirs = ASK(NVTX_CORE, NVTX_POP, pop_fn, -1);
	return theirs < 0 ? ours : theirs;
}

static void name_category(struct annotation_domain *domain, uint32_t number, const char *name)
{
	char kept[48];

	if (!number || !name)
		return;
	snprintf(kept, sizeof(kept), "%.47s", name);
	int category = brick_category_register(kept);
	if (category >= 0)
		nvtx_category_keep(domain, number, (uint32_t)category);
}

static void category_text(uint32_t number, const char *name)
{
	PASS(NVTX_CORE, NVTX_CATEGORY_A, name_fn, number, name);
	name_category(nvtx_domain_of(NULL), number, name);
}

static void category_wide(uint32_t number, const wchar_t *name)
{
	char text[TEXT_BYTES];

	PASS(NVTX_CORE, NVTX_CATEGORY_W, name_wide_fn, number, name);
	annotation_narrow(text, sizeof(text), name);
	name_category(nvtx_domain_of(NULL), number, text);
}

static void thread_text(uint32_t tid, const char *name)
{
	PASS(NVTX_CORE, NVTX_THREAD_A, name_fn, tid, name);
	if (name)
		ranges_name_thread(tid, name);
}

static void thread_wide(uint32_t tid, const wchar_t *name)
{
	char text[TEXT_BYTES];

	PASS(NVTX_CORE, NVTX_THREAD_W, name_wide_fn, tid, name);
	annotation_narrow(text, sizeof(text), name);
	ranges_name_thread(tid, text);
}

/* Domains. */

static void domain_mark(void *domain, const struct nvtx_event *event)
{
	PASS(NVTX_CORE2, NVTX_DOMAIN_MARK, domain_event_fn, domain, event);
	mark(domain, event);
}

static uint64_t domain_start(void *domain, const struct nvtx_event *event)
{
	uint64_t theirs = ASK(NVTX_CORE2, NVTX_DOMAIN_START, domain_start_fn, 0, domain, event);
	return nvtx_range_started(theirs, nvtx_calls_start(domain, event));
}

static void domain_end(void *domain, uint64_t number)
{
	nvtx_range_ended(number);
	PASS(NVTX_CORE2, NVTX_DOMAIN_END, domain_end_fn, domain, number);
}

static int domain_push(void *domain, const struct nvtx_event *event)
{
	int theirs = ASK(NVTX_CORE2, NVTX_DOMAIN_PUSH, domain_push_fn, -1, domain, event);
	int ours = nvtx_calls_push(domain, event);
	return theirs < 0 ? ours : theirs;
}

static int domain_pop(void *domain)
{
	int ours = ranges_pop(nvtx_domain_of(domain));
	int theirs = ASK(NVTX_CORE2, NVTX_DOMAIN_POP, domain_pop_fn, -1, domain);
	return theirs < 0 ? ours : theirs;
}

static void domain_category(void *domain, uint32_t number, const char *name)
{
	PASS(NVTX_CORE2, NVTX_DOMAIN_CATEGORY_A, domain_name_fn, domain, number, name);
	name_category(nvtx_domain_of(domain), number, name);
}

static void domain_category_wide(void *domain, uint32_t number, const wchar_t *name)
{
	char text[TEXT_BYTES];

	PASS(NVTX_CORE2, NVTX_DOMAIN_CATEGORY_W, domain_name_wide_fn, domain, number, name);
	annotation_narrow(text, sizeof(text), name);
	name_category(nvtx_domain_of(domain), number, text);
}

/* The handle that the program gets: the other tool's, if that makes any. */
static void *nvtx_calls_handle_of(int call, void *theirs, const void *ours)
{
	bool has_other = nvtx_is_chained && OTHER(NVTX_CORE2, call, nvtx_function);
	return has_other ? theirs : (void *)(uintptr_t)ours;
}

static void *keep_string(int call, void *theirs, const struct annotation *ours)
{
	void *handle = nvtx_calls_handle_of(call, theirs, ours);
	nvtx_string_keep(handle, ours);
	return handle;
}

static void *keep_domain(int call, void *theirs, struct annotation_domain *ours)
{
	void *handle = nvtx_calls_handle_of(call, theirs, ours);
	nvtx_domain_keep(handle, ours);
	return handle;
}

static void *register_text(void *domain, const char *text)
{
	void *theirs = ASK(NVTX_CORE2, NVTX_REGISTER_A, register_fn, NULL, domain, text);
	return keep_string(NVTX_REGISTER_A, theirs, annotation_keep(nvtx_domain_of(domain), text));
}

static void *register_wide(void *domain, const wchar_t *text)
{
	char narrow[4 * TEXT_BYTES];
	void *theirs = ASK(NVTX_CORE2, NVTX_REGISTER_W, register_wide_fn, NULL, domain, text);

	annotation_narrow(narrow, sizeof(narrow), text);
	return keep_string(
		NVTX_REGISTER_W, theirs, annotation_keep(nvtx_domain_of(domain), narrow));
}

static void *create_text(const char *name)
{
	void *theirs = ASK(NVTX_CORE2, NVTX_CREATE_A, create_fn, NULL, name);
	return keep_domain(NVTX_CREATE_A, theirs, annotation_domain(name));
}

static void *create_wide(const wchar_t *name)
{
	char text[TEXT_BYTES];
	void *theirs = ASK(NVTX_CORE2, NVTX_CREATE_W, create_wide_fn, NULL, name);

	annotation_narrow(text, sizeof(text), name);
	return keep_domain(NVTX_CREATE_W, theirs, annotation_domain(text));
}

/* Tables. */

#define OURS(function) ((nvtx_function)(function))

static const nvtx_function nvtx_calls_core[NVTX_MAX_CALLS] = {
	[NVTX_MARK_EX] = OURS(mark_event),
	[NVTX_MARK_A] = OURS(mark_text),
	[NVTX_MARK_W] = OURS(mark_wide),
	[NVTX_START_EX] = OURS(start_event),
	[NVTX_START_A] = OURS(start_text),
	[NVTX_START_W] = OURS(start_wide),
	[NVTX_END] = OURS(range_end),
	[NVTX_PUSH_EX] = OURS(push_event),
	[NVTX_PUSH_A] = OURS(push_text),
	[NVTX_PUSH_W] = OURS(push_wide),
	[NVTX_POP] = OURS(nvtx_calls_pop),
	[NVTX_CATEGORY_A] = OURS(category_text),
	[NVTX_CATEGORY_W] = OURS(category_wide),
	[NVTX_THREAD_A] = OURS(thread_text),
	[NVTX_THREAD_W] = OURS(thread_wide),
};

static const nvtx_function nvtx_calls_core2[NVTX_MAX_CALLS] = {
	[NVTX_DOMAIN_MARK] = OURS(domain_mark),
	[NVTX_DOMAIN_START] = OURS(domain_start),
	[NVTX_DOMAIN_END] = OURS(domain_end),
	[NVTX_DOMAIN_PUSH] = OURS(domain_push),
	[NVTX_DOMAIN_POP] = OURS(domain_pop),
	[NVTX_DOMAIN_CATEGORY_A] = OURS(domain_category),
	[NVTX_DOMAIN_CATEGORY_W] = OURS(domain_category_wide),
	[NVTX_REGISTER_A] = OURS(register_text),
	[NVTX_REGISTER_W] = OURS(register_wide),
	[NVTX_CREATE_A] = OURS(create_text),
	[NVTX_CREATE_W] = OURS(create_wide),
};

void nvtx_calls_take(int module, nvtx_function **table, unsigned count, const nvtx_function *before)
{
	const nvtx_function *ours = module == NVTX_CORE ? nvtx_calls_core : nvtx_calls_core2;

	for (unsigned i = 1; i < count && i < NVTX_MAX_CALLS; i++) {
		if (!table[i] || !ours[i])
			continue;
		if (*table[i] != before[i])
			__atomic_store_n(
				&nvtx_calls_others[module][i], *table[i], __ATOMIC_RELAXED);
		*table[i] = ours[i];
	}
}

nvtx_function nvtx_call_of(unsigned slot)
{
	enum { CALLS = NVTX_MAX_CALLS - 1 };

	if (slot - NVTX_CORE_SLOT < CALLS)
		return nvtx_calls_core[slot - NVTX_CORE_SLOT + 1];
	return slot - NVTX_CORE2_SLOT < CALLS ? nvtx_calls_core2[slot - NVTX_CORE2_SLOT + 1] : NULL;
}
