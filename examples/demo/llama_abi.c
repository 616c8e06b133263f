// SPDX-License-Identifier: Apache-2.0
//
// Opens llama.cpp's libraries and recognises its parameter structs. Owns the list of symbols and
// the facts about layouts; everything is checked against what the library itself returns before it
// is relied on.
#include "llama_abi.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

struct symbol {
	const char *name;
	size_t offset;
};

#define LLAMA(field)                                               \
	{                                                          \
		"llama_" #field, offsetof(struct llama_abi, field) \
	}
#define GGML(field)                                               \
	{                                                         \
		"ggml_" #field, offsetof(struct llama_abi, field) \
	}

static const struct symbol symbols[] = {
	LLAMA(model_default_params),
	LLAMA(context_default_params),
	LLAMA(model_load_from_file),
	LLAMA(model_free),
	LLAMA(init_from_model),
	LLAMA(free),
	LLAMA(n_ctx),
	LLAMA(n_batch),
	LLAMA(n_ubatch),
	LLAMA(n_threads),
	LLAMA(set_n_threads),
	LLAMA(model_get_vocab),
	LLAMA(tokenize),
	LLAMA(batch_get_one),
	LLAMA(decode),
	LLAMA(synchronize),
	LLAMA(get_memory),
	LLAMA(memory_clear),
	LLAMA(sampler_init_greedy),
	LLAMA(sampler_sample),
	LLAMA(sampler_free),
	LLAMA(log_set),
	LLAMA(attach_threadpool),
	LLAMA(detach_threadpool),
	GGML(backend_load_all_from_path),
	GGML(backend_reg_count),
	GGML(backend_reg_by_name),
	GGML(backend_reg_get_proc_address),
	GGML(threadpool_params_default),
};

// Functions have the size of data pointers wherever there is dlsym().
static void set_function(struct llama_abi *abi, size_t offset, void *function)
{
	memcpy((char *)abi + offset, &function, sizeof(function));
}

// The file has a version in its name in some releases, as in libllama.v0.5.0.so; what it needs it
// finds beside itself. Gives the scope in which to look for symbols.
static void *open_library(const char *dir, bool apart, char *why, size_t why_size)
{
	char pattern[4096];
	glob_t found;
	void *library;

	snprintf(pattern, sizeof(pattern), "%s/libllama.*so", dir);
	if (glob(pattern, 0, NULL, &found)) {
		snprintf(why, why_size,
			"%s: no libllama there (examples/demo/engine.sh installs one)", dir);
		return NULL;
	}
	library = apart ? dlmopen(LM_ID_NEWLM, found.gl_pathv[0], RTLD_NOW)
			: dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		snprintf(why, why_size, "%s", dlerror());
	globfree(&found);
	return library;
}

static int resolve(struct llama_abi *abi, void *scope, const char *dir, char *why, size_t why_size)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *function = dlsym(scope, symbols[i].name);

		if (!function) {
			snprintf(why, why_size, "%s: this version has no %s", dir, symbols[i].name);
			return -1;
		}
		set_function(abi, symbols[i].offset, function);
	}
	return 0;
}

// The CPU backend is a plug-in; what it adds is asked from its registration.
static int load_backends(struct llama_abi *abi, const char *dir, char *why, size_t why_size)
{
	void *cpu, *create, *destroy;

	abi->backend_load_all_from_path(dir);
	cpu = abi->backend_reg_by_name("CPU");
	if (!cpu) {
		snprintf(why, why_size, "%s: no CPU backend for this machine", dir);
		return -1;
	}
	create = abi->backend_reg_get_proc_address(cpu, "ggml_threadpool_new");
	destroy = abi->backend_reg_get_proc_address(cpu, "ggml_threadpool_free");
	if (!create || !destroy) {
		snprintf(why, why_size, "%s: the CPU backend offers no thread pool", dir);
		return -1;
	}
	set_function(abi, offsetof(struct llama_abi, threadpool_new), create);
	set_function(abi, offsetof(struct llama_abi, threadpool_free), destroy);
	return 0;
}

bool llama_abi_logs;

static void log_errors(int level, const char *text, void *arg)
{
	enum { LEVEL_ERROR = 4 };

	(void)arg;
	if (level == LEVEL_ERROR || llama_abi_logs)
		fputs(text, stderr);
}

static int open_in(struct llama_abi *abi, const char *dir, bool apart, char *why, size_t why_size)
{
	void *library = open_library(dir, apart, why, why_size);

	if (!library || resolve(abi, apart ? library : RTLD_DEFAULT, dir, why, why_size))
		return -1;
	abi->log_set(log_errors, NULL);
	return load_backends(abi, dir, why, why_size);
}

int llama_abi_open(struct llama_abi *abi, const char *dir, char *why, size_t why_size)
{
	return open_in(abi, dir, false, why, why_size);
}

int llama_abi_open_apart(struct llama_abi *abi, const char *dir, char *why, size_t why_size)
{
	return open_in(abi, dir, true, why, why_size);
}

// llama_context_params begins with n_ctx, n_batch, n_ubatch (512, 2048, 512). The four enums that
// default to -1 (rope scaling, pooling, attention, flash attention) follow each other somewhere in
// the first 24 words, and the float after them, rope_freq_base, is 0.
enum {
	WORD_N_CTX = 0,
	WORD_N_BATCH = 1,
	WORD_N_UBATCH = 2,
	WORD_ENUMS_END = 24,
};

static int find_flash(const struct llama_params *params)
{
	int found = -1, run = 0;

	for (int i = 0; i < WORD_ENUMS_END; i++) {
		run = params->words[i] == UINT32_MAX ? run + 1 : 0;
		if (run == 4 && params->words[i + 1] == 0) {
			if (found >= 0)
				return -1;
			found = i;
		}
	}
	return found;
}

int llama_abi_set_context(struct llama_params *params, uint32_t n_ctx, uint32_t n_batch,
	uint32_t n_ubatch, enum llama_flash flash, char *why, size_t why_size)
{
	int word = find_flash(params);

	if (params->words[WORD_N_CTX] != 512 || params->words[WORD_N_BATCH] != 2048 ||
		params->words[WORD_N_UBATCH] != 512) {
		snprintf(why, why_size, "unknown version: its context defaults begin %u %u %u",
			params->words[WORD_N_CTX], params->words[WORD_N_BATCH],
			params->words[WORD_N_UBATCH]);
		return -1;
	}
	if (word < 0 && flash != LLAMA_FLASH_AUTO) {
		snprintf(why, why_size, "unknown version: no place for --flash in its defaults");
		return -1;
	}
	params->words[WORD_N_CTX] = n_ctx;
	params->words[WORD_N_BATCH] = n_batch;
	params->words[WORD_N_UBATCH] = n_ubatch;
	if (word >= 0)
		params->words[word] = (uint32_t)flash;
	return 0;
}

// type_k and type_v, both f16 (1), follow a callback and its argument, both NULL.
int llama_abi_set_cache_type(struct llama_params *params, enum llama_type type)
{
	static const uint32_t expected[] = {0, 0, 0, 0, 1, 1};
	enum { WORDS = sizeof(expected) / sizeof(*expected), WORDS_END = 48 };
	int found = -1;

	for (int i = 0; i + WORDS < WORDS_END; i += 2) {
		if (memcmp(&params->words[i], expected, sizeof(expected)))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	if (found < 0)
		return -1;
	params->words[found + WORDS - 2] = params->words[found + WORDS - 1] = (uint32_t)type;
	return 0;
}

// llama_model_params begins with two pointers, both NULL, and n_gpu_layers, which is "all of them":
// 999, and -1 from 2026 on.
int llama_abi_set_gpu_layers(struct llama_params *params, int32_t n)
{
	enum { WORD_GPU_LAYERS = 4 };
	int32_t all = (int32_t)params->words[WORD_GPU_LAYERS];

	if (params->words[0] || params->words[1] || params->words[2] || params->words[3] ||
		(all != 999 && all != -1))
		return -1;
	params->words[WORD_GPU_LAYERS] = (uint32_t)n;
	return 0;
}

bool llama_abi_batch_fits(const struct llama_abi *abi)
{
	int32_t token = 0;
	struct llama_batch batch;

	memset(&batch, 0, sizeof(batch));
	batch = abi->batch_get_one(&token, 1);
	if (batch.n_tokens != 1 || batch.tokens != &token)
		return false;
	for (int i = 0; i < 5; i++) {
		if (batch.rest[i])
			return false;
	}
	return true;
}
