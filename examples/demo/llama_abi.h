// SPDX-License-Identifier: Apache-2.0
//
// What brick-llama knows of llama.cpp's binary interface, and how it gets hold of it: no headers,
// the libraries are opened at run time. Parameter structs travel as blobs that are larger than any
// version's; the library fills them with its defaults, and only fields whose place was recognised
// by their default values are changed. Thread rule: one at a time.
//
// The libraries are opened RTLD_GLOBAL and their symbols looked up in the global scope, so a
// preloaded library that defines the same symbol is called instead, as in a program linked to them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Passed and returned by value. On x86-64 such an argument is a copy on the stack, on aarch64 a
// pointer to a copy, and a result goes through a hidden pointer; in all three a blob longer than
// the callee's own idea of the struct is harmless.
struct llama_params {
	union {
		uint32_t words[256];
		float floats[256];
		uint64_t align;
	};
};

struct llama_batch {
	int32_t n_tokens;
	int32_t *tokens;
	uint64_t rest[14]; // pointers, all NULL for a batch of plain tokens, and room to grow
};

struct llama_abi {
	struct llama_params (*model_default_params)(void);
	struct llama_params (*context_default_params)(void);
	void *(*model_load_from_file)(const char *path, struct llama_params params);
	void (*model_free)(void *model);
	void *(*init_from_model)(void *model, struct llama_params params);
	void (*free)(void *context);
	uint32_t (*n_ctx)(const void *context);
	uint32_t (*n_batch)(const void *context);
	uint32_t (*n_ubatch)(const void *context);
	int32_t (*n_threads)(void *context);
	void (*set_n_threads)(void *context, int32_t decode, int32_t prefill);
	const void *(*model_get_vocab)(const void *model);
	int32_t (*tokenize)(const void *vocab, const char *text, int32_t length, int32_t *tokens,
		int32_t n_max, bool add_special, bool parse_special);
	struct llama_batch (*batch_get_one)(int32_t *tokens, int32_t n);
	int32_t (*decode)(void *context, struct llama_batch batch);
	void (*synchronize)(void *context);
	void *(*get_memory)(const void *context);
	void (*memory_clear)(void *memory, bool data);
	void *(*sampler_init_greedy)(void);
	int32_t (*sampler_sample)(void *sampler, void *context, int32_t index);
	void (*sampler_free)(void *sampler);
	void (*log_set)(void (*fn)(int level, const char *text, void *arg), void *arg);
	void (*attach_threadpool)(void *context, void *decode, void *prefill);
	void (*detach_threadpool)(void *context);

	void (*backend_load_all_from_path)(const char *dir);
	size_t (*backend_reg_count)(void);
	void *(*backend_reg_by_name)(const char *name);
	void *(*backend_reg_get_proc_address)(void *reg, const char *name);
	struct llama_params (*threadpool_params_default)(int n_threads);

	// From the CPU backend.
	void *(*threadpool_new)(struct llama_params *params);
	void (*threadpool_free)(void *pool);
};

enum llama_flash {
	LLAMA_FLASH_AUTO = -1,
	LLAMA_FLASH_OFF = 0,
	LLAMA_FLASH_ON = 1,
};

extern bool llama_abi_logs; // all that the engine says goes to stderr, not its errors alone

// Opens the libraries in `dir` and fills `abi`. 0, or -1 with a line in `why`.
int llama_abi_open(struct llama_abi *abi, const char *dir, char *why, size_t why_size);

// The same with a copy of the libraries in a namespace of its own, which preloaded libraries do not
// reach. What it is asked for goes through `abi` only.
int llama_abi_open_apart(struct llama_abi *abi, const char *dir, char *why, size_t why_size);

// Sets what a context is created with. 0, or -1 with a line in `why` when the defaults that this
// library gives are not where they are expected.
int llama_abi_set_context(struct llama_params *params, uint32_t n_ctx, uint32_t n_batch,
	uint32_t n_ubatch, enum llama_flash flash, char *why, size_t why_size);

enum llama_type {
	LLAMA_TYPE_F16 = 1,
	LLAMA_TYPE_Q8_0 = 8,
};

// Sets the type in which the context keeps keys and values. -1: the defaults do not have it where
// it is expected.
int llama_abi_set_cache_type(struct llama_params *params, enum llama_type type);

// Sets how many layers a model's loader gives to a GPU. -1: the defaults do not have it where it is
// expected.
int llama_abi_set_gpu_layers(struct llama_params *params, int32_t n);

// True when what batch_get_one() returns looks as expected.
bool llama_abi_batch_fits(const struct llama_abi *abi);
