/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives a profiler as NCCL does, without NCCL and without a GPU: communicators, collectives and
 * messages that are handed over by threads of the program, and their channels, of which a thread of
 * each communicator tells later. The tables are declared here anew, by the facts of NCCL's headers.
 *
 *   program-nccl_work VERSION OPERATIONS    the truth goes to standard output, a line for each
 * kind: NAME COUNT NS ELEMENTS BYTES
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct coll {
	uint64_t seqNumber;
	const char *func;
	void const *sendBuff;
	void *recvBuff;
	size_t count;
	int root;
	const char *datatype;
	uint8_t nChannels;
	uint8_t nWarps;
	const char *algo;
	const char *proto;
	void *parentGroup; /* from version 5 on */
};
struct p2p {
	const char *func;
	void *buff;
	const char *datatype;
	size_t count;
	int peer;
	uint8_t nChannels;
	void *parentGroup;
};
struct kernel_channel {
	uint8_t channelId;
	uint64_t pTimer;
};
struct description_4 {
	uint8_t type;
	void *parentObj;
	int rank;
	union {
		struct coll coll;
		struct p2p p2p;
		struct kernel_channel kernelCh;
	};
};
struct description_5 {
	uint64_t type;
	void *parentObj;
	int rank;
	union {
		struct coll coll;
		struct p2p p2p;
		struct kernel_channel kernelCh;
	};
};
union state {
	struct {
		uint64_t pTimer;
	} kernelCh;
	void *other;
};
struct profiler {
	const char *name;
	void *init;
	int (*startEvent)(void *context, void **handle, void *description);
	int (*stopEvent)(void *handle);
	int (*recordEventState)(void *handle, int state, union state *args);
	int (*finalize)(void *context);
};
typedef int (*init_4)(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int (*init_5)(void **, uint64_t, int *, const char *, int, int, int, void *);

enum {
	COLL = 2,
	P2P = 4,
	KERNEL_CH = 64,
	CE_COLL = 4096,
	KERNEL_CH_STOP = 22,
	COMMUNICATORS = 2,
	KINDS = 4
};

static const struct {
	const char *func, *datatype, *algo, *proto;
	uint64_t bytes;
	uint8_t channels;
} kinds[KINDS] = {{"AllReduce", "ncclFloat16", "RING", "LL128", 2, 4},
	{"AllGather", "ncclFloat32", "NVLS", "SIMPLE", 4, 16},
	{"ReduceScatter", "ncclFloat64", "TREE", "LL", 8, 1},
	{"Send", "ncclBfloat16", NULL, NULL, 2, 2}};

static struct profiler *profiler;
static int version, operations;
static struct {
	uint64_t count, ns, elements, bytes;
} truth[KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct communicator {
	void *context;
	int rank, mask;
	void **handles; /* of the operations that were handed over */
	int ready;	/* how many */
};

/* As NCCL's own wrapper fills a description of version 4: what is behind the type is rubbish. */
static void *start(struct communicator *c, int type, void *parent, const struct coll *coll,
	const struct p2p *p2p, const struct kernel_channel *channel)
{
	struct description_4 old;
	struct description_5 now = {.type = (uint64_t)type, .parentObj = parent, .rank = c->rank};
	void *handle = NULL;

	memset(&old, 0xa5, sizeof(old));
	old.type = (uint8_t)type;
	old.parentObj = parent;
	old.rank = c->rank;
	if (coll)
		old.coll = now.coll = *coll;
	if (p2p)
		old.p2p = now.p2p = *p2p;
	if (channel)
		old.kernelCh = now.kernelCh = *channel;
	profiler->startEvent(c->context, &handle, version == 4 ? (void *)&old : (void *)&now);
	return handle;
}

static void *hand_over(struct communicator *c, int kind, uint64_t count)
{
	const struct coll coll = {.func = kinds[kind].func,
		.count = count,
		.datatype = kinds[kind].datatype,
		.nChannels = kinds[kind].channels,
		.nWarps = 16,
		.algo = kinds[kind].algo,
		.proto = kinds[kind].proto};
	const struct p2p p2p = {.func = kinds[kind].func,
		.datatype = kinds[kind].datatype,
		.count = count,
		.peer = 1,
		.nChannels = kinds[kind].channels};

	return kinds[kind].algo ? start(c, COLL, NULL, &coll, NULL, NULL)
				: start(c, P2P, NULL, NULL, &p2p, NULL);
}

static uint64_t begin_of(int operation, int channel)
{
	return 1700000000000000000ull + (uint64_t)operation * 100000 + (uint64_t)channel * 300;
}

static uint64_t length_of(int operation, int channel)
{
	return 20000 + (uint64_t)(operation * 37 + channel * 11) % 5000;
}

static void channel_stops(void *handle, uint64_t at)
{
	union state state = {.kernelCh = {.pTimer = at}};

	profiler->recordEventState(handle, KERNEL_CH_STOP, &state);
	profiler->stopEvent(handle);
}

/* All channels begin before the first ends; those of two operations lie between each other. */
static void tell(struct communicator *c, int operation, int kind, bool tells_times)
{
	int channels = kinds[kind].channels;
	void *handles[16];
	uint64_t end = 0;

	for (int i = 0; i < channels; i++) {
		const struct kernel_channel channel = {.channelId = (uint8_t)(2 * i),
			.pTimer = tells_times ? begin_of(operation, i) : 0};
		handles[i] = start(c, KERNEL_CH, c->handles[operation], NULL, NULL, &channel);
	}
	for (int i = channels; i-- > 0;) {
		uint64_t at = begin_of(operation, i) + length_of(operation, i);
		end = at > end ? at : end;
		channel_stops(handles[i], at);
	}
	if (!tells_times)
		return;
	pthread_mutex_lock(&lock);
	truth[kind].count++;
	truth[kind].ns += end - begin_of(operation, 0);
	truth[kind].elements += (uint64_t)operation + 1;
	truth[kind].bytes += ((uint64_t)operation + 1) * kinds[kind].bytes;
	pthread_mutex_unlock(&lock);
}

static void *progress(void *data)
{
	struct communicator *c = data;

	for (int i = 0; i < operations; i++) {
		while (__atomic_load_n(&c->ready, __ATOMIC_ACQUIRE) <= i)
			;
		tell(c, i, i % KINDS, true);
	}
	return NULL;
}

/* What a profiler has to bear: nothing of it may be counted. */
static void odd_ones(struct communicator *c)
{
	const struct kernel_channel channel = {.channelId = 0, .pTimer = 5};
	void *first = c->handles[0], *wrong[] = {NULL, first, (void *)(uintptr_t)0x700000003, c};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) /* the first is over by now */
		if (start(c, KERNEL_CH, wrong[i], NULL, NULL, &channel))
			printf("a channel of operation %zu that there is not\n", i);
	channel_stops(NULL, 7);
	channel_stops((void *)(uintptr_t)0x300000002, 7);
	c->handles[0] = hand_over(c, 0, 1);
	tell(c, 0, 0, false); /* the GPU said no time */
	hand_over(c, 1, 1);   /* never ends */
	profiler->stopEvent(first);
	start(c, 8, NULL, NULL, NULL, &channel); /* an event that was not asked for */
	/* by copy engines; the first fields are those of a collective */
	for (int i = 0; i < 3 && c->mask & CE_COLL; i++) {
		const struct coll coll = {.seqNumber = (uint64_t)i,
			.func = "AllGather",
			.count = 1000,
			.datatype = "ncclFloat32"};
		profiler->stopEvent(start(c, CE_COLL, NULL, &coll, NULL, NULL));
	}
}

static int run(struct communicator *c)
{
	pthread_t thread;

	c->handles = calloc((size_t)operations + 1, sizeof(*c->handles));
	if (!c->handles || pthread_create(&thread, NULL, progress, c))
		return 1;
	for (int i = 0; i < operations; i++) {
		c->handles[i] = hand_over(c, i % KINDS, (uint64_t)i + 1);
		__atomic_store_n(&c->ready, i + 1, __ATOMIC_RELEASE);
		profiler->stopEvent(c->handles[i]);
	}
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	struct communicator all[COMMUNICATORS] = {0};
	const char *path = getenv("NCCL_PROFILER_PLUGIN");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	char name[32];

	if (argc < 3)
		return 2;
	version = atoi(argv[1]);
	operations = atoi(argv[2]);
	snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
	profiler = library ? dlsym(library, name) : NULL;
	if (!profiler) {
		printf("no %s in %s\n", name, path ? path : "nothing");
		return 0;
	}
	for (int i = 0; i < COMMUNICATORS; i++) {
		struct communicator *c = &all[i];
		c->rank = i;
		if (version == 4)
			((init_4)profiler->init)(
				&c->context, &c->mask, "world", 7, 1, COMMUNICATORS, i, NULL);
		else
			((init_5)profiler->init)(
				&c->context, 7, &c->mask, "world", 1, COMMUNICATORS, i, NULL);
	}
	for (int i = 0; i < COMMUNICATORS && all[i].mask; i++)
		if (run(&all[i]))
			return 1;
	if (all[0].mask)
		odd_ones(&all[0]);
	for (int i = 0; i < COMMUNICATORS; i++)
		profiler->finalize(all[i].context);
	dlclose(library);
	printf("mask %d\n", all[0].mask);
	for (int i = 0; i < KINDS && all[0].mask; i++)
		printf("NCCL %s%s%s%s%s\t%llu\t%llu\t%llu\t%llu\n", kinds[i].func,
			kinds[i].algo ? " " : "", kinds[i].algo ? kinds[i].algo : "",
			kinds[i].proto ? " " : "", kinds[i].proto ? kinds[i].proto : "",
			(unsigned long long)truth[i].count, (unsigned long long)truth[i].ns,
			(unsigned long long)truth[i].elements, (unsigned long long)truth[i].bytes);
	return 0;
}
