// SPDX-License-Identifier: Apache-2.0
//
// brick-llama: runs a model on the unmodified libraries that engine.sh installed, as a C program
// would: one prompt of exactly N tokens, then M tokens chosen greedily, R times. Prints the ids it
// chose, each repetition on a line of its own. M tokens take one evaluation of the prompt and M - 1
// of a single token, each followed by sampling. generate.mjs does the same work from Node.js and
// prints the same ids; `prompt_text` is the same text there. Owns the command line and the clock.
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/number.h"
#include "llama_abi.h"

static const char prompt_text[] =
	"The people who build an engine want to know where the time of every token went. "
	"They measure each layer and each part of it with a clock, and they show it as a line. "
	"A good answer is one that you could make again on the same machine and then on another. ";

struct arguments {
	const char *libs;
	const char *model;
	uint32_t n_prompt;
	uint32_t n_predict;
	uint32_t n_threads;
	uint32_t n_repeat;
	uint32_t n_ubatch;
	int32_t n_gpu_layers; // -1: as many as the engine takes
	enum llama_flash flash;
	enum llama_type cache_type; // 0: as the engine has it
	bool pool;
	bool timing;
};

struct engine {
	struct llama_abi abi;
	void *model;
	void *context;
	void *sampler;
	void *pool;
};

// One repetition: what was chosen, and how long each evaluation with its sampling took.
struct generation {
	int32_t *tokens;
	uint64_t *step_ns; // the prompt's is the first
};

__attribute__((format(printf, 2, 3), noreturn)) static void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("brick-llama: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(status);
}

static void *allocate(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (!memory)
		die(1, "out of memory");
	return memory;
}

// --- engine ---

static void attach_pool(struct engine *e, uint32_t n_threads)
{
	struct llama_params params = e->abi.threadpool_params_default((int)n_threads);

	e->pool = e->abi.threadpool_new(&params);
	if (!e->pool)
		die(1, "cannot create a pool of %u threads", n_threads);
	e->abi.attach_threadpool(e->context, e->pool, NULL);
}

static void create_context(struct engine *e, const struct arguments *a)
{
	struct llama_params params = e->abi.context_default_params();
	uint32_t n_ctx = a->n_prompt + a->n_predict;
	char why[256];

	if (llama_abi_set_context(
		    &params, n_ctx, a->n_prompt, a->n_ubatch, a->flash, why, sizeof(why)))
		die(4, "%s: %s", a->libs, why);
	if (a->cache_type && llama_abi_set_cache_type(&params, a->cache_type))
		die(4, "%s: unknown version: no place for --cache-type in its defaults", a->libs);
	e->context = e->abi.init_from_model(e->model, params);
	if (!e->context)
		die(1, "%s: cannot create a context of %u tokens", a->model, n_ctx);
	e->abi.set_n_threads(e->context, (int32_t)a->n_threads, (int32_t)a->n_threads);
	if (e->abi.n_ctx(e->context) < n_ctx || e->abi.n_batch(e->context) < a->n_prompt ||
		e->abi.n_threads(e->context) != (int32_t)a->n_threads)
		die(4, "%s: unknown version: the context did not take its parameters", a->libs);
}

static void open_engine(struct engine *e, const struct arguments *a)
{
	char why[4096];

	if (llama_abi_open(&e->abi, a->libs, why, sizeof(why)))
		die(4, "%s", why);
	if (!llama_abi_batch_fits(&e->abi))
		die(4, "%s: unknown version: its batches look different", a->libs);
	struct llama_params params = e->abi.model_default_params();
	if (a->n_gpu_layers >= 0 && llama_abi_set_gpu_layers(&params, a->n_gpu_layers))
		die(4, "%s: unknown version: no place for --gpu-layers in its defaults", a->libs);
	e->model = e->abi.model_load_from_file(a->model, params);
	if (!e->model)
		die(1, "%s: cannot load this model", a->model);
	create_context(e, a);
	if (a->pool)
		attach_pool(e, a->n_threads);
	e->sampler = e->abi.sampler_init_greedy();
}

static void close_engine(struct engine *e)
{
	e->abi.sampler_free(e->sampler);
	if (e->pool)
		e->abi.detach_threadpool(e->context);
	e->abi.free(e->context);
	if (e->pool)
		e->abi.threadpool_free(e->pool);
	e->abi.model_free(e->model);
}

// --- work ---

// The text as often as it takes, cut at `n` tokens, the beginning-of-text token among them.
static int32_t *make_prompt(const struct engine *e, uint32_t n)
{
	size_t length = sizeof(prompt_text) - 1;
	size_t n_copies = n / 32 + 2; // a copy is more than 32 tokens in any vocabulary
	int32_t n_max = (int32_t)(n_copies * length + 8);
	int32_t *tokens = allocate((size_t)n_max, sizeof(*tokens));
	char *text = allocate(n_copies, length);
	int32_t n_tokens;

	for (size_t i = 0; i < n_copies; i++)
		memcpy(text + i * length, prompt_text, length);
	n_tokens = e->abi.tokenize(e->abi.model_get_vocab(e->model), text,
		(int32_t)(n_copies * length), tokens, n_max, true, false);
	free(text);
	if (n_tokens < (int32_t)n)
		die(1, "the model's tokenizer makes no %u tokens of the prompt", n);
	return tokens;
}

static int32_t evaluate(struct engine *e, int32_t *tokens, uint32_t n)
{
	int32_t status = e->abi.decode(e->context, e->abi.batch_get_one(tokens, (int32_t)n));

	if (status)
		die(1, "llama_decode of %u tokens failed: %d", n, status);
	return e->abi.sampler_sample(e->sampler, e->context, -1);
}

static void generate(
	struct engine *e, const struct arguments *a, int32_t *prompt, struct generation *g)
{
	e->abi.memory_clear(e->abi.get_memory(e->context), true);
	for (uint32_t i = 0; i < a->n_predict; i++) {
		uint64_t start = monotonic_ns();

		g->tokens[i] =
			i ? evaluate(e, &g->tokens[i - 1], 1) : evaluate(e, prompt, a->n_prompt);
		g->step_ns[i] = monotonic_ns() - start;
	}
}

static void print_tokens(const struct generation *g, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		printf("%d%c", g->tokens[i], i + 1 < n ? ' ' : '\n');
	fflush(stdout);
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

// Sorts the steps: call last. Rates of nothing are null.
static void print_timing(struct generation *g, const struct arguments *a, uint32_t repeat)
{
	uint32_t n = a->n_predict - 1;
	uint64_t *steps = g->step_ns + 1;
	uint64_t total = 0;

	for (uint32_t i = 0; i < n; i++)
		total += steps[i];
	fprintf(stderr,
		"{\"repeat\": %u, \"threads\": %u, \"pool\": %s, \"prefill_tokens\": %u, "
		"\"prefill_ns\": %llu, \"prefill_tokens_per_s\": %.2f, \"decode_steps\": %u, ",
		repeat, a->n_threads, a->pool ? "true" : "false", a->n_prompt,
		(unsigned long long)g->step_ns[0], 1e9 * a->n_prompt / (double)g->step_ns[0], n);
	if (!n) {
		fputs("\"decode_ns\": 0, \"decode_tokens_per_s\": null, \"decode_min_ns\": null, "
		      "\"decode_p50_ns\": null}\n",
			stderr);
		return;
	}
	qsort(steps, n, sizeof(*steps), compare_ns);
	fprintf(stderr,
		"\"decode_ns\": %llu, \"decode_tokens_per_s\": %.2f, \"decode_min_ns\": %llu, "
		"\"decode_p50_ns\": %llu}\n",
		(unsigned long long)total, 1e9 * n / (double)total, (unsigned long long)steps[0],
		(unsigned long long)steps[n / 2]);
}

static void run(struct engine *e, const struct arguments *a)
{
	int32_t *prompt = make_prompt(e, a->n_prompt);
	struct generation g = {
		.tokens = allocate(a->n_predict, sizeof(*g.tokens)),
		.step_ns = allocate(a->n_predict, sizeof(*g.step_ns)),
	};

	for (uint32_t i = 0; i < a->n_repeat; i++) {
		generate(e, a, prompt, &g);
		print_tokens(&g, a->n_predict);
		if (a->timing)
			print_timing(&g, a, i);
	}
	free(prompt);
	free(g.tokens);
	free(g.step_ns);
}

// --- the command line ---

static const char usage[] =
	"usage: brick-llama --libs DIR --model FILE [OPTIONS]\n"
	"  --libs DIR           folder with libllama (build/demo/engine/libs)\n"
	"  --model FILE         model to run (GGUF)\n"
	"  --prompt-tokens N    length of the prompt (256)\n"
	"  --predict M          tokens to generate (64)\n"
	"  --threads T          threads to compute with (1)\n"
	"  --no-pool            leave it to the engine to make threads for each evaluation\n"
	"  --ubatch N           tokens evaluated at once (512)\n"
	"  --gpu-layers N       layers that a GPU backend takes, where there is one (all)\n"
	"  --flash on|off|auto  flash attention (auto)\n"
	"  --cache-type TYPE    of keys and values: f16, q8_0 (as the engine has it)\n"
	"  --repeat R           do it all R times (1)\n"
	"  --log                all that the engine says on stderr\n"
	"  --timing             a line of JSON for each repetition on stderr\n"
	"  --help               show this\n";

static uint32_t parse_number(const char *option, const char *text)
{
	uint64_t value;

	if (number_u64(text, 1, 1000000, &value))
		die(2, "--%s %s: not a number from 1 to 1000000", option, text);
	return (uint32_t)value;
}

static int32_t parse_layers(const char *text)
{
	uint64_t value;

	if (number_u64(text, 0, 10000, &value))
		die(2, "--gpu-layers %s: not a number from 0 to 10000", text);
	return (int32_t)value;
}

static enum llama_flash parse_flash(const char *text)
{
	if (!strcmp(text, "on"))
		return LLAMA_FLASH_ON;
	if (!strcmp(text, "off"))
		return LLAMA_FLASH_OFF;
	if (!strcmp(text, "auto"))
		return LLAMA_FLASH_AUTO;
	die(2, "--flash %s: not one of on, off, auto", text);
}

static enum llama_type parse_cache_type(const char *text)
{
	if (!strcmp(text, "f16"))
		return LLAMA_TYPE_F16;
	if (!strcmp(text, "q8_0"))
		return LLAMA_TYPE_Q8_0;
	die(2, "--cache-type %s: not one of f16, q8_0", text);
}

static const struct option options[] = {
	{"libs", required_argument, NULL, 'L'},
	{"model", required_argument, NULL, 'm'},
	{"prompt-tokens", required_argument, NULL, 'n'},
	{"predict", required_argument, NULL, 'p'},
	{"threads", required_argument, NULL, 't'},
	{"no-pool", no_argument, NULL, 'P'},
	{"ubatch", required_argument, NULL, 'u'},
	{"gpu-layers", required_argument, NULL, 'g'},
	{"flash", required_argument, NULL, 'f'},
	{"cache-type", required_argument, NULL, 'c'},
	{"repeat", required_argument, NULL, 'r'},
	{"log", no_argument, NULL, 'l'},
	{"timing", no_argument, NULL, 'T'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void parse_option(struct arguments *a, int option, const char *name)
{
	uint32_t *const numbers[128] = {
		['n'] = &a->n_prompt,
		['p'] = &a->n_predict,
		['t'] = &a->n_threads,
		['u'] = &a->n_ubatch,
		['r'] = &a->n_repeat,
	};

	switch (option) {
	case 'L':
		a->libs = optarg;
		break;
	case 'm':
		a->model = optarg;
		break;
	case 'P':
		a->pool = false;
		break;
	case 'f':
		a->flash = parse_flash(optarg);
		break;
	case 'c':
		a->cache_type = parse_cache_type(optarg);
		break;
	case 'g':
		a->n_gpu_layers = parse_layers(optarg);
		break;
	case 'l':
		llama_abi_logs = true;
		break;
	case 'T':
		a->timing = true;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		if (!numbers[option]) // getopt_long() has said why
			exit(2);
		*numbers[option] = parse_number(name, optarg);
	}
}

static void parse(struct arguments *a, int argc, char **argv)
{
	int option, i = 0;

	while ((option = getopt_long(argc, argv, "h", options, &i)) != -1)
		parse_option(a, option, options[i].name);
	if (optind != argc)
		die(2, "%s: not an option (see --help)", argv[optind]);
	if (!a->model)
		die(2, "--model is missing (see --help)");
}

int main(int argc, char **argv)
{
	struct arguments arguments = {
		.libs = "build/demo/engine/libs",
		.n_prompt = 256,
		.n_predict = 64,
		.n_threads = 1,
		.n_repeat = 1,
		.n_ubatch = 512,
		.n_gpu_layers = -1,
		.flash = LLAMA_FLASH_AUTO,
		.pool = true,
	};
	struct engine engine = {0};

	parse(&arguments, argc, argv);
	open_engine(&engine, &arguments);
	run(&engine, &arguments);
	close_engine(&engine);
	return 0;
}
