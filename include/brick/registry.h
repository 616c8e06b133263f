/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of bricks, categories and sites. A brick is a named unit of compute; ids are dense, so that
 * everything about a brick is one array index away. A site is one place of a model that runs a
 * brick: brick + layer + label + the work one execution does; registering it once keeps the hot
 * path free of all of these. The registry is per process, append-only and outlives sessions; a
 * brick that is registered by a thread in a session of its own (brick_session_use()) is found in
 * that session only. Any thread; registering takes a lock, looking up by id does not.
 */
#ifndef BRICK_REGISTRY_H
#define BRICK_REGISTRY_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Stable ids of the well-known bricks. X(id, identifier, name, category, aliases) */
#define BRICK_WELL_KNOWN(X)                                               \
	X(0, RMS_NORM, "RmsNorm", NORM, "")                               \
	X(1, LAYER_NORM, "LayerNorm", NORM, "")                           \
	X(2, QKV_PROJECTION, "QkvProjection", ATTENTION, "Qkv")           \
	X(3, ROPE_EMBEDDING, "RopeEmbedding", ATTENTION, "Rope,RoPE")     \
	X(4, ATTENTION_SCORE, "AttentionScore", ATTENTION, "")            \
	X(5, ATTENTION_SOFTMAX, "AttentionSoftmax", ATTENTION, "Softmax") \
	X(6, ATTENTION_OUTPUT, "AttentionOutput", ATTENTION, "")          \
	X(7, OUTPUT_PROJECTION, "OutputProjection", ATTENTION, "OutProj") \
	X(8, GATE_PROJECTION, "GateProjection", FFN, "Gate")              \
	X(9, UP_PROJECTION, "UpProjection", FFN, "Up")                    \
	X(10, ACTIVATION, "Activation", FFN, "SiLU,GELU,ReLU")            \
	X(11, DOWN_PROJECTION, "DownProjection", FFN, "Down")             \
	X(12, EMBEDDING, "Embedding", OTHER, "Embed")                     \
	X(13, LM_HEAD, "LmHead", OTHER, "Head")                           \
	X(14, SAMPLING, "Sampling", OTHER, "Sample")                      \
	X(15, SPMV, "SpMV", SPARSE, "spmv")                               \
	X(16, SPMM, "SpMM", SPARSE, "spmm")                               \
	X(17, FORMAT_CONVERT, "FormatConvert", SPARSE, "")                \
	X(18, FFT_1D, "FFT1D", FFT, "fft1d,FFT")                          \
	X(19, FFT_2D, "FFT2D", FFT, "fft2d")                              \
	X(20, LU_FACTORIZE, "LUFactorize", SOLVER, "LU")                  \
	X(21, QR_FACTORIZE, "QRFactorize", SOLVER, "QR")                  \
	X(22, SVD_COMPUTE, "SVDCompute", SOLVER, "SVD")

/*
 * Ids that Brick uses itself: steps, waits, the phases of an engine's step, tiles; and from 37 on
 * what engines have beside the well-known bricks, under the names that reports of llama.cpp show.
 * Same columns.
 */
#define BRICK_BUILT_IN(X)                                       \
	X(23, PREFILL, "Prefill", STEP, "")                     \
	X(24, DECODE, "Decode", STEP, "")                       \
	X(25, BARRIER_WAIT, "BarrierWait", WAIT, "")            \
	X(26, GRAPH_BUILD, "GraphBuild", ENGINE, "")            \
	X(27, GRAPH_ALLOC, "GraphAlloc", ENGINE, "")            \
	X(28, GRAPH_COMPUTE, "GraphCompute", ENGINE, "")        \
	X(29, INPUT_COPY, "InputCopy", ENGINE, "")              \
	X(30, OUTPUT_COPY, "OutputCopy", ENGINE, "")            \
	X(31, SYNCHRONIZE, "Synchronize", WAIT, "")             \
	X(32, TILE_MACRO, "TileMacro", TILE, "")                \
	X(33, TILE_MIDI, "TileMidi", TILE, "")                  \
	X(34, TILE_MICRO, "TileMicro", TILE, "")                \
	X(35, MIXED, "Mixed", STEP, "")                         \
	X(36, WARM_UP, "WarmUp", STEP, "")                      \
	X(37, FLASH_ATTENTION, "FlashAttention", ATTENTION, "") \
	X(38, KV_CACHE_WRITE, "KvCacheWrite", ATTENTION, "")    \
	X(39, RESIDUAL_ADD, "ResidualAdd", OTHER, "")           \
	X(40, EXPERT_ROUTER, "ExpertRouter", FFN, "")           \
	X(41, EXPERT_COMBINE, "ExpertCombine", FFN, "")         \
	X(42, BATCH_PREPARE, "BatchPrepare", ENGINE, "")        \
	X(43, UBATCH_PROCESS, "UbatchProcess", ENGINE, "")      \
	X(44, KV_CACHE_PREPARE, "KvCachePrepare", ENGINE, "")   \
	X(45, GRAPH_PLAN, "GraphPlan", ENGINE, "")              \
	X(46, OTHER_STEP, "OtherStep", STEP, "")

/*
 * Ids of the bricks that Brick knows by itself: the identifier of a row above behind BRICK_.
 *
 * Transformers: BRICK_RMS_NORM, _LAYER_NORM, _QKV_PROJECTION, _ROPE_EMBEDDING, _KV_CACHE_WRITE,
 * _FLASH_ATTENTION, or _ATTENTION_SCORE, _ATTENTION_SOFTMAX and _ATTENTION_OUTPUT,
 * _OUTPUT_PROJECTION, _RESIDUAL_ADD, _GATE_PROJECTION, _UP_PROJECTION, _ACTIVATION,
 * _DOWN_PROJECTION, _EXPERT_ROUTER, _EXPERT_COMBINE, _EMBEDDING, _LM_HEAD, _SAMPLING.
 * Engines: BRICK_BATCH_PREPARE, _UBATCH_PROCESS, _KV_CACHE_PREPARE, _GRAPH_BUILD, _GRAPH_ALLOC,
 * _GRAPH_PLAN, _GRAPH_COMPUTE, _INPUT_COPY, _OUTPUT_COPY; waits: BRICK_BARRIER_WAIT, _SYNCHRONIZE.
 * Sparse, Fourier, solvers: BRICK_SPMV, _SPMM, _FORMAT_CONVERT, _FFT_1D, _FFT_2D, _LU_FACTORIZE,
 * _QR_FACTORIZE, _SVD_COMPUTE. Others are registered (brick_register).
 */
enum brick_id {
#define BRICK_X(id, identifier, name, category, aliases) BRICK_##identifier = id,
	BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
		BRICK_FIRST_DYNAMIC = 47, /* the first id that brick_register() hands out */
};

enum { BRICK_WELL_KNOWN_COUNT = 23 };

/* Returns 1 if a built-in brick is a step of an engine. */
static inline int brick_is_step(uint32_t id)
{
	return id == BRICK_PREFILL || id == BRICK_DECODE || id == BRICK_MIXED ||
	       id == BRICK_WARM_UP || id == BRICK_OTHER_STEP;
}

#define BRICK_NONE 0xffffffffu /* in place of an id: no brick */

/* Categories: accounts sum bricks up by them. */
enum brick_category {
	BRICK_CATEGORY_NORM = 0,
	BRICK_CATEGORY_ATTENTION = 1,
	BRICK_CATEGORY_FFN = 2,
	BRICK_CATEGORY_OTHER = 3, /* the default */
	BRICK_CATEGORY_SPARSE = 4,
	BRICK_CATEGORY_FFT = 5,
	BRICK_CATEGORY_SOLVER = 6,
	BRICK_CATEGORY_ENGINE = 7, /* phases of a step outside of its bricks */
	BRICK_CATEGORY_WAIT = 8,   /* barriers and synchronisation */
	BRICK_CATEGORY_STEP = 9,   /* the steps themselves: containers, never counted as work */
	BRICK_CATEGORY_TILE = 10,  /* tiles: parts of bricks whose time stays with the brick */
	BRICK_CATEGORY_FIRST_DYNAMIC = 11,
};

/* A site, and the work of one execution there. Unknown counts are 0 with their flag clear. */
struct brick_site {
	size_t size;	       /* sizeof(struct brick_site) */
	uint32_t brick;	       /* brick id */
	int32_t layer;	       /* transformer block, -1 outside of blocks; at most 32767 */
	uint32_t flags;	       /* enum brick_site_flags */
	uint32_t reserved;     /* 0 */
	uint64_t elements;     /* elements produced */
	uint64_t bytes;	       /* bytes read and written, computed from shapes and types */
	uint64_t flops;	       /* floating-point operations, computed from shapes */
	const char *operation; /* the engine's name of the operation, or NULL; copied */
	const char *label;     /* the engine's name of the node or tensor, or NULL; copied */
};

#define BRICK_SITE_INIT BRICK_SIZED(struct brick_site)

/* Flags of a site, or'ed. */
enum brick_site_flags {
	BRICK_SITE_HAS_ELEMENTS = 1,
	BRICK_SITE_HAS_BYTES = 2,
	BRICK_SITE_HAS_FLOPS = 4,
	BRICK_SITE_UNKNOWN_OPERATION = 8, /* no rule maps its operation to a brick: the brick has
					     the operation's name */
	BRICK_SITE_PART = 16, /* one thread's part of executions whose work is counted on another */
	BRICK_SITE_AT_MOST = 32, /* bytes and FLOPs of a whole of which some is left out (masks) */
};

/*
 * Register a brick; returns its id (>= BRICK_FIRST_DYNAMIC), or the id of the brick that already
 * has that name. name: 1 to 47 bytes. -EINVAL: bad name or category. BRICK_EFULL: 16384 bricks,
 * with those that are built in. -ENOMEM, -ENOSPC: no memory for it.
 */
BRICK_API int brick_register(const char *name, uint32_t category);

/*
 * Register a category; returns its id, or the id of the category that already has the name. name: 1
 * to 47 bytes. -EINVAL: bad name. BRICK_EFULL: 64 categories, with those that are built in.
 */
BRICK_API int brick_category_register(const char *name);

/*
 * Register a site; returns its index (>= 1). Every call makes a new site, also for an equal
 * description: keep the index. -EINVAL: no such brick, layer or flags; size or reserved. -E2BIG:
 * fields that are not known are set. BRICK_EFULL: 65535 sites. -ENOMEM.
 */
BRICK_API int brick_site_register(const struct brick_site *site);

/* Id by name or alias, case-sensitive; -ENOENT if there is none. */
BRICK_API int brick_lookup(const char *name);

/* Name of a brick, NULL if there is none; static storage. */
BRICK_API const char *brick_name(uint32_t brick);

/* Name of a category, NULL if there is none; static storage. */
BRICK_API const char *brick_category_name(uint32_t category);

/* Category of a brick; BRICK_CATEGORY_OTHER for an unknown one. */
BRICK_API uint32_t brick_category_of(uint32_t brick);

/* Number of bricks: their ids are 0 .. count-1. */
BRICK_API uint32_t brick_count(void);

/* Number of categories: their ids are 0 .. count-1. */
BRICK_API uint32_t brick_category_count(void);

BRICK_END_DECLS

#endif
