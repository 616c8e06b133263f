/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up session for tests of the trace writer: tables with the built-in bricks and some sites,
 * a clock of 2 ticks per ns from tick 1000 on, and records in few words. Header only.
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include "trace/run.h"
#include "lib/writer/writer.h"

enum {
	FAKE_TICKS = 2, /* per ns */
	FAKE_BASE_TICKS = 1000,
	FAKE_BASE_NS = 5000000,
	FAKE_CUSTOM_BRICK = BRICK_FIRST_DYNAMIC,
	FAKE_CUSTOM_CATEGORY = BRICK_CATEGORY_FIRST_DYNAMIC,
};

struct fake {
	struct brick_session_header header;
	struct brick_session_brick bricks[BRICK_FIRST_ROWS];
	struct brick_session_category categories[BRICK_MAX_CATEGORIES];
	struct brick_session_site sites[256];
	struct brick_session_kernel kernels[64];
	struct sink_tables tables;
	struct brick_lane lane;
};

static inline struct brick_clock fake_clock(void)
{
	return (struct brick_clock){.source = BRICK_CLOCK_TSC,
		.shift = 1,
		.mult = 1,
		.base_ticks = FAKE_BASE_TICKS,
		.base_ns = FAKE_BASE_NS,
		.frequency = 2000000000,
		.residual_ns = 7,
		.step_ticks = 2};
}

/* Ticks of so many ns after the start, and what the reader should make of them. */
static inline uint64_t fake_ticks(uint64_t ns)
{
	return FAKE_BASE_TICKS + ns * FAKE_TICKS;
}

static inline uint64_t fake_ns(uint64_t ns)
{
	return FAKE_BASE_NS + ns;
}

static inline void fake_tables(struct fake *f)
{
	static const struct {
		const char *name;
		uint16_t category;
	} bricks[] = {
#define BRICK_X(id, identifier, text, kind, aliases) [id] = {text, BRICK_CATEGORY_##kind},
		BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
			[FAKE_CUSTOM_BRICK] = {"My \"brick\"\n\xc3\xa4", FAKE_CUSTOM_CATEGORY},
	};
	static const char *const categories[] = {"Norm", "Attention", "FFN", "Other", "Sparse",
		"FFT", "Solver", "Engine", "Wait", "Step", "Tile", "Mine"};

	for (size_t i = 0; i < sizeof bricks / sizeof *bricks; i++) {
		snprintf(f->bricks[i].name, sizeof f->bricks[i].name, "%s", bricks[i].name);
		f->bricks[i].category = bricks[i].category;
	}
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
		snprintf(f->categories[i].name, sizeof f->categories[i].name, "%s", categories[i]);
	f->tables = (struct sink_tables){.bricks = f->bricks,
		.brick_count = sizeof bricks / sizeof *bricks,
		.categories = f->categories,
		.category_count = sizeof categories / sizeof *categories,
		.sites = f->sites,
		.site_count = 1,
		.kernels = f->kernels,
		.kernel_count = 1};
}

/* A site of the model; returns its index. */
static inline uint32_t fake_site(struct fake *f, uint16_t brick, int16_t layer, uint64_t elements,
	const char *operation, const char *label)
{
	struct brick_session_site *site = &f->sites[f->tables.site_count];

	*site = (struct brick_session_site){.brick = brick,
		.layer = layer,
		.flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS,
		.elements = elements,
		.bytes = elements * 4,
		.flops = elements * 3};
	snprintf(site->operation, sizeof site->operation, "%s", operation);
	snprintf(site->label, sizeof site->label, "%s", label);
	return f->tables.site_count++;
}

/* A kernel of 16 groups of 256, or a kind of transfer; returns its index. */
static inline uint32_t fake_kernel(struct fake *f, const char *name, uint32_t kind)
{
	struct brick_session_kernel *kernel = &f->kernels[f->tables.kernel_count];

	*kernel = (struct brick_session_kernel){.kind = kind, .backend = "null"};
	if (kind == BRICK_KERNEL_COMPUTE) {
		kernel->grid[0] = 16;
		kernel->block[0] = 256;
		kernel->grid[1] = kernel->grid[2] = kernel->block[1] = kernel->block[2] = 1;
		kernel->shared_bytes = 1024;
		kernel->registers = 32;
		kernel->code = 0x8899aabbccddeeff;
	}
	snprintf(kernel->name, sizeof kernel->name, "%s", name);
	return f->tables.kernel_count++;
}

static inline void fake_init(struct fake *f, uint32_t pid)
{
	static const char command[] = "engine\0-p\0a \"prompt\"";

	memset(f, 0, sizeof *f);
	f->header = (struct brick_session_header){.magic = BRICK_SESSION_MAGIC,
		.version = BRICK_SESSION_VERSION,
		.state = BRICK_SESSION_OPEN,
		.pid = pid,
		.parent = 1,
		.rank = -1,
		.world = -1,
		.start_ticks = fake_ticks(0),
		.start_ns = fake_ns(0),
		.start_unix_ns = 1700000000000000000ull,
		.clock = fake_clock(),
		.pair_cost = 25 * 2 * 256,
		.pair_cost_low = 20 * 2 * 256,
		.pair_cost_high = 30 * 2 * 256,
		.pair_cost_streamed = 90 * 2 * 256,
		.pair_cost_cold = 4000 * 2 * 256,
		.pair_stream_ticks = 16000 * 2,
		.host = "box",
		.executable = "/opt/engine",
		.command_bytes = sizeof command};
	memcpy(f->header.command, command, sizeof command);
	f->header.ledger.unsupported = 3;
	fake_tables(f);
	f->lane.state = BRICK_LANE_LIVE;
	f->lane.kind = BRICK_LANE_THREAD;
	f->lane.tid = pid;
	f->lane.owners = 1;
	f->lane.start_ticks = fake_ticks(0);
	strcpy(f->lane.name, "main");
	for (size_t i = 0; i < BRICK_FIRST_ROWS; i++)
		f->lane.stats[i].min = UINT64_MAX;
}

static inline struct brick_record fake_sample(
	uint64_t begin_ns, uint64_t ns, uint16_t brick, int16_t layer)
{
	return (struct brick_record){.begin = fake_ticks(begin_ns),
		.ticks = (uint32_t)(ns * FAKE_TICKS),
		.kind = BRICK_RECORD_SAMPLE,
		.source = BRICK_SOURCE_TSC,
		.brick = brick,
		.layer = layer};
}

/* With a site; wait and inner in ns. */
static inline struct brick_record fake_sited(const struct fake *f, uint64_t begin_ns, uint64_t ns,
	uint32_t site, uint32_t wait_ns, uint32_t inner_ns)
{
	struct brick_record r =
		fake_sample(begin_ns, ns, f->sites[site].brick, f->sites[site].layer);

	r.wait = wait_ns * FAKE_TICKS;
	r.flags = BRICK_FLAG_SITE;
	r.site = site;
	r.inner = inner_ns * FAKE_TICKS;
	return r;
}

static inline struct brick_record fake_at(
	uint8_t kind, uint64_t ns, uint16_t brick, uint64_t elements)
{
	return (struct brick_record){.begin = fake_ticks(ns),
		.kind = kind,
		.source = BRICK_SOURCE_TSC,
		.brick = brick,
		.layer = -1,
		.elements = elements};
}

static inline struct brick_record fake_sequence(uint64_t ns, enum brick_sequence_event event,
	int32_t sequence, uint32_t tokens, int32_t position, int32_t end)
{
	const struct brick_sequence_record sequence_record = {.begin = fake_ticks(ns),
		.kind = BRICK_RECORD_SEQUENCE,
		.event = (uint8_t)event,
		.model = 1,
		.sequence = sequence,
		.tokens = tokens,
		.prompt = tokens / 2,
		.position = position,
		.end = end};
	struct brick_record r;

	memcpy(&r, &sequence_record, sizeof r);
	return r;
}

static inline struct brick_record fake_expert(uint64_t ns, int32_t expert, uint32_t tokens)
{
	const struct brick_expert_record expert_record = {.begin = fake_ticks(ns),
		.kind = BRICK_RECORD_EXPERT,
		.expert = expert,
		.tokens = tokens,
		.experts = 8,
		.bytes = 4096};
	struct brick_record r;

	memcpy(&r, &expert_record, sizeof r);
	return r;
}

static inline struct brick_record fake_memory(uint64_t ns, uint32_t site, uint64_t live)
{
	const struct brick_memory_record memory = {.begin = fake_ticks(ns),
		.kind = BRICK_RECORD_MEMORY,
		.memory = BRICK_MEMORY_CACHE,
		.gpu = 2,
		.site = site,
		.live_bytes = live,
		.peak_bytes = live + 1};
	struct brick_record r;

	memcpy(&r, &memory, sizeof r);
	return r;
}

static inline struct brick_record fake_message(
	uint64_t ns, enum brick_message_event event, int32_t peer, uint32_t number)
{
	const struct brick_message_record message = {.begin = fake_ticks(ns),
		.kind = BRICK_RECORD_MESSAGE,
		.event = (uint8_t)event,
		.peer = peer,
		.tag = -7,
		.communicator = 0xdeadbeef,
		.number = number,
		.bytes_high = 1,
		.bytes_low = 5};
	struct brick_record r;

	memcpy(&r, &message, sizeof r);
	return r;
}

/* Of at most 15 bytes. */
static inline struct brick_record fake_name(uint64_t ns, const char *name)
{
	struct brick_record r = fake_at(BRICK_RECORD_NAME, ns, 0, 0);
	char text[BRICK_NAME_PART] = "";

	strcpy(text, name);
	brick_name_write(&r, text, 0);
	return r;
}

/* A writer to path, with the fake's process and lane already in it: both have number 0. */
static inline int fake_writer(
	struct trace_writer **out, struct fake *f, const char *path, int compress)
{
	static const char *const command[] = {"engine", "-p", "a \"prompt\"", NULL};
	struct trace_writer_options options = {.path = path,
		.start_unix_ns = 1700000000000000000ull,
		.start_ns = fake_ns(0),
		.command = command,
		.host = "box",
		.cpu = "A CPU",
		.compress = compress};
	struct brick_clock clock = fake_clock();
	int result = trace_writer_create(out, &options);

	if (result)
		return result;
	sink_clock(*out, &clock);
	sink_process(*out, &f->header);
	sink_tables(*out, 0, &f->tables);
	return sink_lane(*out, 0, &f->lane) == 0 ? 0 : -1;
}
