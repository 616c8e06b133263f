/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Perfetto's GPU views read, and nothing else of Brick's: each command of a queue once more,
 * as a GpuRenderStageEvent with its GPU, its context, its launch and what it waited for; and on the
 * threads' events which of these they launched and waited for. One thread at a time.
 */
#pragma once

#include "base/array.h"
#include "base/hashmap.h"
#include "lib/writer/writer_names.h"

enum { GPU_MAX_FLOWS = 1 << 14 }; /* arrows from one launch */

/* What all stages of a kernel begin with. */
struct stage_template {
	uint8_t bytes[96];
	uint32_t length, head; /* the stage begins behind `head`, whose last bytes are its length */
	packet_place last;
};

/* Of a queue. */
struct gpu_stages {
	const struct lane_names *names;
	uint32_t api; /* index in the list of those that Perfetto has */
	ARRAY(struct stage_template) templates;
	struct hashmap by_kernel; /* their positions */
};

/* backend: of the queue, `bytes` of which may lack a NUL. names stays the caller's. */
void gpu_stages_init(struct gpu_stages *stages, const struct lane_names *names, const char *backend,
	size_t bytes);
void gpu_stages_fini(struct gpu_stages *stages);

/* Into the queue's interned data: its name, and its context. */
void gpu_stages_intern(const struct gpu_stages *stages, const char *name, size_t name_bytes);

/*
 * The command whose slice has just begun, with the end's time of that. A stage stands at its begin
 * and has its length. So a command that holds others has none: its length is not known there.
 */
void gpu_stage(struct gpu_stages *stages, const struct record_args *args, uint64_t length_ns);

/* Into the event that is open in the scratch: one that launched, or waited for, commands. */
void gpu_stages_launched(const struct lane_names *names, const struct record_args *args);
void gpu_stages_waited(const struct lane_names *names, const uint64_t *numbers, uint32_t count);
