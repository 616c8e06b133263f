/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and sites, which must be written ("said") before a packet may refer to them by a number.
 * Names of bricks, categories, sources and kernels are said once in each lane's sequence, sites
 * once in the trace. One thread at a time.
 */
#pragma once

#include "format/format.h"
#include "lib/writer/gpu_list.h"
#include "lib/writer/packets.h"
#include "lib/writer/trace_records.h"

enum {
	WRITER_LAYERS = 128, /* layers with site numbers of their own */
	WRITER_PLACES = BRICK_MAX_SITES / WRITER_LAYERS,
	WRITER_ARROWS = 1 << 15, /* numbers of commands that have an arrow to who waited for them */
};

/* Numbers that stand for what sites are, in the whole trace. */
struct site_numbering {
	uint32_t descriptions, operations; /* so far */
	uint32_t sites;			   /* in a plain file */
	uint32_t of_layer[WRITER_LAYERS];  /* in a compressed one */
};

/* Numbers that stand for a site's texts. */
struct site_numbers {
	uint32_t site, operation, tensor;
	uint16_t sibling; /* the site that has the same place in the layer before; 0: none */
};

struct writer_process {
	uint32_t pid;
	uint64_t uuid;
	struct brick_clock clock;	/* its own */
	const struct brick_clock *best; /* or what somebody gave of the same source */
	struct tables tables;
	struct packets *packets;	  /* the trace's */
	struct site_numbering *numbering; /* the trace's */
	struct site_numbers *sites;	  /* of those that were described */
	uint32_t site_count;
	size_t site_capacity;
	uint32_t *operations; /* by brick: the site whose operation was last */
	size_t operation_count, operation_capacity;
	uint16_t site_of_place[WRITER_PLACES];
	uint64_t *counter_uuids; /* by brick; 0: no track yet; NULL: no counter yet */
	uint32_t number;	 /* in the trace */
	struct gpu_list *gpus;	 /* the trace's */
	uint64_t flow_base;	 /* of the ids of its flows: add a command's number */
	int32_t rank;		 /* of a launcher's job; -1: not known */
	uint64_t *arrows;	 /* [WRITER_ARROWS] numbers that have an arrow to who waited */
	int ended;
};

/* What a lane's sequence has said already. A new kind of name gets a set of bits here. */
struct lane_names {
	struct packets *packets;
	const struct writer_process *process;
	uint32_t sequence; /* the lane's, in the trace */
	uint32_t sources;  /* bit per enum brick_source */
	uint64_t events;   /* bit per enum format_event_name */
	uint32_t gpu;	   /* of a queue: its index in the trace */
	bool has_arg_names;
	uint64_t bricks[BRICK_MAX_BRICKS / 64];	  /* bit per brick, as a name of slices */
	uint64_t categories;			  /* bit per category */
	uint64_t values[BRICK_MAX_BRICKS / 64];	  /* bit per brick, as a value of annotations */
	uint64_t kernels[BRICK_MAX_KERNELS / 64]; /* bit per kernel */
};

/* Adds an entry of interned data: number iid stands for the text in that field. */
void names_entry(struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text, size_t size);

/* Say a name, if the sequence has not said it yet. 0, or the error of the packets. */
int names_brick(struct lane_names *names, uint32_t brick); /* and its category */
int names_source(struct lane_names *names, uint32_t source);
int names_event(struct lane_names *names, uint32_t name); /* enum format_event_name */
int names_brick_value(struct lane_names *names, uint32_t brick);
int names_kernel(struct lane_names *names, uint32_t kernel);

/* Says all sites of the process that the trace does not know yet. 0, or the error of the packets.
 */
int names_sites(struct writer_process *process);

static inline uint64_t writer_duration_ns(const struct writer_process *process, uint64_t ticks)
{
	return brick_clock_duration_ns(process->best, ticks);
}

static inline uint64_t writer_ns(const struct writer_process *process, uint64_t ticks)
{
	const struct brick_clock *clock = process->best;
	uint64_t delta = ticks - clock->base_ticks;

	if ((int64_t)delta < 0)
		return brick_clock_ns(clock, ticks);
	return clock->base_ns + brick_clock_duration_ns(clock, delta);
}
