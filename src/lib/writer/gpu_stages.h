/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets for Perfetto's GPU views only; Brick's own reader skips them. Each command of a queue is
 * written once more, as a GpuRenderStageEvent (a stage) with its GPU, its context, its launch and
 * the commands that it waited for. Threads' events say which stages they launched or waited for.
 * One thread at a time.
 */
#pragma once

#include "base/array.h"
#include "base/hashmap.h"
#include "lib/writer/writer_names.h"

enum { GPU_MAX_FLOWS = 1 << 14 }; /* arrows from one launch */

/* The bytes that all stages of a kernel begin with. */
struct stage_template {
	uint8_t bytes[96];
	uint32_t length;   /* of bytes */
	uint32_t head;	   /* the stage begins here; the two bytes before are its length */
	packet_place last; /* of the kernel's last stage; 0: none */
};

/* Of a queue. */
struct gpu_stages {
	const struct lane_names *names;
	uint32_t api; /* index in gpu_stages.c's list of APIs that Perfetto has; its end: none */
	ARRAY(struct stage_template) templates;
	struct hashmap by_kernel; /* index of a kernel -> position in templates */
};

/* backend: of the queue, `bytes` of which may lack a NUL. names stays the caller's. */
void gpu_stages_init(struct gpu_stages *stages, const struct lane_names *names, const char *backend,
	size_t bytes);
void gpu_stages_fini(struct gpu_stages *stages);

/* Adds the queue's name and context to the interned data that is open in the scratch. */
void gpu_stages_intern(const struct gpu_stages *stages, const char *name, size_t name_bytes);

/*
 * Writes the stage of the command whose slice has just begun. A stage stands at the command's begin
 * and has its length. A command that holds others gets none: at its begin its length is not known.
 */
void gpu_stage(struct gpu_stages *stages, const struct record_args *args, uint64_t length_ns);

/* Add to the event that is open in the scratch the commands that it launched, or waited for. */
void gpu_stages_launched(const struct lane_names *names, const struct record_args *args);
void gpu_stages_waited(const struct lane_names *names, const uint64_t *numbers, uint32_t count);
