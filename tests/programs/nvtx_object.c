/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of several objects of a process, each with an NVTX of its own. Compiled against NVTX's
 * headers, or their double.
 */
#include <nvtx3/nvToolsExt.h>
#ifdef NVTX_REAL
#include <nvtx3/nvToolsExtPayload.h>
#include "lib/probe/nvtx_abi.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "tests/programs/annotated_object.h"

__attribute__((visibility("default"))) extern const struct annotated_object annotated_object;

#ifdef NVTX_REAL
_Static_assert(sizeof(struct nvtx_globals) == sizeof(nvtxGlobals_t) &&
		       offsetof(struct nvtx_globals, slots[NVTX_CORE2_SLOT]) ==
			       offsetof(nvtxGlobals_t, nvtxDomainMarkEx_impl_fnptr) &&
		       offsetof(struct nvtx_globals, tables) ==
			       offsetof(nvtxGlobals_t, functionTable_CORE),
	"NVTX's own data");
#endif

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static nvtxEventAttributes_t event_of(const char *text)
{
	nvtxEventAttributes_t event = {0};

	event.version = NVTX_VERSION;
	event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = text;
	return event;
}

/* The next place for what is said; times begin. */
static struct said *begin(struct said *s, int *count, const char *brick, int layer)
{
	struct said *next = &s[(*count)++];

	*next = (struct said){
		.brick = brick, .domain = "", .layer = layer, .before_begin = now_ns()};
	return next;
}

static void began(struct said *s, int level)
{
	s->level = level;
	s->after_begin = now_ns();
}

#define ENDING(s, call)                     \
	do {                                \
		(s)->before_end = now_ns(); \
		call;                       \
		(s)->after_end = now_ns();  \
	} while (0)

static const char module_name[] = "{'Module': 'model.layers.%d.self_attn.qkv_proj', "
				  "'TrainableParams': {'weight': [96, 32]}, 'Inputs': [[%d, 32]]}";

static int work(int number, int rounds, struct said *said, int most)
{
	char domain_name[32], plain[64], module[256];
	int n = 0;

	snprintf(domain_name, sizeof(domain_name), "Object%c", 'A' + number);
	nvtxDomainHandle_t domain = nvtxDomainCreateA(domain_name);
	nvtxDomainHandle_t wide_domain = nvtxDomainCreateW(L"Wide domain");
	nvtxDomainNameCategoryA(domain, 7, "Loading");
	nvtxStringHandle_t registered =
		nvtxDomainRegisterStringA(domain, "model.layers.2.mlp.up_proj");
	nvtxStringHandle_t wide = nvtxDomainRegisterStringW(wide_domain, L"wide r\u00e9gistered");

	for (int i = 0; i < rounds && n + 12 <= most; i++) {
		struct said *outer, *s;

		snprintf(plain, sizeof(plain), "outer %d", i);
		outer = begin(said, &n, "outer #", -1);
		began(outer, nvtxRangePushA(plain));

		s = begin(said, &n, "\u00e4u\u00dfere \u20ac\U0001f600", -1);
		began(s, nvtxRangePushW(L"\u00e4u\u00dfere \u20ac\U0001f600"));
		ENDING(s, nvtxRangePop());

		nvtxEventAttributes_t event = event_of(NULL);
		event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
		event.message.registered = registered;
		struct said *middle = begin(said, &n, "UpProjection", 2);
		middle->domain = "domain";
		began(middle, nvtxDomainRangePushEx(domain, &event));

		event.message.registered = wide;
		s = begin(said, &n, "wide r\u00e9gistered", -1);
		s->domain = "wide";
		began(s, nvtxDomainRangePushEx(wide_domain, &event));
		ENDING(s, nvtxDomainRangePop(wide_domain));

		snprintf(module, sizeof(module), module_name, i % 3, i);
		event = event_of(module);
		s = begin(said, &n, "QkvProjection", i % 3);
		began(s, nvtxRangePushEx(&event));
		ENDING(s, nvtxRangePop());

		ENDING(middle, nvtxDomainRangePop(domain));

		event = event_of("load weights");
		event.category = 7;
		event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
		event.payload.ullValue = (uint64_t)i;
		s = begin(said, &n, "load weights", -1);
		s->domain = "domain";
		began(s, nvtxDomainRangePushEx(domain, &event));
		ENDING(s, nvtxDomainRangePop(domain));

		struct said *first = begin(said, &n, "copy in", -1);
		first->is_async = 1;
		nvtxRangeId_t one = nvtxRangeStartA("copy in");
		began(first, 0);
		event = event_of("copy out");
		struct said *second = begin(said, &n, "copy out", -1);
		second->is_async = 1;
		nvtxRangeId_t two = nvtxDomainRangeStartEx(domain, &event);
		began(second, 0);
		ENDING(first, nvtxRangeEnd(one));
		ENDING(second, nvtxDomainRangeEnd(domain, two));

		nvtxMarkA("token");
		event = event_of("queue length");
		event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
		event.payload.dValue = i + 0.5;
		nvtxDomainMarkEx(domain, &event);
		ENDING(outer, nvtxRangePop());
	}
	return n;
}

static int across(int rounds, struct said *said, int most)
{
	nvtxDomainHandle_t one = nvtxDomainCreateA("One"), two = nvtxDomainCreateA("Two");
	nvtxEventAttributes_t a = event_of("early"), b = event_of("late");
	int n = 0;

	for (int i = 0; i < rounds && n + 2 <= most; i++) {
		struct said *first = begin(said, &n, "early", -1);
		began(first, nvtxDomainRangePushEx(one, &a));
		struct said *second = begin(said, &n, "late", -1);
		began(second, nvtxDomainRangePushEx(two, &b));
		ENDING(first, nvtxDomainRangePop(one));
		ENDING(second, nvtxDomainRangePop(two));
	}
	return n;
}

static void name_thread(const char *name)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
}

static double pairs(int count, int is_registered)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("Pairs");
	nvtxEventAttributes_t event = event_of("model.layers.5.self_attn.qkv_proj");

	if (is_registered) {
		event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
		event.message.registered =
			nvtxDomainRegisterStringA(domain, "model.layers.5.self_attn.qkv_proj");
	}
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < count; i++) {
		nvtxDomainRangePushEx(domain, &event);
		nvtxDomainRangePop(domain);
	}
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / count;
}

static int payload(uint64_t bytes)
{
#ifdef NVTX_REAL
	static const nvtxPayloadSchemaEntry_t entries[] = {
		{0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "Communicator", NULL, 0, 0, NULL, NULL},
		{0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", NULL, 0, 8, NULL, NULL},
	};
	nvtxPayloadSchemaAttr_t schema = {0};
	struct {
		uint64_t communicator;
		size_t bytes;
	} data = {1, bytes};
	nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");

	schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
			   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	schema.entries = entries;
	schema.numEntries = 2;
	schema.payloadStaticSize = sizeof(data);
	nvtxPayloadData_t one = {nvtxPayloadSchemaRegister(domain, &schema), sizeof(data), &data};
	nvtxEventAttributes_t event = event_of("ncclAllReduce");
	event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
	event.reserved0 = 1;
	event.payload.ullValue = (uint64_t)(uintptr_t)&one;
	nvtxDomainRangePushEx(domain, &event);
	nvtxDomainRangePop(domain);
	return 1;
#else
	(void)bytes;
	return 0;
#endif
}

static void registered(int count)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("Registered");
	nvtxStringHandle_t *strings = calloc((size_t)count, sizeof(*strings));
	nvtxEventAttributes_t event = event_of(NULL);
	char text[32];

	for (int i = 0; strings && i < count; i++) {
		snprintf(text, sizeof(text), "layers.%d.x%x.q_proj", i % 3, (unsigned)i);
		strings[i] = nvtxDomainRegisterStringA(domain, text);
	}
	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	for (int i = 0; strings && i < count; i++) {
		event.message.registered = strings[i];
		nvtxDomainRangePushEx(domain, &event);
		nvtxDomainRangePop(domain);
	}
	free(strings);
}

static int push(const char *text)
{
	return nvtxRangePushA(text);
}

static int pop(void)
{
	return nvtxRangePop();
}

static uint64_t start(const char *text)
{
	return nvtxRangeStartA(text);
}

static void end(uint64_t id)
{
	nvtxRangeEnd(id);
}

const struct annotated_object annotated_object = {
	work, push, pop, start, end, name_thread, pairs, across, payload, registered};
