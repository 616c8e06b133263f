/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool that somebody else has injected: counts what it is told, with handles of its own, and
 * writes that to the file that NVTX_TOOL_LOG names when the process ends. One word in NVTX_TOOL:
 * "plain" (default), "refuses" (takes no object).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/probe/nvtx_abi.h"

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_export_fn get_export);

static struct {
	unsigned objects, pushes, pops, starts, ends, marks, domains, strings, bad;
} told;
static int domain_space[64], string_space[4096];
static uint64_t next_range = 1000;

static FILE *ranges;
static char *texts[4096]; /* by string */

static void log_push(const char *text, long long payload)
{
	if (ranges)
		fprintf(ranges, "+\t%ld\t%s\t%lld\n", syscall(SYS_gettid), text, payload);
}

static void log_event(const struct nvtx_event *event)
{
	long long payload = event->payload_type == NVTX_INT64 ? event->payload.i64 : -1;

	if (event->message_type == NVTX_TEXT)
		log_push(event->message.text, payload);
	else if (event->message_type == NVTX_HANDLE)
		log_push(texts[(const int *)event->message.handle - string_space], payload);
}

static void tell(unsigned *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static int is_ours(const void *handle, const int *space, unsigned count)
{
	const int *at = handle;
	return at >= space && at < space + count;
}

static void check_event(const void *domain, const struct nvtx_event *event)
{
	if (domain && !is_ours(domain, domain_space, 64))
		tell(&told.bad);
	if (event->message_type == NVTX_HANDLE &&
		!is_ours(event->message.handle, string_space, 4096))
		tell(&told.bad);
}

static int push_text(const char *text)
{
	tell(&told.pushes);
	return text ? 40 : -1;
}

static int push_wide(const wchar_t *text)
{
	tell(&told.pushes);
	return text ? 40 : -1;
}

static int push_event(const struct nvtx_event *event)
{
	check_event(NULL, event);
	tell(&told.pushes);
	return 40;
}

static int pop(void)
{
	if (ranges)
		fprintf(ranges, "-\t%ld\n", syscall(SYS_gettid));
	tell(&told.pops);
	return 40;
}

static uint64_t start_text(const char *text)
{
	tell(&told.starts);
	return text ? __atomic_add_fetch(&next_range, 1, __ATOMIC_RELAXED) : 0;
}

static void end(uint64_t id)
{
	if (id <= 1000 || id > next_range)
		tell(&told.bad);
	tell(&told.ends);
}

static void mark_text(const char *text)
{
	tell(text ? &told.marks : &told.bad);
}

static void domain_mark(void *domain, const struct nvtx_event *event)
{
	check_event(domain, event);
	tell(&told.marks);
}

static uint64_t domain_start(void *domain, const struct nvtx_event *event)
{
	check_event(domain, event);
	tell(&told.starts);
	return __atomic_add_fetch(&next_range, 1, __ATOMIC_RELAXED);
}

static void domain_end(void *domain, uint64_t id)
{
	if (!is_ours(domain, domain_space, 64))
		tell(&told.bad);
	end(id);
}

static int domain_push(void *domain, const struct nvtx_event *event)
{
	check_event(domain, event);
	log_event(event);
	tell(&told.pushes);
	return 40;
}

static int domain_pop(void *domain)
{
	if (!is_ours(domain, domain_space, 64))
		tell(&told.bad);
	return pop();
}

static void *make_string(void *domain, const char *text)
{
	unsigned place = __atomic_fetch_add(&told.strings, 1, __ATOMIC_RELAXED);

	if (!text || !is_ours(domain, domain_space, 64))
		tell(&told.bad);
	texts[place] = strdup(text ? text : "");
	return &string_space[place];
}

static void *make_wide_string(void *domain, const wchar_t *text)
{
	return make_string(domain, text ? "" : NULL);
}

static void *make_domain(const char *name)
{
	return name ? &domain_space[__atomic_fetch_add(&told.domains, 1, __ATOMIC_RELAXED)] : NULL;
}

static void *make_wide_domain(const wchar_t *name)
{
	return make_domain(name ? "" : NULL);
}

static void finish(void)
{
	if (ranges)
		fflush(ranges);
	const char *path = getenv("NVTX_TOOL_LOG");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file,
		"objects %u\npushes %u\npops %u\nstarts %u\nends %u\nmarks %u\ndomains %u\n"
		"strings %u\nbad %u\n",
		told.objects, told.pushes, told.pops, told.starts, told.ends, told.marks,
		told.domains, told.strings, told.bad);
	fclose(file);
}

static void set(nvtx_function **table, unsigned count, unsigned call, nvtx_function function)
{
	if (call < count && table[call])
		*table[call] = function;
}

#define SET(table, count, call, function) set(table, count, call, (nvtx_function)(function))

int InitializeInjectionNvtx2(nvtx_export_fn get_export)
{
	const struct nvtx_callbacks *callbacks = get_export(NVTX_CALLBACKS);
	const char *kind = getenv("NVTX_TOOL");
	nvtx_function **core, **core2;
	unsigned core_count = 0, core2_count = 0;

	if (!told.objects) {
		const char *path = getenv("NVTX_TOOL_RANGES");
		ranges = path ? fopen(path, "w") : NULL;
		atexit(finish);
	}
	tell(&told.objects);
	if (kind && !strcmp(kind, "refuses"))
		return 0;
	callbacks->module_table(NVTX_CORE, &core, &core_count);
	callbacks->module_table(NVTX_CORE2, &core2, &core2_count);
	SET(core, core_count, NVTX_PUSH_A, push_text);
	SET(core, core_count, NVTX_PUSH_W, push_wide);
	SET(core, core_count, NVTX_PUSH_EX, push_event);
	SET(core, core_count, NVTX_POP, pop);
	SET(core, core_count, NVTX_START_A, start_text);
	SET(core, core_count, NVTX_END, end);
	SET(core, core_count, NVTX_MARK_A, mark_text);
	SET(core2, core2_count, NVTX_DOMAIN_MARK, domain_mark);
	SET(core2, core2_count, NVTX_DOMAIN_START, domain_start);
	SET(core2, core2_count, NVTX_DOMAIN_END, domain_end);
	SET(core2, core2_count, NVTX_DOMAIN_PUSH, domain_push);
	SET(core2, core2_count, NVTX_DOMAIN_POP, domain_pop);
	SET(core2, core2_count, NVTX_REGISTER_A, make_string);
	SET(core2, core2_count, NVTX_REGISTER_W, make_wide_string);
	SET(core2, core2_count, NVTX_CREATE_A, make_domain);
	SET(core2, core2_count, NVTX_CREATE_W, make_wide_domain);
	return 1;
}
