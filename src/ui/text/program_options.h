/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says how the user of a recorded program changes a setting: by an option of that program if it has
 * such an option, else by the call of the library that it uses. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/* The columns of the table in program_options.c; a new setting needs a text in its last rows. */
enum program_setting {
	PROGRAM_THREADS,       /* of decoding, and of prompts unless those have their own */
	PROGRAM_BATCH_THREADS, /* of prompts */
	PROGRAM_ALL_THREADS,   /* of both */
	PROGRAM_BATCH,	       /* tokens that the program hands over at once */
	PROGRAM_UBATCH,	       /* tokens that the engine evaluates at once */
	PROGRAM_FLASH,	       /* flash attention on */
	PROGRAM_CACHE_F16,     /* keys and values of the cache in f16 */
	PROGRAM_LOAD,	       /* read the model before it is used */
	PROGRAM_WARM_UP,       /* evaluate once before it counts */
	PROGRAM_CPUS,	       /* the CPUs that the team's threads may use */
	PROGRAM_GPU,	       /* all layers on the GPU */
	PROGRAM_CPU_ONLY,      /* nothing on a device */
	PROGRAM_PARALLEL,      /* several sequences in a batch */
	PROGRAM_LAST_LOGITS,   /* logits of the last token only */
	PROGRAM_REUSE,	       /* keep the cache of prompts that begin alike */
	PROGRAM_POOL,	       /* keep threads from step to step */
	PROGRAM_DRAFT,	       /* how many tokens a draft has */
	PROGRAM_NO_DRAFT,      /* decode without drafts */
	PROGRAM_SETTINGS,
};

enum { PROGRAM_OPTION_BYTES = 112 };

/*
 * Writes how to set it: "-t 4", "llama_context_params.n_threads = 4". number: for settings that
 * have one. Returns `out`.
 */
const char *program_option(char out[PROGRAM_OPTION_BYTES], const struct run *run,
	enum program_setting setting, uint64_t number);

/* True if the program's own command line, and not a library's call, has the setting. */
bool program_has_option(const struct run *run, enum program_setting setting);

/* The word of the recorded command that limits CPUs: "--cpu-mask", "taskset"; NULL: none. */
const char *program_mask_word(const struct run *run);
