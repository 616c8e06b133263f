/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double of NVTX's header for machines without it: the calls that tests make, and how each object
 * that includes it finds its tool, by what is published of that. Include it in one source of an
 * object. Any thread.
 */
#pragma once

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "lib/probe/nvtx_abi.h"

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_MESSAGE_TYPE_ASCII NVTX_TEXT
#define NVTX_MESSAGE_TYPE_UNICODE NVTX_WIDE_TEXT
#define NVTX_MESSAGE_TYPE_REGISTERED NVTX_HANDLE
#define NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 NVTX_UINT64
#define NVTX_PAYLOAD_TYPE_DOUBLE NVTX_DOUBLE

typedef uint64_t nvtxRangeId_t;
typedef void *nvtxDomainHandle_t;
typedef void *nvtxStringHandle_t;

/* The names of the members are NVTX's own. */
typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		double dValue;
	} payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		nvtxStringHandle_t registered;
	} message;
} nvtxEventAttributes_t;

static int nvtx__module_table(int module, nvtx_function ***table, unsigned *count);

static struct nvtx_globals nvtx__globals = {
	.callbacks = {sizeof(struct nvtx_callbacks), nvtx__module_table},
	.about_bytes = 24,
	.version = NVTX_VERSION,
};

static int nvtx__module_table(int module, nvtx_function ***table, unsigned *count)
{
	int at = module == NVTX_CORE ? NVTX_CORE_SLOT : NVTX_CORE2_SLOT + 2 * 4;

	*table = &nvtx__globals.tables[at];
	*count = NVTX_MAX_CALLS;
	return module == NVTX_CORE || module == NVTX_CORE2;
}

static const void *nvtx__export(uint32_t table)
{
	return table == NVTX_CALLBACKS ? &nvtx__globals.callbacks : NULL;
}

/* What a slot holds before anybody has set it: to call it is a fault of the tool. */
static void nvtx__unset(void)
{
	abort();
}

__attribute__((constructor)) static void nvtx__fill(void)
{
	static const int counts[NVTX_TABLES] = {15, 8, 14, 6, 15, 6};
	int slot = 0, at = 0;

	for (int module = 0; module < NVTX_TABLES; module++, at += 2)
		for (int i = 0; i < counts[module]; i++) {
			nvtx__globals.tables[++at] = &nvtx__globals.slots[slot];
			nvtx__globals.slots[slot++] = nvtx__unset;
		}
}

static void nvtx__load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(nvtx_export_fn) = NULL;
	void *found = tool ? dlsym(tool, "InitializeInjectionNvtx2") : NULL;

	memcpy(&initialize, &found, sizeof(found));
	int is_taken = initialize && initialize(nvtx__export);
	for (int i = 0; i < NVTX_SLOTS; i++)
		if (!is_taken || nvtx__globals.slots[i] == nvtx__unset)
			nvtx__globals.slots[i] = NULL;
	if (tool && !is_taken)
		dlclose(tool);
}

static nvtx_function nvtx__find(int slot)
{
	nvtx_function found = __atomic_load_n(&nvtx__globals.slots[slot], __ATOMIC_ACQUIRE);
	uint32_t state = NVTX_FRESH;

	if (found != nvtx__unset)
		return found;
	if (__atomic_compare_exchange_n(&nvtx__globals.state, &state, NVTX_STARTED, 0,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		nvtx__load();
		__atomic_store_n(&nvtx__globals.state, NVTX_COMPLETE, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&nvtx__globals.state, __ATOMIC_ACQUIRE) != NVTX_COMPLETE)
		sched_yield();
	return __atomic_load_n(&nvtx__globals.slots[slot], __ATOMIC_ACQUIRE);
}

#define NVTX__CALL(type, name, none, parameters, arguments, table, call)          \
	__attribute__((unused)) static type name parameters                       \
	{                                                                         \
		nvtx_function function = nvtx__find(table + call - 1);            \
		return function ? ((type(*) parameters)function)arguments : none; \
	}

#define NVTX__VOID (void)0
NVTX__CALL(int, nvtxRangePushA, -2, (const char *text), (text), NVTX_CORE_SLOT, NVTX_PUSH_A)
NVTX__CALL(int, nvtxRangePushW, -2, (const wchar_t *text), (text), NVTX_CORE_SLOT, NVTX_PUSH_W)
NVTX__CALL(int, nvtxRangePushEx, -2, (const nvtxEventAttributes_t *event), (event), NVTX_CORE_SLOT,
	NVTX_PUSH_EX)
NVTX__CALL(int, nvtxRangePop, -2, (void), (), NVTX_CORE_SLOT, NVTX_POP)
NVTX__CALL(
	nvtxRangeId_t, nvtxRangeStartA, 0, (const char *text), (text), NVTX_CORE_SLOT, NVTX_START_A)
NVTX__CALL(void, nvtxRangeEnd, NVTX__VOID, (nvtxRangeId_t id), (id), NVTX_CORE_SLOT, NVTX_END)
NVTX__CALL(void, nvtxMarkA, NVTX__VOID, (const char *text), (text), NVTX_CORE_SLOT, NVTX_MARK_A)
NVTX__CALL(void, nvtxMarkEx, NVTX__VOID, (const nvtxEventAttributes_t *event), (event),
	NVTX_CORE_SLOT, NVTX_MARK_EX)
NVTX__CALL(void, nvtxNameOsThreadA, NVTX__VOID, (uint32_t tid, const char *name), (tid, name),
	NVTX_CORE_SLOT, NVTX_THREAD_A)
NVTX__CALL(nvtxDomainHandle_t, nvtxDomainCreateA, NULL, (const char *name), (name), NVTX_CORE2_SLOT,
	NVTX_CREATE_A)
NVTX__CALL(nvtxDomainHandle_t, nvtxDomainCreateW, NULL, (const wchar_t *name), (name),
	NVTX_CORE2_SLOT, NVTX_CREATE_W)
NVTX__CALL(nvtxStringHandle_t, nvtxDomainRegisterStringA, NULL,
	(nvtxDomainHandle_t domain, const char *text), (domain, text), NVTX_CORE2_SLOT,
	NVTX_REGISTER_A)
NVTX__CALL(nvtxStringHandle_t, nvtxDomainRegisterStringW, NULL,
	(nvtxDomainHandle_t domain, const wchar_t *text), (domain, text), NVTX_CORE2_SLOT,
	NVTX_REGISTER_W)
NVTX__CALL(void, nvtxDomainNameCategoryA, NVTX__VOID,
	(nvtxDomainHandle_t domain, uint32_t number, const char *name), (domain, number, name),
	NVTX_CORE2_SLOT, NVTX_DOMAIN_CATEGORY_A)
NVTX__CALL(int, nvtxDomainRangePushEx, -2,
	(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event),
	NVTX_CORE2_SLOT, NVTX_DOMAIN_PUSH)
NVTX__CALL(int, nvtxDomainRangePop, -2, (nvtxDomainHandle_t domain), (domain), NVTX_CORE2_SLOT,
	NVTX_DOMAIN_POP)
NVTX__CALL(nvtxRangeId_t, nvtxDomainRangeStartEx, 0,
	(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event),
	NVTX_CORE2_SLOT, NVTX_DOMAIN_START)
NVTX__CALL(void, nvtxDomainRangeEnd, NVTX__VOID, (nvtxDomainHandle_t domain, nvtxRangeId_t id),
	(domain, id), NVTX_CORE2_SLOT, NVTX_DOMAIN_END)
NVTX__CALL(void, nvtxDomainMarkEx, NVTX__VOID,
	(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event),
	NVTX_CORE2_SLOT, NVTX_DOMAIN_MARK)
