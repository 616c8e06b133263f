/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of programs. A row is found by the name of a process or by a word of its command, or
 * else by the library that an attacher noted. A program without a text for a setting is told the
 * call of its library. Options are those of the programs' own --help and documentation, as of 2025.
 */
#include "ui/text/program_options.h"

#include <stdio.h>
#include <string.h>

#include "base/path_name.h"
#include "ui/text/text.h"

/* "{}" stands for the number, "{s}" for the s of its plural. NULL: the program has no such option.
 */
static const struct program {
	const char *name;    /* the beginning of an executable's name; "": none is needed */
	const char *library; /* the key of a note that must be there; NULL: none */
	const char *options[PROGRAM_SETTINGS];
} program_table[] = {
	{"llama-bench", NULL,
		{[PROGRAM_THREADS] = "-t {}",
			[PROGRAM_BATCH_THREADS] = "-t {}",
			[PROGRAM_ALL_THREADS] = "-t {}",
			[PROGRAM_BATCH] = "-b {}",
			[PROGRAM_UBATCH] = "-ub {}",
			[PROGRAM_FLASH] = "-fa 1",
			[PROGRAM_CACHE_F16] = "-ctk f16 -ctv f16",
			[PROGRAM_LOAD] = "-mmp 0",
			[PROGRAM_WARM_UP] = "no --no-warmup",
			[PROGRAM_CPUS] = "-C MASK --cpu-strict 1",
			[PROGRAM_GPU] = "-ngl 99",
			[PROGRAM_CPU_ONLY] = "-dev none",
			[PROGRAM_PARALLEL] = "llama-batched-bench -npl {}"}},
	{"llama-server", NULL,
		{[PROGRAM_THREADS] = "-t {}",
			[PROGRAM_BATCH_THREADS] = "-tb {}",
			[PROGRAM_ALL_THREADS] = "-t {} -tb {}",
			[PROGRAM_BATCH] = "-b {}",
			[PROGRAM_UBATCH] = "-ub {}",
			[PROGRAM_FLASH] = "-fa on",
			[PROGRAM_CACHE_F16] = "-ctk f16 -ctv f16",
			[PROGRAM_LOAD] = "--mlock, or --no-mmap",
			[PROGRAM_WARM_UP] = "--warmup",
			[PROGRAM_CPUS] = "--cpu-mask MASK --cpu-strict 1",
			[PROGRAM_GPU] = "-ngl 99",
			[PROGRAM_CPU_ONLY] = "--device none",
			[PROGRAM_PARALLEL] = "-np {}, and no --no-cont-batching",
			[PROGRAM_LAST_LOGITS] = "no logprobs of the prompt in requests",
			[PROGRAM_REUSE] =
				"\"cache_prompt\": true in requests, --cache-reuse 256, and -np as "
				"many as conversations",
			[PROGRAM_DRAFT] = "--draft-max {}",
			[PROGRAM_NO_DRAFT] = "no -md (--model-draft)"}},
	{"brick-llama", NULL,
		{[PROGRAM_THREADS] = "--threads {}",
			[PROGRAM_BATCH_THREADS] = "--threads {}",
			[PROGRAM_ALL_THREADS] = "--threads {}",
			[PROGRAM_UBATCH] = "--ubatch {}",
			[PROGRAM_FLASH] = "--flash on",
			[PROGRAM_CACHE_F16] = "--cache-type f16",
			[PROGRAM_WARM_UP] = "--repeat 2, and count the second",
			[PROGRAM_GPU] = "--gpu-layers 99",
			[PROGRAM_CPU_ONLY] = "--gpu-layers 0",
			[PROGRAM_POOL] = "no --no-pool"}},
	{"whisper", NULL,
		{[PROGRAM_THREADS] = "-t {}",
			[PROGRAM_BATCH_THREADS] = "-t {}",
			[PROGRAM_ALL_THREADS] = "-t {}",
			[PROGRAM_FLASH] = "-fa",
			[PROGRAM_CPU_ONLY] = "-ng"}},
	{"llama-", NULL,
		{[PROGRAM_THREADS] = "-t {}",
			[PROGRAM_BATCH_THREADS] = "-tb {}",
			[PROGRAM_ALL_THREADS] = "-t {} -tb {}",
			[PROGRAM_BATCH] = "-b {}",
			[PROGRAM_UBATCH] = "-ub {}",
			[PROGRAM_FLASH] = "-fa on",
			[PROGRAM_CACHE_F16] = "-ctk f16 -ctv f16",
			[PROGRAM_LOAD] = "--mlock, or --no-mmap",
			[PROGRAM_WARM_UP] = "--warmup",
			[PROGRAM_CPUS] = "--cpu-mask MASK --cpu-strict 1",
			[PROGRAM_GPU] = "-ngl 99",
			[PROGRAM_CPU_ONLY] = "--device none",
			[PROGRAM_PARALLEL] = "-np {}",
			[PROGRAM_REUSE] = "--prompt-cache FILE",
			[PROGRAM_DRAFT] = "--draft-max {}",
			[PROGRAM_NO_DRAFT] = "no -md (--model-draft)"}},
	{"node", "llama.library",
		{[PROGRAM_THREADS] = "createContext({threads: {}})",
			[PROGRAM_BATCH_THREADS] = "createContext({threads: {}})",
			[PROGRAM_ALL_THREADS] = "createContext({threads: {}})",
			[PROGRAM_BATCH] = "createContext({batchSize: {}})",
			[PROGRAM_UBATCH] = "createContext({batchSize: {}})",
			[PROGRAM_FLASH] = "createContext({flashAttention: true})",
			[PROGRAM_CACHE_F16] = "createContext() without experimentalKvCacheKeyType",
			[PROGRAM_LOAD] = "loadModel({useMlock: true}), or {useMmap: false}",
			[PROGRAM_WARM_UP] =
				"an evaluation of one token right after createContext()",
			[PROGRAM_GPU] = "loadModel({gpuLayers: \"max\"})",
			[PROGRAM_CPU_ONLY] = "getLlama({gpu: false})",
			[PROGRAM_PARALLEL] = "createContext({sequences: {}})",
			[PROGRAM_REUSE] = "one LlamaContextSequence kept for each conversation",
			[PROGRAM_NO_DRAFT] = "getSequence() without tokenPredictor"}},
	{"python", "llama.library",
		{[PROGRAM_THREADS] = "Llama(n_threads={})",
			[PROGRAM_BATCH_THREADS] = "Llama(n_threads_batch={})",
			[PROGRAM_ALL_THREADS] = "Llama(n_threads={}, n_threads_batch={})",
			[PROGRAM_BATCH] = "Llama(n_batch={})",
			[PROGRAM_UBATCH] = "Llama(n_ubatch={})",
			[PROGRAM_FLASH] = "Llama(flash_attn=True)",
			[PROGRAM_CACHE_F16] = "Llama() without type_k and type_v",
			[PROGRAM_LOAD] = "Llama(use_mlock=True), or use_mmap=False",
			[PROGRAM_GPU] = "Llama(n_gpu_layers=-1)",
			[PROGRAM_CPU_ONLY] = "Llama(n_gpu_layers=0)",
			[PROGRAM_LAST_LOGITS] = "Llama(logits_all=False)",
			[PROGRAM_REUSE] = "Llama.set_cache(LlamaRAMCache())",
			[PROGRAM_NO_DRAFT] = "Llama(draft_model=None)"}},
	{"", "torch.version",
		{[PROGRAM_THREADS] = "torch.set_num_threads({}), or OMP_NUM_THREADS={}",
			[PROGRAM_BATCH_THREADS] =
				"torch.set_num_threads({}), or OMP_NUM_THREADS={}",
			[PROGRAM_ALL_THREADS] = "torch.set_num_threads({}), or OMP_NUM_THREADS={}",
			[PROGRAM_BATCH] = "a batch of {} tokens",
			[PROGRAM_UBATCH] = "a batch of {} tokens",
			[PROGRAM_FLASH] = "attn_implementation=\"sdpa\" in from_pretrained()",
			[PROGRAM_CACHE_F16] = "torch_dtype=torch.float16 in from_pretrained()",
			[PROGRAM_WARM_UP] = "a call of the model before it is timed",
			[PROGRAM_CPUS] = "OMP_PROC_BIND=close, OMP_PLACES=cores",
			[PROGRAM_GPU] = "model.to(\"cuda\")",
			[PROGRAM_CPU_ONLY] = "model.to(\"cpu\")",
			[PROGRAM_PARALLEL] = "generate() of {} prompts in one padded batch",
			[PROGRAM_LAST_LOGITS] = "logits_to_keep=1 in forward()",
			[PROGRAM_REUSE] = "past_key_values of an earlier call",
			[PROGRAM_DRAFT] = "generation_config.num_assistant_tokens = {}",
			[PROGRAM_NO_DRAFT] = "generate() without assistant_model"}},
	/* the libraries' own calls */
	{"", "whisper.library",
		{[PROGRAM_THREADS] = "whisper_full_params.n_threads = {}",
			[PROGRAM_BATCH_THREADS] = "whisper_full_params.n_threads = {}",
			[PROGRAM_ALL_THREADS] = "whisper_full_params.n_threads = {}",
			[PROGRAM_FLASH] = "whisper_context_params.flash_attn = true",
			[PROGRAM_CPU_ONLY] = "whisper_context_params.use_gpu = false"}},
	{"", "llama.library",
		{[PROGRAM_THREADS] = "llama_context_params.n_threads = {}",
			[PROGRAM_BATCH_THREADS] = "llama_context_params.n_threads_batch = {}",
			[PROGRAM_ALL_THREADS] =
				"llama_context_params.n_threads = {} and n_threads_batch = {}",
			[PROGRAM_BATCH] =
				"llama_decode() with {} tokens in a batch, and n_batch = {}",
			[PROGRAM_UBATCH] = "llama_context_params.n_ubatch = {}",
			[PROGRAM_FLASH] = "llama_context_params.flash_attn_type = "
					  "LLAMA_FLASH_ATTN_TYPE_ENABLED",
			[PROGRAM_CACHE_F16] =
				"llama_context_params.type_k and type_v = GGML_TYPE_F16",
			[PROGRAM_LOAD] = "llama_model_params.use_mlock = true, or use_mmap = false",
			[PROGRAM_WARM_UP] =
				"llama_decode() of one token after llama_init_from_model()",
			[PROGRAM_CPUS] = "ggml_threadpool_params.cpumask and strict_cpu",
			[PROGRAM_GPU] = "llama_model_params.n_gpu_layers = 99",
			[PROGRAM_CPU_ONLY] = "llama_model_params.devices = {NULL}",
			[PROGRAM_PARALLEL] = "one llama_batch with a token of each of {} sequences",
			[PROGRAM_LAST_LOGITS] = "llama_batch.logits[] = 1 for the last token only",
			[PROGRAM_REUSE] =
				"llama_memory_seq_rm() only from the first token that differs on",
			[PROGRAM_POOL] = "llama_attach_threadpool()",
			[PROGRAM_DRAFT] = "drafts of {} tokens"}},
	{"", NULL,
		{[PROGRAM_THREADS] = "run it with {} thread{s}",
			[PROGRAM_BATCH_THREADS] = "run it with {} thread{s}",
			[PROGRAM_ALL_THREADS] = "run it with {} thread{s}",
			[PROGRAM_BATCH] = "batches of {} tokens",
			[PROGRAM_UBATCH] = "batches of {} tokens",
			[PROGRAM_FLASH] = "flash attention",
			[PROGRAM_CACHE_F16] = "a cache of f16",
			[PROGRAM_LOAD] =
				"read the model's file before it is used (cat MODEL >/dev/null)",
			[PROGRAM_WARM_UP] = "one evaluation before it counts",
			[PROGRAM_CPUS] = "taskset -c CPUS around the program",
			[PROGRAM_GPU] = "all layers on the device",
			[PROGRAM_CPU_ONLY] = "no layers on the device",
			[PROGRAM_PARALLEL] = "batches with a token of each of {} sequences",
			[PROGRAM_LAST_LOGITS] = "logits of the last token only",
			[PROGRAM_REUSE] = "keep the KV cache of what prompts share",
			[PROGRAM_POOL] = "threads that stay from step to step",
			[PROGRAM_DRAFT] = "drafts of {} tokens",
			[PROGRAM_NO_DRAFT] = "decode without drafts"}},
};

static bool program_is_called(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i].executable &&
			path_is_called(run->processes[i].executable, name))
			return true;
	return run->command && *run->command && path_is_called(*run->command, name);
}

/* True if the row is of the program, not of a library. */
static bool program_is_own(const struct run *run, const struct program *p)
{
	return (!p->library || run_note_find(run, p->library)) &&
	       (*p->name ? program_is_called(run, p->name)
			 : p->library && !strcmp(p->library, "torch.version"));
}

static bool program_fits(const struct run *run, const struct program *p)
{
	return program_is_own(run, p) ||
	       (!*p->name && (!p->library || run_note_find(run, p->library)));
}

/* The option of the recorded command that has a number of threads; NULL: none. */
static const char *program_threads_word(const struct run *run)
{
	static const char *const words[] = {
		"--threads", "-t", "--n-threads", "--num-threads", "--n_threads", "--num_threads"};

	for (char *const *word = run->command; word && *word && word[1]; word++)
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!strcmp(*word, words[i]) && *word[1] &&
				strspn(word[1], "0123456789") == strlen(word[1]))
				return words[i];
	return NULL;
}

const char *program_option(char out[PROGRAM_OPTION_BYTES], const struct run *run,
	enum program_setting setting, uint64_t number)
{
	const struct program *p = program_table;
	const char *word = setting <= PROGRAM_ALL_THREADS ? program_threads_word(run) : NULL;
	size_t length = 0;

	/* the last row has every setting, and fits always */
	while (!p->options[setting] || !program_fits(run, p))
		p++;
	out[0] = '\0';
	/* whoever wrote an unknown program: the command has its option */
	if (word && !*p->name && !p->library) {
		snprintf(out, PROGRAM_OPTION_BYTES, "%s %llu", word, (unsigned long long)number);
		return out;
	}
	for (const char *at = p->options[setting]; *at && length + 1 < PROGRAM_OPTION_BYTES;) {
		bool is_number = !strncmp(at, "{}", 2), is_plural = !strncmp(at, "{s}", 3);
		char *to = out + length;
		size_t room = PROGRAM_OPTION_BYTES - length;
		length +=
			(size_t)(is_number ? snprintf(to, room, "%llu", (unsigned long long)number)
				 : is_plural ? snprintf(to, room, "%s", plural_s(number))
					     : snprintf(to, room, "%c", *at));
		at += is_number ? 2 : is_plural ? 3 : 1;
	}
	return out;
}

bool program_has_option(const struct run *run, enum program_setting setting)
{
	for (size_t i = 0; i < sizeof(program_table) / sizeof(*program_table); i++)
		if (program_is_own(run, &program_table[i]))
			return program_table[i].options[setting] != NULL;
	return false;
}

const char *program_mask_word(const struct run *run)
{
	static const char *const words[] = {"taskset", "numactl", "--cpu-mask", "-C", "--cpu-range",
		"-Cr", "--cpu-mask-batch", "-Cb"};

	for (char *const *word = run->command; word && *word; word++)
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (!strcmp(path_name(*word), words[i]) &&
				(*words[i] != '-' || program_has_option(run, PROGRAM_CPUS)))
				return words[i];
	return NULL;
}
