/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NCCL's interface for profilers that Brick uses, versions 4 (from NCCL 2.27.3 on), 5
 * (2.28.3) and 6, written down from the facts in its headers. An event's description has the same
 * places in all three, but for its type: version 4 fills one byte of that, and leaves those behind
 * it as they were. Tables and descriptions of version 7 differ between NCCLs without a sign of it;
 * those NCCLs take the table of version 6, too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum nccl_event {
	NCCL_COLLECTIVE = 2,
	NCCL_POINT_TO_POINT = 4,
	NCCL_CHANNEL = 64, /* one channel of the kernel of either */
	/* From version 6 on: a collective without a kernel. Its description is that of the others.
	 */
	NCCL_BY_COPIES = 4096,
};
enum { NCCL_CHANNEL_STOPS = 22 };

struct nccl_description {
	union {
		uint64_t type;
		uint8_t type_v4;
	};
	void *parent;
	int32_t rank;
	union {
		struct {
			uint64_t sequence;
			const char *function;
			const void *send;
			void *receive;
			size_t count;
			int32_t root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} collective;
		struct {
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int32_t peer;
			uint8_t channels;
		} message;
		struct {
			uint8_t number;
			uint64_t begin; /* of the GPU's clock, in ns; 0: not known */
		} channel;
	};
};

/* The argument of NCCL_CHANNEL_STOPS. */
struct nccl_state {
	uint64_t end;
};

_Static_assert(offsetof(struct nccl_description, parent) == 8 &&
		       offsetof(struct nccl_description, rank) == 16 &&
		       offsetof(struct nccl_description, collective.count) == 56 &&
		       offsetof(struct nccl_description, collective.channels) == 80 &&
		       offsetof(struct nccl_description, collective.algorithm) == 88 &&
		       offsetof(struct nccl_description, message.count) == 48 &&
		       offsetof(struct nccl_description, message.channels) == 60 &&
		       offsetof(struct nccl_description, channel.begin) == 32,
	"as compilers for 64-bit Linux lay it out");

typedef int (*nccl_init_4)(void **context, int *mask, const char *name, uint64_t id, int nodes,
	int ranks, int rank, void *log);
typedef int (*nccl_init_5)(void **context, uint64_t id, int *mask, const char *name, int nodes,
	int ranks, int rank, void *log);

#define NCCL_PROFILER(init_type)                                                       \
	{                                                                              \
		const char *name;                                                      \
		init_type init;                                                        \
		int (*start)(void *context, void **handle, struct nccl_description *); \
		int (*stop)(void *handle);                                             \
		int (*record)(void *handle, int state, struct nccl_state *);           \
		int (*finalize)(void *context);                                        \
	}
struct nccl_profiler_4 NCCL_PROFILER(nccl_init_4);
struct nccl_profiler_5 NCCL_PROFILER(nccl_init_5);
