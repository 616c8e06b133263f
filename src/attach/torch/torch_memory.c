/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger of blocks (torch_memory.h). libtorch asks c10's allocator by name, so its calls pass
 * by us; allocators of GPUs report their blocks. A block's address is a key in a table of buckets,
 * one cache line each. A thread puts an address in by one exchange, and the thread that frees the
 * block takes it out; a search looks at all places where it may be, so places are used again. Rows
 * hold the sums: first the process's, then one for each operator of a module with each kind.
 */
#include "attach/torch/torch_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "attach/common/system_memory.h"
#include "attach/torch/torch_library.h"
#include "base/hash.h"
#include "brick/abi/lane.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum {
	BUCKET = 8,	   /* addresses in a cache line */
	BUCKETS = 1 << 13, /* a power of two */
	TRIED = 4,	   /* neighbouring buckets that an address may be in */
	PLACES = 9,	   /* the host, and GPUs; further GPUs count as the last one */
	TOTALS = PLACES * BRICK_MEMORY_KINDS,
	ROWS = 4096,	 /* of sites */
	INDEX = 1 << 13, /* a power of two above ROWS */
	MADE = 4096,	 /* blocks of a forward pass that may be a cache */
	BATCH = 32,
	RARELY = 64, /* steps */
	PATH_BYTES = 256,
};

struct memory_row {
	const struct named_site *site; /* NULL: a total */
	uint8_t kind, place;
	uint64_t live, peak;	       /* peak: since it was recorded */
	uint64_t told_live, told_peak; /* as recorded last in the session; the owner of a step's
					  end */
};

struct memory_block {
	uint64_t bytes;
	uint32_t row; /* 0: it is being freed */
	uint32_t thread, serial;
};

/* One mapping: a page that nobody uses takes no memory. */
static struct memory_ledger {
	_Alignas(64) uintptr_t keys[BUCKETS][BUCKET];
	struct memory_block blocks[BUCKETS][BUCKET];
	struct memory_row rows[TOTALS + ROWS]; /* totals by place and kind */
	uint32_t index[INDEX];		       /* row of a site and kind; 0: free */
	uint32_t row_count;		       /* of sites; at most ROWS */
	uint32_t session;		       /* that peaks and told_* are of; 0: none yet */
	uint32_t steps;
	uint64_t system_seen; /* the allocator's peak when the system was asked last */
} * memory_ledger;

/* A peak is no older than the session. */
static void memory_session_begins(struct memory_ledger *l, uint32_t session)
{
	if (__atomic_exchange_n(&l->session, session, __ATOMIC_ACQ_REL) == session)
		return;
	uint32_t rows = __atomic_load_n(&l->row_count, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < TOTALS + (rows < ROWS ? rows : ROWS); i++) {
		struct memory_row *row = &l->rows[i];
		row->told_live = row->told_peak = 0;
		__atomic_store_n(&row->peak, __atomic_load_n(&row->live, __ATOMIC_RELAXED),
			__ATOMIC_RELAXED);
	}
	l->steps = 0;
	l->system_seen = 0;
}

static struct memory_ledger *torch_memory_ledger(void)
{
	struct memory_ledger *have = __atomic_load_n(&memory_ledger, __ATOMIC_ACQUIRE),
			     *none = NULL;
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (__builtin_expect(have && on && have->session != on, 0))
		memory_session_begins(have, on);
	if (__builtin_expect(have != NULL, 1) || !torch_observed())
		return have;
	int saved = errno;
	have = mmap(NULL, sizeof(*have), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	if (have == MAP_FAILED)
		return NULL;
	have->session = on;
	for (uint32_t i = 0; i < TOTALS; i++) {
		have->rows[i].kind = (uint8_t)(i % BRICK_MEMORY_KINDS);
		have->rows[i].place = (uint8_t)(i / BRICK_MEMORY_KINDS);
	}
	if (__atomic_compare_exchange_n(
		    &memory_ledger, &none, have, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return have;
	munmap(have, sizeof(*have));
	return none;
}

/*
 * ---- rows ----
 */

/* The row of a site and kind; the kind's total without a site, or without room. */
static uint32_t memory_row_of(
	struct memory_ledger *l, const struct named_site *site, uint8_t place, uint8_t kind)
{
	uint32_t total = (uint32_t)place * BRICK_MEMORY_KINDS + kind;
	uint64_t hash = ((uintptr_t)site / 16 * PLACES + total) * HASH_GOLDEN;

	for (uint32_t i = 0; site && site->site && i < INDEX; i++) {
		uint32_t *slot = &l->index[((hash >> 40) + i) & (INDEX - 1)], taken = 0;
		uint32_t at = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (at) {
			const struct memory_row *row = &l->rows[at];
			if (row->site == site && row->kind == kind && row->place == place)
				return at;
			continue;
		}
		if (__atomic_load_n(&l->row_count, __ATOMIC_RELAXED) >= ROWS)
			break;
		uint32_t number = __atomic_fetch_add(&l->row_count, 1, __ATOMIC_RELAXED);
		if (number >= ROWS)
			break;
		at = TOTALS + number;
		l->rows[at].site = site;
		l->rows[at].kind = kind;
		l->rows[at].place = place;
		if (__atomic_compare_exchange_n(
			    slot, &taken, at, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
			return at;
		i--; /* another thread was first, perhaps with the same; ours stays empty */
	}
	return total;
}

static void memory_row_peak(struct memory_row *row, uint64_t live)
{
	uint64_t peak = __atomic_load_n(&row->peak, __ATOMIC_RELAXED);

	while (live > peak && !__atomic_compare_exchange_n(&row->peak, &peak, live, true,
				      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void memory_row_add(struct memory_row *row, uint64_t bytes)
{
	memory_row_peak(row, __atomic_add_fetch(&row->live, bytes, __ATOMIC_RELAXED));
}

/* Add to a row and to its kind's total. */
static void memory_add(struct memory_ledger *l, uint32_t at, uint64_t bytes)
{
	const struct memory_row *row = &l->rows[at];
	uint32_t total = (uint32_t)row->place * BRICK_MEMORY_KINDS + row->kind;

	memory_row_add(&l->rows[at], bytes);
	if (at != total)
		memory_row_add(&l->rows[total], bytes);
}

static void memory_subtract(struct memory_ledger *l, uint32_t at, uint64_t bytes)
{
	const struct memory_row *row = &l->rows[at];
	uint32_t total = (uint32_t)row->place * BRICK_MEMORY_KINDS + row->kind;

	__atomic_fetch_sub(&l->rows[at].live, bytes, __ATOMIC_RELAXED);
	if (at != total)
		__atomic_fetch_sub(&l->rows[total].live, bytes, __ATOMIC_RELAXED);
}

/*
 * ---- blocks ----
 */

static uint32_t memory_bucket(const void *address, uint32_t tried)
{
	uint64_t hash = (uintptr_t)address / 64 * HASH_GOLDEN;

	return (uint32_t)((hash >> 40) + tried) & (BUCKETS - 1);
}

/* NULL: it is not in the table. */
static struct memory_block *memory_find(
	struct memory_ledger *l, const void *address, uintptr_t **key)
{
	for (uint32_t tried = 0; tried < TRIED; tried++) {
		uint32_t bucket = memory_bucket(address, tried);
		for (uint32_t i = 0; i < BUCKET; i++) {
			*key = &l->keys[bucket][i];
			if (__atomic_load_n(*key, __ATOMIC_ACQUIRE) == (uintptr_t)address)
				return &l->blocks[bucket][i];
		}
	}
	return NULL;
}

/* NULL: there is no room. */
static struct memory_block *memory_place(struct memory_ledger *l, const void *address)
{
	for (uint32_t tried = 0; tried < TRIED; tried++) {
		uint32_t bucket = memory_bucket(address, tried);
		for (uint32_t i = 0; i < BUCKET; i++) {
			uintptr_t *key = &l->keys[bucket][i], none = 0;
			if (!__atomic_load_n(key, __ATOMIC_RELAXED) &&
				__atomic_compare_exchange_n(key, &none, (uintptr_t)address, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return &l->blocks[bucket][i];
		}
	}
	return NULL;
}

/* The calling thread's state, if it has one for this session: an allocation makes none. */
static struct torch_thread *torch_memory_thread(void)
{
	uint32_t on = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	return on && torch_thread.session == on ? &torch_thread : NULL;
}

static uint8_t memory_kind_here(const struct torch_thread *t)
{
	if (t->node)
		return BRICK_MEMORY_GRADIENTS;
	for (uint32_t i = t->scope_count; i-- > 0;)
		if (t->scopes[i].ends_step)
			return BRICK_MEMORY_OPTIMIZER;
	return t->module_depth || t->step ? BRICK_MEMORY_ACTIVATIONS : BRICK_MEMORY_OTHER;
}

static uint32_t memory_thread_number(const struct torch_thread *t)
{
	return (uint32_t)((uintptr_t)t >> 4);
}

/* The block, if it is alive, that the thread has asked for; NULL: it was freed. */
static struct memory_block *memory_find_made(
	struct memory_ledger *l, const struct torch_thread *t, const struct torch_made *made)
{
	uintptr_t *key;
	struct memory_block *block = memory_find(l, made->address, &key);

	return block && block->thread == memory_thread_number(t) && block->serial == made->serial
		       ? block
		       : NULL;
}

static void memory_forget_freed(struct memory_ledger *l, struct torch_thread *t)
{
	struct torch_memory *m = &t->more->memory;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < m->made_count; i++)
		if (memory_find_made(l, t, &m->made[i]))
			m->made[kept++] = m->made[i];
	m->made_count = kept;
}

/* The operator's layer may keep it for later tokens. */
static void memory_remember(
	struct memory_ledger *l, struct torch_thread *t, void *address, uint8_t kind)
{
	struct torch_memory *m = &t->more->memory;

	if (!m->is_gathering || kind != BRICK_MEMORY_ACTIVATIONS || !t->leaf ||
		t->leaf_site->layer < 0)
		return;
	if (m->made_count == MADE && !m->is_full) {
		memory_forget_freed(l, t);
		m->is_full = m->made_count > MADE / 8 * 7;
	}
	if (m->made_count < MADE)
		m->made[m->made_count++] = (struct torch_made){address, m->serial};
}

static void torch_memory_took(void *address, uint64_t bytes, uint8_t place)
{
	struct memory_ledger *l = torch_memory_ledger();
	struct memory_block *block = l ? memory_place(l, address) : NULL;

	if (!block)
		return;
	struct torch_thread *t = torch_memory_thread();
	const struct named_site *site = t && t->leaf ? t->leaf_site : NULL;
	uint8_t kind = t ? memory_kind_here(t) : BRICK_MEMORY_OTHER;
	uint32_t row = memory_row_of(l, site, place, kind);
	block->bytes = bytes;
	if (t) {
		struct torch_memory *m = &t->more->memory;
		block->thread = memory_thread_number(t);
		block->serial = ++m->serial;
		if (t->leaf) {
			m->operator_live += bytes;
			if (m->operator_live > m->operator_peak) {
				m->operator_peak = m->operator_live;
				m->operator_place = place;
			}
		}
		memory_remember(l, t, address, kind);
	} else {
		block->thread = 0;
	}
	__atomic_store_n(&block->row, row, __ATOMIC_RELEASE);
	memory_add(l, row, bytes);
	memory_row_add(&l->rows[place * BRICK_MEMORY_KINDS], bytes);
}

static void torch_memory_gave(void *address)
{
	struct memory_ledger *l = __atomic_load_n(&memory_ledger, __ATOMIC_ACQUIRE);
	uintptr_t *key;
	struct memory_block *block = l ? memory_find(l, address, &key) : NULL;

	if (!block)
		return;
	struct torch_thread *t = torch_memory_thread();
	uint64_t bytes = block->bytes;
	if (t && t->leaf && block->thread == memory_thread_number(t) &&
		(int32_t)(block->serial - t->more->memory.operator_first) > 0)
		t->more->memory.operator_live -= bytes;
	uint32_t row = __atomic_exchange_n(&block->row, 0, __ATOMIC_ACQ_REL);
	__atomic_store_n(key, 0, __ATOMIC_RELEASE);
	memory_subtract(l, row, bytes);
	__atomic_fetch_sub(
		&l->rows[l->rows[row].place * BRICK_MEMORY_KINDS].live, bytes, __ATOMIC_RELAXED);
}

/* It is of another kind, as its life has shown. site: NULL: of the operator that asked for it. */
static void memory_is(struct memory_ledger *l, struct memory_block *block, uint8_t kind,
	const struct named_site *site)
{
	uint32_t row = __atomic_load_n(&block->row, __ATOMIC_ACQUIRE);

	if (!row || l->rows[row].kind == kind)
		return;
	uint32_t other =
		memory_row_of(l, site ? site : l->rows[row].site, l->rows[row].place, kind);
	uint64_t bytes = block->bytes;
	if (__atomic_compare_exchange_n(
		    &block->row, &row, other, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		memory_subtract(l, row, bytes);
		memory_add(l, other, bytes);
	}
}

/*
 * ---- what operators, forward passes and steps have ----
 */

void torch_memory_workspace(struct torch_thread *t)
{
	struct memory_ledger *l = torch_memory_ledger();
	const struct torch_memory *m = &t->more->memory;

	if (!l)
		return;
	uint32_t row = memory_row_of(l, t->leaf_site, m->operator_place, BRICK_MEMORY_WORKSPACE);
	uint64_t bytes = m->operator_peak - m->operator_live;
	memory_row_peak(&l->rows[row], bytes);
	memory_row_peak(
		&l->rows[m->operator_place * BRICK_MEMORY_KINDS + BRICK_MEMORY_WORKSPACE], bytes);
}

void torch_memory_forward_begin(struct torch_thread *t, bool has_gradients)
{
	struct torch_memory *m = &t->more->memory;

	if (!has_gradients && !m->made)
		m->made = malloc(MADE * sizeof(*m->made));
	m->is_gathering = !has_gradients && m->made;
	m->made_count = 0;
	m->is_full = false;
}

void torch_memory_forward_end(struct torch_thread *t)
{
	struct torch_memory *m = &t->more->memory;
	struct memory_ledger *l = torch_memory_ledger();

	for (uint32_t i = 0; m->is_gathering && l && i < m->made_count; i++) {
		struct memory_block *block = memory_find_made(l, t, &m->made[i]);
		if (block)
			memory_is(l, block, BRICK_MEMORY_CACHE, NULL);
	}
	m->is_gathering = false;
}

/* Where a tensor's bytes are; -1: on a device whose memory is not known. */
static int memory_place_of(python_object *tensor)
{
	python_object *device = python_attribute(tensor, "device");
	python_object *type = device ? python_attribute(device, "type") : NULL;
	python_object *index = device ? python_attribute(device, "index") : NULL;
	const char *name = type ? py.Unicode_AsUTF8(type) : NULL;
	long long number = python_number(index);
	int place = !name				      ? -1
		    : !strcmp(name, "cpu")		      ? 0
		    : strcmp(name, "cuda") != 0 || number < 0 ? -1
		    : number + 1 < PLACES		      ? (int)number + 1
							      : PLACES - 1;

	py.Err_Clear();
	python_drop(index);
	python_drop(type);
	python_drop(device);
	return place;
}

/* Weights that the program had before it was recorded, or has mapped from a file. */
static void memory_add_weight(struct memory_ledger *l, const void *address, int place,
	long long bytes, const struct named_site *site)
{
	struct memory_block *block =
		address && place >= 0 && bytes > 0 ? memory_place(l, address) : NULL;

	if (!block)
		return;
	uint32_t row = memory_row_of(l, site, (uint8_t)place, BRICK_MEMORY_WEIGHTS);
	block->bytes = (uint64_t)bytes;
	block->thread = 0;
	__atomic_store_n(&block->row, row, __ATOMIC_RELEASE);
	memory_add(l, row, block->bytes);
	memory_row_add(&l->rows[place * BRICK_MEMORY_KINDS], block->bytes);
}

/* A parameter or buffer: its name ends in its own, behind the module's path. */
static void memory_see_weight(struct memory_ledger *l, const char *name, python_object *tensor)
{
	python_object *storage = python_ask(tensor, "untyped_storage");
	python_object *number = python_ask(storage ? storage : tensor, "data_ptr");
	const char *dot = strrchr(name, '.');
	char path[PATH_BYTES];
	uintptr_t *key;
	const void *address = number ? py.Long_AsVoidPtr(number) : NULL;
	struct memory_block *block = address ? memory_find(l, address, &key) : NULL;

	py.Err_Clear();
	snprintf(path, sizeof(path), "%.*s", dot ? (int)(dot - name) : 0, name);
	const struct named_site *site = named_site_find("weights", path, "");
	if (block) {
		memory_is(l, block, BRICK_MEMORY_WEIGHTS, site);
	} else if (storage) {
		python_object *bytes = python_ask(storage, "nbytes");
		memory_add_weight(l, address, memory_place_of(tensor), python_number(bytes), site);
		python_drop(bytes);
	}
	python_drop(number);
	python_drop(storage);
}

/* With the GIL. */
static python_object *memory_modules_seen[64];

void torch_memory_forget(void)
{
	struct memory_ledger *l = __atomic_exchange_n(&memory_ledger, NULL, __ATOMIC_ACQ_REL);

	memset(memory_modules_seen, 0, sizeof(memory_modules_seen));
	if (l)
		munmap(l, sizeof(*l));
}

void torch_memory_see_weights(python_object *module)
{
	static const char *const lists[] = {"named_parameters", "named_buffers"};
	static uint32_t calls; /* with the GIL */
	struct memory_ledger *l = torch_memory_ledger();
	python_object **at = &memory_modules_seen[(uintptr_t)module / 16 * HASH_GOLDEN >> 58];

	/* an address may be a later module's */
	calls++;
	bool is_rare = !(calls & (calls - 1));
	if (!l || (*at == module && !is_rare))
		return;
	*at = module;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		/* a program's own may give a list */
		python_object *list = python_ask(module, lists[i]);
		python_object *walk = list ? py.Object_GetIter(list) : NULL;
		python_object *pair;
		while (walk && (pair = py.Iter_Next(walk))) {
			bool is_pair = py.Object_Size(pair) == 2;
			python_object *text = is_pair ? py.Tuple_GetItem(pair, 0) : NULL;
			const char *name = text ? py.Unicode_AsUTF8(text) : NULL;
			if (name)
				memory_see_weight(l, name, py.Tuple_GetItem(pair, 1));
			py.Err_Clear();
			python_drop(pair);
		}
		py.Err_Clear();
		python_drop(walk);
		python_drop(list);
	}
}

struct memory_batch {
	struct brick_memory_record records[BATCH];
	struct memory_row *rows[BATCH];
	uint32_t count;
};

/* What the ring has no room for is told at the next step's end. */
static void memory_batch_send(struct memory_batch *batch)
{
	bool is_recorded = batch->count && brick_record_memory(batch->records, batch->count);

	for (uint32_t i = 0; is_recorded && i < batch->count; i++) {
		struct memory_row *row = batch->rows[i];
		uint64_t peak = batch->records[i].peak_bytes;
		row->told_live = batch->records[i].live_bytes;
		row->told_peak = peak;
		__atomic_compare_exchange_n(&row->peak, &peak, row->told_live, false,
			__ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	batch->count = 0;
}

/* A site's peak that grew a little, as of attention, can wait until it is due. */
static void memory_tell(struct memory_batch *batch, struct memory_row *row, bool is_due)
{
	uint64_t live = __atomic_load_n(&row->live, __ATOMIC_RELAXED);
	uint64_t peak = __atomic_load_n(&row->peak, __ATOMIC_RELAXED);
	uint64_t known = row->told_peak + (row->site && !is_due ? row->told_peak / 8 : 0);

	if (live == row->told_live && peak <= known && !(is_due && (live || peak)))
		return;
	batch->rows[batch->count] = row;
	batch->records[batch->count++] = (struct brick_memory_record){
		.live_bytes = live,
		.memory = row->kind,
		.gpu = row->place,
		.site = row->site ? row->site->site : 0,
		.peak_bytes = peak > live ? peak : live,
	};
	if (batch->count == BATCH)
		memory_batch_send(batch);
}

/* Each row is due once in RARELY steps, even unchanged: a part of a recording may begin anywhere.
 */
void torch_memory_step_end(struct torch_thread *t)
{
	static uint32_t telling;
	struct memory_ledger *l = torch_memory_ledger();
	struct memory_batch batch = {.count = 0};

	/* threads that end steps at the same time have one ledger */
	if (!l || l->session != t->session || __atomic_exchange_n(&telling, 1, __ATOMIC_ACQUIRE))
		return;
	uint32_t rows = __atomic_load_n(&l->row_count, __ATOMIC_RELAXED);
	struct memory_row *system = &l->rows[BRICK_MEMORY_SYSTEM];
	uint64_t seen = l->rows[0].peak;
	if (!(l->steps % RARELY) || seen > l->system_seen + l->system_seen / 64) {
		system->live = system->peak = system_memory_now().peak_bytes;
		l->system_seen = seen;
	}
	for (uint32_t i = 0; i < TOTALS + (rows < ROWS ? rows : ROWS); i++)
		memory_tell(&batch, &l->rows[i], !((l->steps + i) % RARELY));
	memory_batch_send(&batch);
	l->steps++;
	__atomic_store_n(&telling, 0, __ATOMIC_RELEASE);
}

/*
 * ---- the allocators ----
 */

#define ALLOCATE _ZN3c109alloc_cpuEm
#define FREE _ZN3c108free_cpuEPv
#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

/* c10::Device: its kind (0 a CPU, 1 CUDA) below, its number above. */
BRICK_API void *ALLOCATE(size_t bytes);
BRICK_API void FREE(void *address);
BRICK_API void REPORT(
	void *address, int64_t bytes, size_t allocated, size_t reserved, uint16_t device);

static void *memory_next(void **next, const char *name, const void *ours)
{
	void *found = __atomic_load_n(next, __ATOMIC_RELAXED);

	if (__builtin_expect(!found, 0)) {
		torch_library_next(name, ours, &found);
		__atomic_store_n(next, found, __ATOMIC_RELAXED);
	}
	return found;
}

BRICK_API void *ALLOCATE(size_t bytes)
{
	static void *next;
	void *(*allocate)(size_t) =
		(void *(*)(size_t))memory_next(&next, NAME_OF(ALLOCATE), (const void *)ALLOCATE);
	void *address = allocate(bytes);

	if (address)
		torch_memory_took(address, bytes, 0);
	return address;
}

BRICK_API void FREE(void *address)
{
	static void *next;
	void (*release)(void *) =
		(void (*)(void *))memory_next(&next, NAME_OF(FREE), (const void *)FREE);

	if (address)
		torch_memory_gave(address);
	release(address);
}

BRICK_API void REPORT(
	void *address, int64_t bytes, size_t allocated, size_t reserved, uint16_t device)
{
	enum { CUDA = 1 };
	static void *next;
	void (*report)(void *, int64_t, size_t, size_t, uint16_t) = (void (*)(void *, int64_t,
		size_t, size_t, uint16_t))memory_next(&next, NAME_OF(REPORT), (const void *)REPORT);
	uint32_t number = (device >> 8) + 1u;

	if ((device & 0xff) == CUDA && address && bytes > 0)
		torch_memory_took(
			address, (uint64_t)bytes, (uint8_t)(number < PLACES ? number : PLACES - 1));
	else if ((device & 0xff) == CUDA && address)
		torch_memory_gave(address);
	report(address, bytes, allocated, reserved, device);
}
