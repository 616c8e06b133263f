// SPDX-License-Identifier: Apache-2.0
//
// A program that generates tokens with the real engine and has one thing wrong with it, if it is
// told to: it sleeps between steps, sorts the vocabulary, makes a thread slow, decodes sequences
// one after the other. bench/causes/run.py runs it with and without that. It prints one line of
// JSON: what prompts and generated tokens took, as a user with a watch would see it, everything
// between two tokens included; and how many bytes of an evicted model the kernel read again. One
// thread, beside those of the engine.
//
//   usage: causes-planted --libs DIR --model FILE [OPTION VALUE]...
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <getopt.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/number.h"
#include "examples/demo/llama_abi.h"

enum { BATCH_TOKENS = 4096, SEQUENCES = 16, MAX_THREADS = 64 };

// All numbers, so that one table serves the command line.
struct options {
	const char *libs, *model;
	const char *lora; // an adapter
	uint64_t prompt, predict, repeat, threads, batch, ubatch, flash, type_k, type_v, seqs;
	uint64_t apart;	   // sequences: each in a batch of its own
	uint64_t all;	   // logits: of all tokens of a prompt
	uint64_t mixed;	   // tokens of another prompt in each decoding batch
	uint64_t pause_us; // sleep between steps
	uint64_t text_us;  // work on text between steps
	uint64_t sampler;  // 1: sorts the vocabulary; 2: looks at a long past, too; 3: obeys a
			   // grammar; 4: as most programs sample
	uint64_t slow;	   // percent of one thread's time that is burnt
	uint64_t warm;	   // evaluations that warm up
	uint64_t gpu;	   // layers + 1 on a device; 0: the default
	uint64_t load;	   // enum llama_load_mode + 1; 0: the default
	uint64_t no_pool;  // threads are made for each evaluation
	uint64_t evict;	   // the model's pages, from memory, after it was loaded
	uint64_t wait_us;  // before the first evaluation
	uint64_t fresh;	   // repetitions have prompts of their own
	uint64_t lock_us;  // another thread holds a lock for so long, which each step takes before
	uint64_t spin;	   // another thread of the program computes all the time
	uint64_t save;	   // the whole state is saved after each step
	uint64_t keep;	   // so many steps, the sequence's state is saved, and never freed
	uint64_t watch;	   // a callback wants to see each node, as one for debugging does
	uint64_t anew;	   // so many tokens, all tokens are evaluated again
	uint64_t seldom;   // so many steps lie between two pauses
	uint64_t sync;	   // a log is written and synced after each step
	uint64_t pipe_us;  // a pipe takes what is said of a step, whose reader sleeps so long
	uint64_t softmax;  // the program computes all probabilities, so often a step
	uint64_t evict_each;	// so many steps, the model's pages leave memory
	uint64_t embed;		// embeddings are wanted
	uint64_t batch_threads; // of the evaluation of prompts; 0: as many as of others
	uint64_t plain_weights; // they are not repacked
	uint64_t drafts;	// tokens that are evaluated beside each and then rejected
	uint64_t shift;		// the oldest token leaves the context before each step
	uint64_t twin;		// another thread decodes, too, and one lock serves both
};

struct batch {
	int32_t n_tokens;
	int32_t *token;
	float *embd;
	int32_t *pos;
	int32_t *n_seq_id;
	int32_t **seq_id;
	int8_t *logits;
};

struct program {
	struct options o;
	struct llama_abi abi;
	int32_t (*decode)(void *context, struct batch batch);
	void (*set_warmup)(void *context, bool warm);
	bool (*seq_rm)(void *memory, int32_t sequence, int32_t from, int32_t to);
	size_t (*state_size)(void *context);
	size_t (*state_get)(void *context, uint8_t *to, size_t bytes);
	size_t (*seq_size)(void *context, int32_t sequence);
	size_t (*seq_get)(void *context, uint8_t *to, size_t bytes, int32_t sequence);
	void *(*chain_init)(uint64_t params);
	void (*chain_add)(void *chain, void *sampler);
	void *(*top_p)(float p, size_t keep);
	void *(*typical)(float p, size_t keep);
	void *(*temperature)(float t);
	void *(*penalties)(int32_t last, float repeat, float frequency, float present);
	void *(*dist)(uint32_t seed);
	void *(*top_k)(int32_t k);
	void *(*grammar)(const void *vocab, const char *rules, const char *root);
	float *(*logits)(void *context, int32_t at);
	int32_t (*vocab_size)(const void *vocab);
	void (*set_embeddings)(void *context, bool wanted);
	void (*seq_add)(void *memory, int32_t sequence, int32_t from, int32_t to, int32_t shift);
	void *(*lora_init)(void *model, const char *path);
	int32_t (*set_loras)(void *context, void **adapters, size_t n, float *scales);
	int log, pipe, read_from; // where the program says what it does
	const void *vocab;
	void *context, *sampler, *pool;
	void *model;
	int32_t position[SEQUENCES], last[SEQUENCES];
	int32_t made[BATCH_TOKENS]; // the tokens behind the prompt of the only sequence
	bool is_twin;
	uint64_t conversation; // the repetition, if each has its own prompt
	struct batch batch;
	uint64_t prefill_ns, prefill_tokens, decode_ns, decode_tokens;
	uint64_t evictions, resident, came_back; // the model's pages, in bytes
};

static void die(const char *what)
{
	fprintf(stderr, "causes-planted: %s\n", what);
	exit(1);
}

// The library's own, as programs get it that look functions up: nothing preloaded stands before it.
static void *library_of(const char *libs)
{
	char pattern[4096];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/libllama.*so", libs);
	if (glob(pattern, 0, NULL, &found))
		die("no libllama there");
	void *library = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		die("libllama was not opened");
	globfree(&found);
	return library;
}

static void *look_up(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		die(name);
	return found;
}

#define LOOK_UP(field, name)                               \
	do {                                               \
		void *found_ = look_up(library, name);     \
		memcpy(&(field), &found_, sizeof(found_)); \
	} while (0)

static void look_up_all(struct program *p)
{
	void *library = library_of(p->o.libs);

	LOOK_UP(p->decode, "llama_decode");
	LOOK_UP(p->set_warmup, "llama_set_warmup");
	LOOK_UP(p->state_size, "llama_state_get_size");
	LOOK_UP(p->state_get, "llama_state_get_data");
	LOOK_UP(p->seq_size, "llama_state_seq_get_size");
	LOOK_UP(p->seq_get, "llama_state_seq_get_data");
	LOOK_UP(p->chain_init, "llama_sampler_chain_init");
	LOOK_UP(p->chain_add, "llama_sampler_chain_add");
	LOOK_UP(p->top_p, "llama_sampler_init_top_p");
	LOOK_UP(p->typical, "llama_sampler_init_typical");
	LOOK_UP(p->temperature, "llama_sampler_init_temp");
	LOOK_UP(p->penalties, "llama_sampler_init_penalties");
	LOOK_UP(p->dist, "llama_sampler_init_dist");
	LOOK_UP(p->top_k, "llama_sampler_init_top_k");
	LOOK_UP(p->grammar, "llama_sampler_init_grammar");
	LOOK_UP(p->logits, "llama_get_logits_ith");
	LOOK_UP(p->vocab_size, "llama_vocab_n_tokens");
	LOOK_UP(p->set_embeddings, "llama_set_embeddings");
	LOOK_UP(p->lora_init, "llama_adapter_lora_init");
	LOOK_UP(p->set_loras, "llama_set_adapters_lora");
	library = RTLD_DEFAULT; // as a linked program calls them: a recorder may stand before them
	LOOK_UP(p->seq_rm, "llama_memory_seq_rm");
	LOOK_UP(p->seq_add, "llama_memory_seq_add");
}

static bool watch_node(void *node, bool asks, void *data)
{
	(void)node, (void)asks, (void)data;
	return true;
}

static void make_context(struct program *p)
{
	// llama_context_params of the version that examples/demo/engine.sh installs
	enum { WORD_SEQUENCES = 3, WORD_WATCH = 22, WORD_TYPE_K = 26, WORD_TYPE_V = 27 };
	bool (*watch)(void *node, bool asks, void *data) = watch_node;
	const struct options *o = &p->o;
	struct llama_params params = p->abi.context_default_params();
	uint64_t each = o->prompt + o->predict * (1 + o->mixed) + o->drafts + 8;
	char why[256];

	if (llama_abi_set_context(&params, (uint32_t)(each * (o->seqs + (o->mixed > 0))),
		    (uint32_t)o->batch, (uint32_t)o->ubatch, (enum llama_flash)((int)o->flash - 1),
		    why, sizeof(why)))
		die(why);
	if (params.words[WORD_SEQUENCES] != 1 || params.words[WORD_TYPE_K] != 1 ||
		params.words[WORD_TYPE_V] != 1)
		die("unknown version: no place for the sequences and types of the cache");
	params.words[WORD_SEQUENCES] = (uint32_t)o->seqs + (o->mixed > 0);
	params.words[WORD_TYPE_K] = (uint32_t)o->type_k;
	params.words[WORD_TYPE_V] = (uint32_t)o->type_v;
	if (o->watch)
		memcpy(&params.words[WORD_WATCH], &watch, sizeof(watch));
	p->context = p->abi.init_from_model(p->model, params);
	if (!p->context)
		die("no context");
	p->abi.set_n_threads(p->context, (int32_t)o->threads,
		(int32_t)(o->batch_threads ? o->batch_threads : o->threads));
	if (o->lora) {
		void *adapter = p->lora_init(p->model, o->lora);
		float whole = 1;
		if (!adapter || p->set_loras(p->context, &adapter, 1, &whole))
			die("no adapter");
	}
}

static void make_sampler(struct program *p)
{
	enum { LONG_PAST = 2, GRAMMAR, USUAL };
	if (!p->o.sampler) {
		p->sampler = p->abi.sampler_init_greedy();
		return;
	}
	p->sampler = p->chain_init(1);
	if (p->o.sampler == GRAMMAR) /* it never ends, so no text does */
		p->chain_add(
			p->sampler, p->grammar(p->vocab, "root ::= [^\\x01]* \"\\x01\"", "root"));
	if (p->o.sampler == LONG_PAST)
		p->chain_add(p->sampler, p->penalties(-1, 1.1F, 0.1F, 0.1F));
	if (p->o.sampler == USUAL || p->o.sampler == GRAMMAR)
		p->chain_add(p->sampler, p->top_k(40));
	else
		p->chain_add(p->sampler, p->typical(0.9F, 1));
	p->chain_add(p->sampler, p->top_p(0.95F, 1));
	p->chain_add(p->sampler, p->temperature(0.8F));
	p->chain_add(p->sampler, p->dist(1));
}

static void open_engine(struct program *p)
{
	enum { WORD_LOAD = 6, WORD_REPACK = 18, REPACK = 0x10000 };
	char why[4096];

	if (llama_abi_open(&p->abi, p->o.libs, why, sizeof(why)))
		die(why);
	look_up_all(p);
	struct llama_params params = p->abi.model_default_params();
	if (p->o.gpu && llama_abi_set_gpu_layers(&params, (int32_t)p->o.gpu - 1))
		die("unknown version: no place for layers of a device");
	if (p->o.load)
		params.words[WORD_LOAD] = (uint32_t)p->o.load - 1;
	if (p->o.plain_weights) {
		if ((params.words[WORD_REPACK] & 0xffffff) != REPACK)
			die("unknown version: no place for repacked weights");
		params.words[WORD_REPACK] &= ~(uint32_t)REPACK;
	}
	p->model = p->abi.model_load_from_file(p->o.model, params);
	if (!p->model)
		die("cannot load the model");
	p->vocab = p->abi.model_get_vocab(p->model);
	make_context(p);
	if (p->o.embed)
		p->set_embeddings(p->context, true);
	if (!p->o.no_pool) {
		struct llama_params pool = p->abi.threadpool_params_default((int)p->o.threads);
		p->pool = p->abi.threadpool_new(&pool);
		if (!p->pool)
			die("no pool of threads");
		p->abi.attach_threadpool(p->context, p->pool, NULL);
	}
	make_sampler(p);
}

struct batch_memory {
	int32_t counts[BATCH_TOKENS], sequences[BATCH_TOKENS], *lists[BATCH_TOKENS];
	int32_t tokens[BATCH_TOKENS], positions[BATCH_TOKENS];
	int8_t logits[BATCH_TOKENS];
};

static void make_batch(struct batch *b)
{
	struct batch_memory *m = calloc(1, sizeof(*m));

	if (!m)
		die("no memory");
	for (size_t i = 0; i < BATCH_TOKENS; i++) {
		m->counts[i] = 1;
		m->lists[i] = &m->sequences[i];
	}
	*b = (struct batch){0, m->tokens, NULL, m->positions, m->counts, m->lists, m->logits};
}

static void add(struct program *p, int32_t sequence, int32_t token, bool logits)
{
	struct batch *b = &p->batch;
	int32_t at = b->n_tokens++;

	b->token[at] = token;
	b->pos[at] = p->position[sequence]++;
	*b->seq_id[at] = sequence;
	b->logits[at] = (int8_t)logits;
}

static void evaluate(struct program *p)
{
	if (p->decode(p->context, p->batch))
		die("llama_decode failed");
}

static void sample(struct program *p, int32_t sequence, int32_t at)
{
	p->last[sequence] = p->abi.sampler_sample(p->sampler, p->context, at);
}

// As an engine's front end does: pieces are put together, searched and written out.
static void work_on_text(uint64_t us)
{
	static char text[1 << 14];
	uint64_t end = monotonic_ns() + us * 1000;
	unsigned n = 0;

	while (us && monotonic_ns() < end) {
		snprintf(text + n % 16000, 64, "token %u of %u ", n, n * 7);
		n += (unsigned)strcspn(text, "#") % 61 + 1;
	}
}

// Another thread takes the lock as soon as it is free, works on something and gives it back.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static bool wanted;

static void *hold_lock(void *us)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		while (!wanted)
			pthread_cond_wait(&turn, &lock);
		usleep((useconds_t)(uintptr_t)us);
		wanted = false;
	}
	return NULL;
}

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	wanted = true;
	pthread_cond_signal(&turn);
	pthread_mutex_unlock(&lock);
	sched_yield();
	for (bool held = true; held;) {
		pthread_mutex_lock(&lock);
		held = wanted;
		pthread_mutex_unlock(&lock);
	}
}

static void *spin(void *data)
{
	for (volatile uint64_t n = 0;; n++)
		(void)data;
	return NULL;
}

// As a terminal or a client that is slow.
static void *read_slowly(void *data)
{
	const struct program *p = data;
	char text[PIPE_BUF];

	for (int from = p->read_from; read(from, text, sizeof(text)) > 0;)
		usleep((useconds_t)p->o.pipe_us);
	return NULL;
}

static void open_pipe(struct program *p)
{
	int ends[2];
	pthread_t thread;

	if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, PIPE_BUF) < 0)
		die("no pipe");
	p->read_from = ends[0];
	p->pipe = ends[1];
	if (pthread_create(&thread, NULL, read_slowly, p))
		die("no thread");
}

static void open_log(struct program *p)
{
	char directory[4096];

	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(p->o.model, '/') - p->o.model),
		p->o.model);
	p->log = open(directory, O_TMPFILE | O_WRONLY | O_APPEND, 0600);
	if (p->log < 0)
		die("no log");
}

// The text of a token and its candidates, as servers write it.
static void say(int to, int32_t token)
{
	static char line[PIPE_BUF];

	memset(line, '.', sizeof(line));
	snprintf(line, sizeof(line), "token %d", token);
	if (write(to, line, sizeof(line)) != sizeof(line))
		die("nobody hears it");
}

// As a program does that wants the probabilities, or its own sampler.
static void find_probabilities(struct program *p)
{
	const float *logits = p->logits(p->context, -1);
	int32_t n = p->vocab_size(p->vocab);
	volatile float most = 0;
	float sum = 0;

	for (int32_t i = 0; i < n; i++)
		sum += expf(logits[i]);
	for (int32_t i = 0; i < n; i++)
		most = fmaxf(most, expf(logits[i]) / sum);
}

static void start_threads(const struct options *o)
{
	pthread_t thread;

	if (o->lock_us && pthread_create(&thread, NULL, hold_lock, (void *)(uintptr_t)o->lock_us))
		die("no thread");
	if (o->spin && pthread_create(&thread, NULL, spin, NULL))
		die("no thread");
}

static void save_state(struct program *p)
{
	static uint8_t *state;
	static size_t bytes;
	size_t now = p->state_size(p->context);

	if (now > bytes) {
		bytes = now + now / 2;
		state = realloc(state, bytes);
	}
	if (!state || !p->state_get(p->context, state, bytes))
		die("no state");
}

static void keep_state(struct program *p)
{
	size_t bytes = p->seq_size(p->context, 0);
	uint8_t *state = malloc(bytes);

	if (!state || !p->seq_get(p->context, state, bytes, 0))
		die("no state");
}

// Resident bytes of the file's part of an address space.
static uint64_t resident_bytes(unsigned long begin, unsigned long end)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (end - begin) / page;
	unsigned char *there = malloc(pages);
	uint64_t n = 0;

	if (!there || mincore((void *)begin, end - begin, there))
		die("the model's pages cannot be counted");
	for (size_t i = 0; i < pages; i++)
		n += there[i] & 1;
	free(there);
	return n * page;
}

// Evicts the model's pages, as another program's need of memory would, and counts the pages that
// came back since the last time. Without `evict` it only counts them.
static void evict_model(struct program *p, bool evict)
{
	enum { PAGE_OUT = 21 };
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t before = 0, after = 0;
	char line[4096];
	unsigned long begin, end;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, strrchr(p->o.model, '/')) ||
			sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		before += resident_bytes(begin, end);
		if (evict && madvise((void *)begin, end - begin, PAGE_OUT))
			die("the pages of the model stay");
		after += resident_bytes(begin, end);
	}
	if (maps)
		fclose(maps);
	if (p->evictions && before > p->resident)
		p->came_back += before - p->resident;
	p->resident = after;
	p->evictions += evict;
}

static void between(struct program *p)
{
	if (p->o.lock_us)
		take_lock();
	if (p->o.save)
		save_state(p);
	if (p->o.keep && p->decode_tokens % p->o.keep == 0)
		keep_state(p);
	if (p->o.pause_us && (!p->o.seldom || p->decode_tokens % p->o.seldom == p->o.seldom / 2))
		usleep((useconds_t)p->o.pause_us);
	work_on_text(p->o.text_us);
	if (p->o.pipe_us)
		say(p->pipe, p->last[0]);
	if (p->o.sync) {
		say(p->log, p->last[0]);
		if (fsync(p->log))
			die("the log is not kept");
	}
	for (uint64_t i = 0; i < p->o.softmax; i++)
		find_probabilities(p);
	if (p->o.evict_each && p->decode_tokens % p->o.evict_each == p->o.evict_each / 2)
		evict_model(p, true);
}

static int32_t prompt_token(const struct program *p, int32_t sequence, uint64_t i)
{
	return (int32_t)(3 + (i * 7919 + (uint64_t)sequence * 131 + p->conversation * 17) % 300);
}

static void read_prompt(struct program *p, int32_t sequence)
{
	uint64_t n = p->o.prompt, begin = monotonic_ns();

	for (uint64_t done = 0; done < n; done += (uint64_t)p->batch.n_tokens) {
		uint64_t some = n - done < p->o.batch ? n - done : p->o.batch;
		p->batch.n_tokens = 0;
		for (uint64_t i = 0; i < some; i++)
			add(p, sequence, prompt_token(p, sequence, done + i),
				p->o.all || done + i + 1 == n);
		evaluate(p);
	}
	sample(p, sequence, p->batch.n_tokens - 1);
	p->prefill_ns += monotonic_ns() - begin;
	p->prefill_tokens += n;
}

// Tokens of somebody else's prompt, which nobody waits for here.
static void add_stranger(struct program *p)
{
	int32_t other = (int32_t)p->o.seqs;

	for (uint64_t i = 0; i < p->o.mixed; i++)
		add(p, other, (int32_t)(3 + p->decode_tokens * 31 % 300), false);
}

static void decode_together(struct program *p)
{
	p->batch.n_tokens = 0;
	for (uint64_t s = 0; s < p->o.seqs; s++)
		add(p, (int32_t)s, p->last[s], true);
	for (uint64_t i = 0; i < p->o.drafts; i++)
		add(p, 0, prompt_token(p, 0, p->decode_tokens + i), true);
	if (p->o.mixed)
		add_stranger(p);
	evaluate(p);
	for (uint64_t s = 0; s < p->o.seqs; s++)
		sample(p, (int32_t)s, (int32_t)s);
	if (p->o.drafts) {
		p->position[0] -= (int32_t)p->o.drafts;
		p->seq_rm(p->abi.get_memory(p->context), 0, p->position[0], -1);
	}
}

// As chats do that are longer than their context: the second token goes, and all behind it move.
static void shift_context(struct program *p)
{
	void *memory = p->abi.get_memory(p->context);

	p->seq_rm(memory, 0, 1, 2);
	p->seq_add(memory, 0, 2, -1, -1);
	p->position[0]--;
}

static void decode_apart(struct program *p)
{
	for (uint64_t s = 0; s < p->o.seqs; s++) {
		p->batch.n_tokens = 0;
		add(p, (int32_t)s, p->last[s], true);
		evaluate(p);
		sample(p, (int32_t)s, 0);
	}
}

static void start_over(struct program *p)
{
	void *memory = p->abi.get_memory(p->context);

	p->abi.memory_clear(memory, true);
	memset(p->position, 0, sizeof(p->position));
}

// As a program does that keeps the text and not the cache.
static void decode_anew(struct program *p)
{
	int32_t length = p->position[0];

	start_over(p);
	p->batch.n_tokens = 0;
	for (int32_t i = 0; i <= length; i++)
		add(p, 0,
			i < (int32_t)p->o.prompt ? prompt_token(p, 0, (uint64_t)i)
						 : p->made[i - (int32_t)p->o.prompt],
			i == length);
	evaluate(p);
	sample(p, 0, length);
}

// Two threads that decode have one lock; they get it in turns, as from a fair lock.
static pthread_mutex_t engine_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t engine_free = PTHREAD_COND_INITIALIZER;
static bool is_taken, is_twins_turn, is_alone = true;

static void take_turn(const struct program *p)
{
	pthread_mutex_lock(&engine_lock);
	while (is_taken || (!is_alone && is_twins_turn != p->is_twin))
		pthread_cond_wait(&engine_free, &engine_lock);
	is_taken = true;
	pthread_mutex_unlock(&engine_lock);
}

static void give_turn(const struct program *p)
{
	pthread_mutex_lock(&engine_lock);
	is_taken = false;
	is_twins_turn = !p->is_twin;
	pthread_cond_broadcast(&engine_free);
	pthread_mutex_unlock(&engine_lock);
}

static void generate(struct program *p)
{
	start_over(p);
	for (uint64_t s = 0; s < p->o.seqs; s++)
		read_prompt(p, (int32_t)s);
	uint64_t begin = monotonic_ns();
	for (uint64_t i = 0; i < p->o.predict; i++) {
		between(p);
		if (p->o.twin)
			take_turn(p);
		if (p->o.shift)
			shift_context(p);
		if (p->o.anew)
			p->made[p->position[0] - (int32_t)p->o.prompt] = p->last[0];
		if (p->o.anew && i % p->o.anew == 0)
			decode_anew(p);
		else if (p->o.apart)
			decode_apart(p);
		else
			decode_together(p);
		p->decode_tokens += p->o.seqs;
		if (p->o.twin)
			give_turn(p);
	}
	p->decode_ns += monotonic_ns() - begin;
}

static void warm_up(struct program *p)
{
	for (uint64_t i = 0; i < p->o.warm; i++) {
		p->set_warmup(p->context, true);
		p->batch.n_tokens = 0;
		for (int k = 0; k < 4; k++)
			add(p, 0, 5 + k, k == 3);
		evaluate(p);
		p->abi.synchronize(p->context);
		p->set_warmup(p->context, false);
		start_over(p);
	}
}

// One thread of the engine has less of its CPU than the others: signals take some of its time.
static uint64_t burn_ns;

static void burn(int number)
{
	uint64_t end = thread_cpu_ns() + burn_ns;

	(void)number;
	while (thread_cpu_ns() < end)
		;
}

// A thread of the pool, which this one is not.
static pid_t find_worker(void)
{
	DIR *tasks = opendir("/proc/self/task");
	pid_t found = 0;

	for (struct dirent *entry; tasks && (entry = readdir(tasks));)
		if (atoi(entry->d_name) > found && atoi(entry->d_name) != getpid())
			found = atoi(entry->d_name);
	if (tasks)
		closedir(tasks);
	return found;
}

static void slow_down(const struct program *p)
{
	enum { PERIOD_NS = 400000 };
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2};
	const struct timespec period = {.tv_nsec = PERIOD_NS};
	const struct itimerspec often = {period, period};
	timer_t timer;

	burn_ns = PERIOD_NS / 100 * p->o.slow;
	event._sigev_un._tid = find_worker();
	if (!event._sigev_un._tid || signal(SIGUSR2, burn) == SIG_ERR ||
		timer_create(CLOCK_MONOTONIC, &event, &timer) ||
		timer_settime(timer, 0, &often, NULL))
		die("no timer");
}

#define NUMBER(name, field)                                                         \
	{                                                                           \
		name, required_argument, NULL, (int)offsetof(struct options, field) \
	}

// The other thread needs no turns any more.
static void leave_turns(void)
{
	pthread_mutex_lock(&engine_lock);
	is_alone = true;
	pthread_cond_broadcast(&engine_free);
	pthread_mutex_unlock(&engine_lock);
}

static void *decode_too(void *twin)
{
	generate(twin);
	leave_turns();
	return NULL;
}

static pthread_t start_twin(const struct program *p)
{
	struct program *twin = malloc(sizeof(*twin));
	pthread_t thread;

	if (!twin)
		die("no memory");
	*twin = *p;
	twin->is_twin = true;
	make_batch(&twin->batch);
	make_context(twin);
	make_sampler(twin);
	is_alone = false;
	if (pthread_create(&thread, NULL, decode_too, twin))
		die("no thread");
	return thread;
}

static const struct option table[] = {
	NUMBER("libs", libs),
	NUMBER("model", model),
	NUMBER("lora", lora),
	NUMBER("prompt", prompt),
	NUMBER("predict", predict),
	NUMBER("repeat", repeat),
	NUMBER("threads", threads),
	NUMBER("batch", batch),
	NUMBER("ubatch", ubatch),
	NUMBER("flash", flash),
	NUMBER("type-k", type_k),
	NUMBER("type-v", type_v),
	NUMBER("seqs", seqs),
	NUMBER("apart", apart),
	NUMBER("all-logits", all),
	NUMBER("mixed", mixed),
	NUMBER("pause-us", pause_us),
	NUMBER("text-us", text_us),
	NUMBER("sampler", sampler),
	NUMBER("slow", slow),
	NUMBER("warm", warm),
	NUMBER("gpu", gpu),
	NUMBER("load", load),
	NUMBER("no-pool", no_pool),
	NUMBER("evict", evict),
	NUMBER("wait-us", wait_us),
	NUMBER("fresh", fresh),
	NUMBER("lock-us", lock_us),
	NUMBER("spin", spin),
	NUMBER("save", save),
	NUMBER("keep", keep),
	NUMBER("watch", watch),
	NUMBER("anew", anew),
	NUMBER("pause-each", seldom),
	NUMBER("sync", sync),
	NUMBER("pipe-us", pipe_us),
	NUMBER("softmax", softmax),
	NUMBER("evict-each", evict_each),
	NUMBER("embed", embed),
	NUMBER("batch-threads", batch_threads),
	NUMBER("plain-weights", plain_weights),
	NUMBER("drafts", drafts),
	NUMBER("shift", shift),
	NUMBER("twin", twin),
	{0},
};

static void parse(struct options *o, int argc, char **argv)
{
	int at = 0;

	for (int c; (c = getopt_long(argc, argv, "", table, &at)) != -1;) {
		char *field = (char *)o + table[at].val;
		if (c == '?')
			exit(2);
		if (table[at].val <= (int)offsetof(struct options, lora))
			memcpy(field, &optarg, sizeof(optarg));
		else if (number_u64(optarg, 0, 1000000000, (uint64_t *)(void *)field))
			die(optarg);
	}
	if (!o->libs || !o->model || !o->seqs || o->seqs > SEQUENCES || o->batch > BATCH_TOKENS ||
		o->threads > MAX_THREADS || (o->anew && o->prompt + o->predict > BATCH_TOKENS))
		die("wrong options");
}

int main(int argc, char **argv)
{
	struct program p = {.o = {.prompt = 64,
				    .predict = 64,
				    .repeat = 1,
				    .threads = 2,
				    .batch = 512,
				    .ubatch = 512,
				    .type_k = 1,
				    .type_v = 1,
				    .seqs = 1}};

	parse(&p.o, argc, argv);
	open_engine(&p);
	make_batch(&p.batch);
	if (p.o.slow)
		slow_down(&p);
	start_threads(&p.o);
	if (p.o.pipe_us)
		open_pipe(&p);
	if (p.o.sync)
		open_log(&p);
	usleep((useconds_t)p.o.wait_us);
	if (p.o.evict)
		evict_model(&p, true);
	warm_up(&p);
	pthread_t twin = p.o.twin ? start_twin(&p) : 0;
	for (uint64_t i = 0; i < p.o.repeat; i++) {
		p.conversation = p.o.fresh ? i : 0;
		generate(&p);
	}
	leave_turns();
	if (p.o.twin)
		pthread_join(twin, NULL);
	if (p.evictions)
		evict_model(&p, false);
	printf("{\"prefill_ns\": %llu, \"prefill_tokens\": %llu, \"decode_ns\": %llu, "
	       "\"decode_tokens\": %llu, \"came_back_bytes\": %llu}\n",
		(unsigned long long)p.prefill_ns, (unsigned long long)p.prefill_tokens,
		(unsigned long long)p.decode_ns, (unsigned long long)p.decode_tokens,
		(unsigned long long)p.came_back);
	return 0;
}
