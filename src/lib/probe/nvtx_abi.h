/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NVTX 3 hands to a tool, as far as it is used here: written down from its documentation, and
 * held against its headers where Brick is built with them (nvtx_abi_check.c). Constant data; any
 * thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void (*nvtx_function)(void);

/* Modules, and their functions by number. */
enum { NVTX_CORE = 1, NVTX_CORE2 = 5, NVTX_MODULES = 7, NVTX_MAX_CALLS = 16 };

enum nvtx_core_call {
	NVTX_MARK_EX = 1,
	NVTX_MARK_A,
	NVTX_MARK_W,
	NVTX_START_EX,
	NVTX_START_A,
	NVTX_START_W,
	NVTX_END,
	NVTX_PUSH_EX,
	NVTX_PUSH_A,
	NVTX_PUSH_W,
	NVTX_POP,
	NVTX_CATEGORY_A,
	NVTX_CATEGORY_W,
	NVTX_THREAD_A,
	NVTX_THREAD_W,
};

enum nvtx_domain_call {
	NVTX_DOMAIN_MARK = 1,
	NVTX_DOMAIN_START,
	NVTX_DOMAIN_END,
	NVTX_DOMAIN_PUSH,
	NVTX_DOMAIN_POP,
	NVTX_DOMAIN_CATEGORY_A = 8,
	NVTX_DOMAIN_CATEGORY_W,
	NVTX_REGISTER_A,
	NVTX_REGISTER_W,
	NVTX_CREATE_A,
	NVTX_CREATE_W,
};

/* An event's attributes. */
enum { NVTX_TEXT = 1, NVTX_WIDE_TEXT = 2, NVTX_HANDLE = 3 };
enum {
	NVTX_UINT64 = 1,
	NVTX_INT64,
	NVTX_DOUBLE,
	NVTX_UINT32,
	NVTX_INT32,
	NVTX_FLOAT,
	NVTX_PAYLOADS = (int32_t)0xdfbd0009,
};

struct nvtx_event {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t payload_count; /* of NVTX_PAYLOADS */
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
		const struct nvtx_payload *payloads;
	} payload;
	int32_t message_type;
	int32_t reserved;
	union {
		const char *text;
		const wchar_t *wide;
		const void *handle;
	} message;
};

/* What NVTX exports to the tool. */
enum { NVTX_CALLBACKS = 1 };

struct nvtx_callbacks {
	size_t size;
	int (*module_table)(int module, nvtx_function ***table, unsigned *count);
};

typedef const void *(*nvtx_export_fn)(uint32_t table);

/*
 * What each object that has NVTX inside keeps of it, in initialised data that no other object sees.
 * Objects' sources may be compiled with any header of version 3, so its layout is one for all.
 */
enum { NVTX_FRESH, NVTX_STARTED, NVTX_COMPLETE };
enum { NVTX_CORE_SLOT = 0, NVTX_CORE2_SLOT = 43, NVTX_SLOTS = 64, NVTX_TABLES = 6 };

struct nvtx_globals {
	uint32_t state;
	struct nvtx_callbacks callbacks;
	size_t about_bytes; /* of this, version, reserved and tell_version */
	uint32_t version, reserved;
	nvtx_function tell_version;
	nvtx_function slots[NVTX_SLOTS];
	/* of each module NULL, the addresses of its slots, NULL */
	nvtx_function *tables[NVTX_SLOTS + 2 * NVTX_TABLES];
};

/* Extensions: the one of payloads. */
enum { NVTX_PAYLOAD_MODULE = 2 };
enum nvtx_payload_call {
	NVTX_SCHEMA_REGISTER = 0,
	NVTX_MARK_PAYLOAD = 2,
	NVTX_PUSH_PAYLOAD,
	NVTX_POP_PAYLOAD,
	NVTX_START_PAYLOAD,
	NVTX_END_PAYLOAD,
	NVTX_IS_ENABLED,
};

struct nvtx_segment {
	size_t id, count;
	intptr_t *slots;
};

struct nvtx_module {
	uint16_t version, size, id, compatibility;
	size_t segment_count;
	struct nvtx_segment *segments;
	intptr_t (*get_export)(uint32_t id);
	const void *info;
};

struct nvtx_payload {
	uint64_t schema;
	size_t bytes;
	const void *data;
};

struct nvtx_schema_entry {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t detail, offset;
	const void *semantics, *reserved;
};

enum { NVTX_SCHEMA_ID = 1 << 8 };
struct nvtx_schema {
	uint64_t fields;
	const char *name;
	uint64_t type, flags;
	const struct nvtx_schema_entry *entries;
	size_t entry_count;
	size_t payload_bytes, alignment;
	uint64_t id;
	void *extension;
};
