// SPDX-License-Identifier: Apache-2.0
//
// Is preloaded into a program and does something wrong inside of it: at the beginning of a brick,
// between steps, or all the time. A program that embeds Brick is met in brick__begin(), the engine
// in functions of ggml that its operations call with tensors whose names say the brick. What is
// done stands in CAUSES_FAULTS: KIND:PLACE:AMOUNT[:EACH[:WHO]], several with commas between.
//
//   KIND   AMOUNT
//   sleep  microseconds
//   spin   microseconds of CPU time
//   lock   microseconds for which another thread holds a lock that is wanted
//   growth nanoseconds of CPU time more than the time before
//   fault  KiB that are mapped, touched page by page and unmapped
//   copy   KiB that are copied
//   disk   KiB that are read from CAUSES_FILE, which leaves memory before
//   calls  microseconds of CPU time, in short system calls
//   thrash KiB that are read at random places of 64 MiB
//   spawn  threads that are made, and joined
//   pipe   round trips through pipes to another thread
//   signal microseconds of CPU time for each signal; one comes all EACH microseconds
//
// PLACE is a brick's name, with "@N" for layer N alone; "step" is before each step of a program
// that embeds Brick. With EACH, every EACH-th time alone. WHO is main, workers or all. Any thread.
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "brick/registry.h"

enum { FAULTS = 4, NAME = 32, KIB = 1024, PAGE = 4096, STEP = -1 };

enum who { ALL, MAIN, WORKERS };

struct fault {
	char kind[NAME];
	int brick; // STEP: before each step
	int layer; // -1: all
	uint64_t amount, each;
	enum who who;
};

static struct fault faults[FAULTS];
static size_t fault_count;
static int file = -1;

static void die(const char *what)
{
	fprintf(stderr, "causes-shim: %s\n", what);
	_exit(1);
}

static void burn(uint64_t ns)
{
	uint64_t end = thread_cpu_ns() + ns;

	while (thread_cpu_ns() < end)
		;
}

// A lock with a holder: it is asked to take the lock, and the caller wants it then.
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER, wanted = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static uint64_t hold_us, holding;

static void *hold(void *data)
{
	(void)data;
	pthread_mutex_lock(&asking);
	for (;;) {
		while (!hold_us)
			pthread_cond_wait(&turn, &asking);
		uint64_t us = hold_us;
		hold_us = 0;
		pthread_mutex_lock(&wanted);
		holding = 1;
		pthread_cond_broadcast(&turn);
		pthread_mutex_unlock(&asking);
		usleep((useconds_t)us);
		pthread_mutex_unlock(&wanted);
		pthread_mutex_lock(&asking);
	}
	return NULL;
}

static void want_lock(uint64_t us)
{
	static pthread_t holder;
	static bool begun;

	pthread_mutex_lock(&asking);
	if (!begun) {
		begun = true;
		if (pthread_create(&holder, NULL, hold, NULL))
			die("no thread");
	}
	holding = 0;
	hold_us = us;
	pthread_cond_broadcast(&turn);
	while (!holding)
		pthread_cond_wait(&turn, &asking);
	pthread_mutex_unlock(&asking);
	pthread_mutex_lock(&wanted);
	pthread_mutex_unlock(&wanted);
}

static void touch_fresh(size_t bytes)
{
	char *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fresh == MAP_FAILED)
		die("no memory");
	madvise(fresh, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += PAGE)
		((volatile char *)fresh)[i] = 1;
	munmap(fresh, bytes);
}

static void copy(size_t bytes)
{
	static _Thread_local char *from, *to;
	static _Thread_local size_t have;

	if (have < bytes) {
		from = realloc(from, bytes);
		to = realloc(to, bytes);
		if (!from || !to)
			die("no memory");
		memset(from, 1, bytes);
		memset(to, 1, bytes);
		have = bytes;
	}
	memcpy(to, from, bytes);
	__asm__ volatile("" : : "r"(to) : "memory");
}

static void read_file(size_t bytes)
{
	static _Thread_local char buffer[64 * KIB];

	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	for (size_t done = 0; done < bytes; done += sizeof(buffer))
		if (pread(file, buffer, sizeof(buffer), (off_t)done) <= 0)
			die("the file is too short");
}

static void call(uint64_t ns)
{
	uint64_t end = thread_cpu_ns() + ns;

	while (thread_cpu_ns() < end)
		syscall(SYS_getppid);
}

static void thrash(size_t bytes)
{
	enum { ALL = 64 << 20, LINE = 64 };
	static _Thread_local char *memory;
	static _Thread_local uint64_t at;

	if (!memory) {
		memory = malloc(ALL);
		if (!memory)
			die("no memory");
		memset(memory, 1, ALL);
	}
	for (size_t i = 0; i < bytes; i += LINE) {
		at = at * 6364136223846793005 + 1442695040888963407;
		((volatile char *)memory)[at >> 38]++;
	}
}

static void *nothing(void *data)
{
	return data;
}

static void spawn(uint64_t threads)
{
	for (uint64_t i = 0; i < threads; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, nothing, NULL))
			die("no thread");
		pthread_join(thread, NULL);
	}
}

static void *echo(void *data)
{
	const int *ends = data;
	char byte;

	while (read(ends[0], &byte, 1) == 1 && write(ends[3], &byte, 1) == 1)
		;
	return NULL;
}

static void round_trips(uint64_t count)
{
	static _Thread_local int ends[4]; // there: 0 and 1; back: 2 and 3
	static _Thread_local bool begun;
	pthread_t thread;
	char byte = 0;

	if (!begun && (pipe(ends) || pipe(ends + 2) || pthread_create(&thread, NULL, echo, ends)))
		die("no pipe");
	begun = true;
	for (uint64_t i = 0; i < count; i++)
		if (write(ends[1], &byte, 1) != 1 || read(ends[2], &byte, 1) != 1)
			die("nobody answers");
}

static void commit(const struct fault *f, uint64_t times)
{
	int saved = errno;

	if (!strcmp(f->kind, "sleep"))
		usleep((useconds_t)f->amount);
	else if (!strcmp(f->kind, "spin"))
		burn(f->amount * 1000);
	else if (!strcmp(f->kind, "lock"))
		want_lock(f->amount);
	else if (!strcmp(f->kind, "growth"))
		burn(f->amount * times);
	else if (!strcmp(f->kind, "fault"))
		touch_fresh(f->amount * KIB);
	else if (!strcmp(f->kind, "copy"))
		copy(f->amount * KIB);
	else if (!strcmp(f->kind, "disk"))
		read_file(f->amount * KIB);
	else if (!strcmp(f->kind, "calls"))
		call(f->amount * 1000);
	else if (!strcmp(f->kind, "thrash"))
		thrash(f->amount * KIB);
	else if (!strcmp(f->kind, "spawn"))
		spawn(f->amount);
	else if (!strcmp(f->kind, "pipe"))
		round_trips(f->amount);
	errno = saved;
}

static void reach(int brick, int layer)
{
	static _Thread_local uint64_t times[FAULTS];

	for (size_t i = 0; i < fault_count; i++) {
		const struct fault *f = &faults[i];
		bool is_main = syscall(SYS_gettid) == getpid();
		if (f->brick != brick || (f->layer >= 0 && f->layer != layer) ||
			(f->who != ALL && (f->who == MAIN) != is_main))
			continue;
		if (++times[i] % f->each == 0)
			commit(f, times[i]);
	}
}

// Programs that embed Brick.

static _Thread_local int layer_now = -1;

static void *next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found)
		die(name);
	return found;
}

#define PUBLIC __attribute__((visibility("default")))
#define NEXT(type, name) ((type)(uintptr_t)next(name))

PUBLIC uint32_t brick__begin(uint32_t brick);
uint32_t brick__begin(uint32_t brick)
{
	static uint32_t (*real)(uint32_t brick);

	if (!real)
		real = NEXT(uint32_t(*)(uint32_t), "brick__begin");
	uint32_t span = real(brick);
	reach((int)brick, layer_now);
	return span;
}

PUBLIC void brick_layer_set(int layer);
void brick_layer_set(int layer)
{
	static void (*real)(int layer);

	if (!real)
		real = NEXT(void (*)(int), "brick_layer_set");
	layer_now = layer;
	real(layer);
}

PUBLIC uint32_t brick_step_begin(int phase, uint64_t tokens);
uint32_t brick_step_begin(int phase, uint64_t tokens)
{
	static uint32_t (*real)(int phase, uint64_t tokens);

	if (!real)
		real = NEXT(uint32_t(*)(int, uint64_t), "brick_step_begin");
	reach(STEP, -1);
	return real(phase, tokens);
}

// The engine. Its library of operations asks these about tensors while it computes.

static void *base;

static void *of_base(const char *name)
{
	if (!base)
		base = dlopen("libggml-base.so", RTLD_NOW | RTLD_NOLOAD);
	void *found = base ? dlsym(base, name) : NULL;
	if (!found)
		die(name);
	return found;
}

#define OF_BASE(type, name) ((type)(uintptr_t)of_base(name))

// The caller is an operation, and neither the scheduler nor the builder of graphs. The loader is
// asked once for each caller: it has a lock, for which the threads would wait.
static bool is_operation(void *caller)
{
	enum { PLACES = 256 };
	static _Thread_local struct {
		void *caller;
		bool is_operation;
	} known[PLACES];
	size_t place = ((uintptr_t)caller >> 2) % PLACES;
	Dl_info info;

	if (known[place].caller != caller) {
		known[place].caller = caller;
		known[place].is_operation =
			dladdr(caller, &info) && strstr(info.dli_fname, "libggml-cpu");
	}
	return known[place].is_operation;
}

static const char *name_of(const void *tensor)
{
	static const char *(*real)(const void *tensor);

	if (!real)
		real = OF_BASE(const char *(*)(const void *), "ggml_get_name");
	return real(tensor);
}

// A tensor's name ends in its layer: "ffn_gate-3".
static int layer_of(const char *name)
{
	const char *dash = strrchr(name, '-');

	return dash ? atoi(dash + 1) : -1;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

// A norm asks whether its operand is like its result, and an addition whether its second is like
// its sum; whoever looks for operations to fuse asks about a norm's weights.
PUBLIC bool ggml_are_same_shape(const void *a, const void *b);
bool ggml_are_same_shape(const void *a, const void *b)
{
	static bool (*real)(const void *a, const void *b);

	if (!real)
		real = OF_BASE(bool (*)(const void *, const void *), "ggml_are_same_shape");
	if (fault_count && is_operation(__builtin_return_address(0))) {
		const char *from = name_of(a), *to = name_of(b);
		if (begins(from, "attn_out") || begins(from, "ffn_out"))
			reach(BRICK_RESIDUAL_ADD, layer_of(from));
		else if (!strstr(from, "norm") && strstr(to, "norm"))
			reach(BRICK_RMS_NORM, layer_of(to));
	}
	return real(a, b);
}

PUBLIC bool ggml_is_contiguous_1(const void *tensor);
bool ggml_is_contiguous_1(const void *tensor)
{
	static bool (*real)(const void *tensor);

	if (!real)
		real = OF_BASE(bool (*)(const void *), "ggml_is_contiguous_1");
	if (fault_count && is_operation(__builtin_return_address(0))) {
		const char *name = name_of(tensor);
		if (begins(name, "ffn_gate"))
			reach(BRICK_ACTIVATION, layer_of(name));
	}
	return real(tensor);
}

PUBLIC void ggml_rope_yarn_corr_dims(
	int dims, int context, float base_of, float fast, float slow, float out[2]);
void ggml_rope_yarn_corr_dims(
	int dims, int context, float base_of, float fast, float slow, float out[2])
{
	static void (*real)(int, int, float, float, float, float[2]);

	if (!real)
		real = OF_BASE(void (*)(int, int, float, float, float, float[2]),
			"ggml_rope_yarn_corr_dims");
	if (fault_count && is_operation(__builtin_return_address(0)))
		reach(BRICK_ROPE_EMBEDDING, -1);
	real(dims, context, base_of, fast, slow, out);
}

// Signals.

static uint64_t signal_ns;

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	burn(signal_ns);
	errno = saved;
}

static void start_signals(const struct fault *f)
{
	const struct timeval period = {.tv_usec = (suseconds_t)f->each};
	const struct itimerval often = {period, period};
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	signal_ns = f->amount * 1000;
	if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &often, NULL))
		die("no timer");
}

// What is asked for.

static int brick_of(const char *name)
{
	static const char *const names[] = {
#define BRICK_X(id, identifier, name, category, aliases) [id] = name,
		BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i] && !strcmp(names[i], name))
			return (int)i;
	if (strcmp(name, "step"))
		die("no such place");
	return STEP;
}

static void parse(struct fault *f, char *text)
{
	char *rest = NULL, *kind = strtok_r(text, ":", &rest), *place = strtok_r(NULL, ":", &rest);
	char *amount = strtok_r(NULL, ":", &rest), *each = strtok_r(NULL, ":", &rest);
	char *who = strtok_r(NULL, ":", &rest);

	if (!kind || !place || !amount)
		die("CAUSES_FAULTS: KIND:PLACE:AMOUNT[:EACH[:WHO]]");
	char *layer = strchr(place, '@');
	if (layer)
		*layer++ = 0;
	snprintf(f->kind, sizeof(f->kind), "%s", kind);
	f->layer = layer ? atoi(layer) : -1;
	f->brick = brick_of(place);
	f->amount = strtoull(amount, NULL, 10);
	f->each = each ? strtoull(each, NULL, 10) : 1;
	f->who = !who || !strcmp(who, "all") ? ALL : !strcmp(who, "main") ? MAIN : WORKERS;
	if (!f->each)
		die("EACH is 0");
}

// Only the program that is to be wrong, and not what starts or records it.
__attribute__((constructor)) static void start(void)
{
	const char *all = getenv("CAUSES_FAULTS"), *path = getenv("CAUSES_FILE");
	char *rest = NULL;

	if (!all || (strcmp(program_invocation_short_name, "causes-planted") &&
			    strcmp(program_invocation_short_name, "example-decoder")))
		return;
	char *text = strdup(all);
	for (char *one = strtok_r(text, ",", &rest); one && fault_count < FAULTS;
		one = strtok_r(NULL, ",", &rest))
		parse(&faults[fault_count++], one);
	free(text);
	if (path)
		file = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < fault_count; i++)
		if (!strcmp(faults[i].kind, "signal"))
			start_signals(&faults[i]);
}
