/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and sites of all processes become the run's own: equal ones are one. Each kind has an
 * index by hash beside its array.
 */
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "brick/registry.h"
#include "trace/build.h"

enum { LEAST_SLOTS = 64 };

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? fnv1a_add(hash, text, strlen(text) + 1) : hash;
}

/* Spreads a hash over all of its bits: slots are taken by its low ones. */
static uint32_t spread(uint64_t hash)
{
	return (uint32_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull >> 32);
}

static void index_put(struct build_index *index, uint32_t hash, uint32_t value)
{
	uint32_t at = hash;

	while (index->slots[at & (index->capacity - 1)])
		at++;
	index->slots[at & (index->capacity - 1)] = value + 1;
	index->count++;
}

/* Room for one more; rehash(b, i) is the hash of entry i. */
static int index_grow(struct build *b, struct build_index *index,
	uint32_t (*rehash)(const struct build *, uint32_t))
{
	if (index->count * 2 < index->capacity)
		return 1;
	struct build_index grown = {NULL, index->capacity ? index->capacity * 2 : LEAST_SLOTS, 0};
	grown.slots = calloc(grown.capacity, sizeof *grown.slots);
	if (!grown.slots)
		return build_no_memory(b), 0;
	for (uint32_t i = 0; i < index->count; i++)
		index_put(&grown, rehash(b, i), i);
	free(index->slots);
	*index = grown;
	return 1;
}

/* How many of a name's bytes are kept. */
static size_t cut(const char *name, size_t bytes)
{
	return strnlen(name, bytes < BUILD_MAX_TEXT ? bytes : BUILD_MAX_TEXT);
}

static uint32_t hash_name(const char *name, size_t bytes)
{
	return spread(fnv1a(name, bytes));
}

static uint32_t rehash_category(const struct build *b, uint32_t i)
{
	return hash_name(b->run->categories[i].name, strlen(b->run->categories[i].name));
}

static uint32_t rehash_brick(const struct build *b, uint32_t i)
{
	return hash_name(b->run->bricks[i].name, strlen(b->run->bricks[i].name));
}

static int same(const char *name, const char *text, size_t bytes)
{
	return !strncmp(name, text, bytes) && !name[bytes];
}

uint32_t build_category(struct build *b, const char *name, size_t bytes)
{
	struct run *run = b->run;

	bytes = cut(name, bytes);
	uint32_t hash = hash_name(name, bytes);
	for (uint32_t at = hash; b->category_index.capacity; at++) {
		uint32_t i = b->category_index.slots[at & (b->category_index.capacity - 1)];
		if (!i)
			break;
		if (same(run->categories[i - 1].name, name, bytes))
			return i - 1;
	}
	if (run->category_count >= BUILD_MAX_NAMES ||
		!index_grow(b, &b->category_index, rehash_category) ||
		!build_grow(b, &run->categories, &b->capacity.categories, run->category_count,
			sizeof *run->categories))
		return RUN_NONE;
	char *copy = build_text(b, name, bytes);
	if (!copy)
		return RUN_NONE;
	run->categories[run->category_count].name = copy;
	index_put(&b->category_index, hash, (uint32_t)run->category_count);
	return (uint32_t)run->category_count++;
}

static int32_t well_known(const char *name)
{
	static const char *const names[] = {
#define BRICK_X(id, identifier, name, category, aliases) [id] = name,
		BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name))
			return (int32_t)i;
	return -1;
}

uint32_t build_brick(struct build *b, const char *name, size_t bytes)
{
	struct run *run = b->run;

	bytes = cut(name, bytes);
	uint32_t hash = hash_name(name, bytes);
	for (uint32_t at = hash; b->brick_index.capacity; at++) {
		uint32_t i = b->brick_index.slots[at & (b->brick_index.capacity - 1)];
		if (!i)
			break;
		if (same(run->bricks[i - 1].name, name, bytes))
			return i - 1;
	}
	if (run->brick_count >= BUILD_MAX_NAMES || !index_grow(b, &b->brick_index, rehash_brick) ||
		!build_grow(b, &run->bricks, &b->capacity.bricks, run->brick_count,
			sizeof *run->bricks) ||
		!build_grow(b, &b->plain_sites, &b->capacity.plain_sites, run->brick_count,
			sizeof *b->plain_sites))
		return RUN_NONE;
	char *copy = build_text(b, name, bytes);
	if (!copy)
		return RUN_NONE;
	uint32_t brick = (uint32_t)run->brick_count++;
	run->bricks[brick] = (struct run_brick){copy, RUN_NONE, well_known(copy)};
	b->plain_sites[brick] = RUN_NONE;
	if (run->bricks[brick].well_known == BRICK_BARRIER_WAIT)
		b->wait_brick = brick;
	index_put(&b->brick_index, hash, brick);
	return brick;
}

static uint32_t hash_site(const struct run_site *site)
{
	const uint64_t numbers[] = {site->brick, (uint64_t)(int64_t)site->layer, site->flags,
		site->elements, site->bytes, site->flops, site->output_tokens};
	uint64_t hash = FNV1A_BASIS;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = (hash ^ numbers[i] ^ numbers[i] >> 31) * 0x9e3779b97f4a7c15ull;
	return spread(hash_text(hash_text(hash, site->operation), site->label));
}

static uint32_t rehash_site(const struct build *b, uint32_t i)
{
	return hash_site(&b->run->sites[i]);
}

static int same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

static int same_site(const struct run_site *a, const struct run_site *b)
{
	return a->brick == b->brick && a->layer == b->layer && a->flags == b->flags &&
	       a->elements == b->elements && a->bytes == b->bytes && a->flops == b->flops &&
	       a->output_tokens == b->output_tokens && same_text(a->operation, b->operation) &&
	       same_text(a->label, b->label);
}

static char *copy_text(struct build *b, const char *text, int *failed)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy) {
		build_no_memory(b);
		*failed = 1;
	}
	return copy;
}

uint32_t build_site(struct build *b, const struct run_site *site)
{
	struct run *run = b->run;
	uint32_t hash = hash_site(site);
	int failed = 0;

	for (uint32_t at = hash; b->site_index.capacity; at++) {
		uint32_t i = b->site_index.slots[at & (b->site_index.capacity - 1)];
		if (!i)
			break;
		if (same_site(&run->sites[i - 1], site))
			return i - 1;
	}
	if (run->site_count >= RUN_NONE / 2 || !index_grow(b, &b->site_index, rehash_site) ||
		!build_grow(
			b, &run->sites, &b->capacity.sites, run->site_count, sizeof *run->sites))
		return RUN_NONE;
	struct run_site *new = &run->sites[run->site_count];
	*new = *site;
	new->operation = copy_text(b, site->operation, &failed);
	new->label = copy_text(b, site->label, &failed);
	if (failed) {
		free(new->operation);
		free(new->label);
		return RUN_NONE;
	}
	index_put(&b->site_index, hash, (uint32_t)run->site_count);
	return (uint32_t)run->site_count++;
}

static uint32_t hash_kernel(const struct run_kernel *k)
{
	const uint64_t numbers[] = {k->kind, k->grid[0], k->grid[1], k->grid[2], k->block[0],
		k->block[1], k->block[2], k->registers, k->shared_bytes, k->code};
	uint64_t hash = FNV1A_BASIS;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = (hash ^ numbers[i] ^ numbers[i] >> 31) * 0x9e3779b97f4a7c15ull;
	return spread(hash_text(hash_text(hash, k->name), k->backend));
}

static uint32_t rehash_kernel(const struct build *b, uint32_t i)
{
	return hash_kernel(&b->run->kernels[i]);
}

static int same_kernel(const struct run_kernel *a, const struct run_kernel *b)
{
	return a->kind == b->kind && !memcmp(a->grid, b->grid, sizeof a->grid) &&
	       !memcmp(a->block, b->block, sizeof a->block) && a->registers == b->registers &&
	       a->shared_bytes == b->shared_bytes && a->code == b->code &&
	       same_text(a->name, b->name) && same_text(a->backend, b->backend);
}

uint32_t build_kernel(struct build *b, const struct run_kernel *kernel)
{
	struct run *run = b->run;
	uint32_t hash = hash_kernel(kernel);
	int failed = 0;

	for (uint32_t at = hash; b->kernel_index.capacity; at++) {
		uint32_t i = b->kernel_index.slots[at & (b->kernel_index.capacity - 1)];
		if (!i)
			break;
		if (same_kernel(&run->kernels[i - 1], kernel))
			return i - 1;
	}
	if (run->kernel_count >= RUN_NONE / 2 || !index_grow(b, &b->kernel_index, rehash_kernel) ||
		!build_grow(b, &run->kernels, &b->capacity.kernels, run->kernel_count,
			sizeof *run->kernels))
		return RUN_NONE;
	struct run_kernel *new = &run->kernels[run->kernel_count];
	*new = *kernel;
	new->name = copy_text(b, kernel->name, &failed);
	new->backend = copy_text(b, kernel->backend, &failed);
	if (failed) {
		free(new->name);
		free(new->backend);
		return RUN_NONE;
	}
	index_put(&b->kernel_index, hash, (uint32_t)run->kernel_count);
	return (uint32_t)run->kernel_count++;
}

static uint32_t rehash_code(const struct build *b, uint32_t i)
{
	return spread(b->run->codes[i].hash);
}

static int knows_code(const struct build *b, uint64_t hash)
{
	for (uint32_t at = spread(hash); b->code_index.capacity; at++) {
		uint32_t i = b->code_index.slots[at & (b->code_index.capacity - 1)];
		if (!i)
			break;
		if (b->run->codes[i - 1].hash == hash)
			return 1;
	}
	return 0;
}

int build_code(struct build *b, struct run_code *code)
{
	struct run *run = b->run;
	int known = knows_code(b, code->hash);

	if (known || run->code_count >= RUN_NONE / 2 ||
		!index_grow(b, &b->code_index, rehash_code) ||
		!build_grow(
			b, &run->codes, &b->capacity.codes, run->code_count, sizeof *run->codes)) {
		free(code->name);
		free(code->path);
		free(code->source);
		return known;
	}
	index_put(&b->code_index, spread(code->hash), (uint32_t)run->code_count);
	run->codes[run->code_count++] = *code;
	return 1;
}

static int same_counts(const struct run_site *a, const struct run_site *b)
{
	return a->layer == b->layer && a->flags == b->flags && a->elements == b->elements &&
	       a->bytes == b->bytes && a->flops == b->flops &&
	       a->output_tokens == b->output_tokens && !a->operation && !a->label;
}

uint32_t build_plain_site(struct build *b, const struct run_site *site)
{
	uint32_t *last = &b->plain_sites[site->brick];

	if (*last == RUN_NONE || !same_counts(&b->run->sites[*last], site))
		*last = build_site(b, site);
	return *last;
}

void build_names_fini(struct build *b)
{
	free(b->kernel_index.slots);
	free(b->code_index.slots);
	free(b->category_index.slots);
	free(b->brick_index.slots);
	free(b->site_index.slots);
	free(b->plain_sites);
}
