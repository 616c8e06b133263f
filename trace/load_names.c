/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and sites of all processes become the run's own: equal ones are one. Each kind has an
 * index by hash beside its array.
 */
#include <stdlib.h>
#include <string.h>
#include "brick/registry.h"
#include "trace/load_state.h"

enum { LEAST_SLOTS = 64 };

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const unsigned char *s = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ s[i]) * 0x100000001b3ull;
	return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1) : hash;
}

/* Spreads a hash over all of its bits: slots are taken by its low ones. */
static uint32_t spread(uint64_t hash)
{
	return (uint32_t)((hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull >> 32);
}

static void index_put(struct load_index *index, uint32_t hash, uint32_t value)
{
	uint32_t at = hash;

	while (index->slots[at & (index->capacity - 1)])
		at++;
	index->slots[at & (index->capacity - 1)] = value + 1;
	index->count++;
}

/* Room for one more; rehash(l, i) is the hash of entry i. */
static int index_grow(
	struct load *l, struct load_index *index, uint32_t (*rehash)(const struct load *, uint32_t))
{
	if (index->count * 2 < index->capacity)
		return 1;
	struct load_index grown = {NULL, index->capacity ? index->capacity * 2 : LEAST_SLOTS, 0};
	grown.slots = calloc(grown.capacity, sizeof *grown.slots);
	if (!grown.slots)
		return load_no_memory(l), 0;
	for (uint32_t i = 0; i < index->count; i++)
		index_put(&grown, rehash(l, i), i);
	free(index->slots);
	*index = grown;
	return 1;
}

char *load_text(struct load *l, struct pb_reader text)
{
	size_t bytes = pb_size(text);
	char *copy = strndup((const char *)text.at, bytes < LOAD_MAX_TEXT ? bytes : LOAD_MAX_TEXT);

	if (!copy)
		load_no_memory(l);
	return copy;
}

/* A name's bytes as load_text() would keep them. */
static struct pb_reader cut(struct pb_reader text)
{
	size_t bytes = pb_size(text) < LOAD_MAX_TEXT ? pb_size(text) : LOAD_MAX_TEXT;

	return pb_reader(text.at, strnlen((const char *)text.at, bytes));
}

static uint32_t hash_name(const char *name, size_t bytes)
{
	return spread(hash_bytes(0xcbf29ce484222325ull, name, bytes));
}

static uint32_t rehash_category(const struct load *l, uint32_t i)
{
	return hash_name(l->run->categories[i].name, strlen(l->run->categories[i].name));
}

static uint32_t rehash_brick(const struct load *l, uint32_t i)
{
	return hash_name(l->run->bricks[i].name, strlen(l->run->bricks[i].name));
}

static int same(const char *name, struct pb_reader text)
{
	return !strncmp(name, (const char *)text.at, pb_size(text)) && !name[pb_size(text)];
}

uint32_t load_category(struct load *l, struct pb_reader name)
{
	struct run *run = l->run;

	name = cut(name);
	uint32_t hash = hash_name((const char *)name.at, pb_size(name));
	for (uint32_t at = hash; l->category_index.capacity; at++) {
		uint32_t i = l->category_index.slots[at & (l->category_index.capacity - 1)];
		if (!i)
			break;
		if (same(run->categories[i - 1].name, name))
			return i - 1;
	}
	if (run->category_count >= LOAD_MAX_NAMES ||
		!index_grow(l, &l->category_index, rehash_category) ||
		!load_grow(l, &run->categories, &l->room.categories, run->category_count,
			sizeof *run->categories))
		return RUN_NONE;
	char *copy = load_text(l, name);
	if (!copy)
		return RUN_NONE;
	run->categories[run->category_count].name = copy;
	index_put(&l->category_index, hash, (uint32_t)run->category_count);
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

uint32_t load_brick(struct load *l, struct pb_reader name)
{
	struct run *run = l->run;

	name = cut(name);
	uint32_t hash = hash_name((const char *)name.at, pb_size(name));
	for (uint32_t at = hash; l->brick_index.capacity; at++) {
		uint32_t i = l->brick_index.slots[at & (l->brick_index.capacity - 1)];
		if (!i)
			break;
		if (same(run->bricks[i - 1].name, name))
			return i - 1;
	}
	if (run->brick_count >= LOAD_MAX_NAMES || !index_grow(l, &l->brick_index, rehash_brick) ||
		!load_grow(
			l, &run->bricks, &l->room.bricks, run->brick_count, sizeof *run->bricks) ||
		!load_grow(l, &l->plain_sites, &l->room.plain_sites, run->brick_count,
			sizeof *l->plain_sites))
		return RUN_NONE;
	char *copy = load_text(l, name);
	if (!copy)
		return RUN_NONE;
	uint32_t brick = (uint32_t)run->brick_count++;
	run->bricks[brick] = (struct run_brick){copy, RUN_NONE, well_known(copy)};
	l->plain_sites[brick] = RUN_NONE;
	if (run->bricks[brick].well_known == BRICK_BARRIER_WAIT)
		l->wait_brick = brick;
	index_put(&l->brick_index, hash, brick);
	return brick;
}

static uint32_t hash_site(const struct run_site *site)
{
	const uint64_t numbers[] = {site->brick, (uint64_t)(int64_t)site->layer, site->flags,
		site->elements, site->bytes, site->flops};
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = (hash ^ numbers[i] ^ numbers[i] >> 31) * 0x9e3779b97f4a7c15ull;
	return spread(hash_text(hash_text(hash, site->operation), site->label));
}

static uint32_t rehash_site(const struct load *l, uint32_t i)
{
	return hash_site(&l->run->sites[i]);
}

static int same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

static int same_site(const struct run_site *a, const struct run_site *b)
{
	return a->brick == b->brick && a->layer == b->layer && a->flags == b->flags &&
	       a->elements == b->elements && a->bytes == b->bytes && a->flops == b->flops &&
	       same_text(a->operation, b->operation) && same_text(a->label, b->label);
}

static char *copy_text(struct load *l, const char *text, int *failed)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy) {
		load_no_memory(l);
		*failed = 1;
	}
	return copy;
}

uint32_t load_site(struct load *l, const struct run_site *site)
{
	struct run *run = l->run;
	uint32_t hash = hash_site(site);
	int failed = 0;

	for (uint32_t at = hash; l->site_index.capacity; at++) {
		uint32_t i = l->site_index.slots[at & (l->site_index.capacity - 1)];
		if (!i)
			break;
		if (same_site(&run->sites[i - 1], site))
			return i - 1;
	}
	if (run->site_count >= RUN_NONE / 2 || !index_grow(l, &l->site_index, rehash_site) ||
		!load_grow(l, &run->sites, &l->room.sites, run->site_count, sizeof *run->sites))
		return RUN_NONE;
	struct run_site *new = &run->sites[run->site_count];
	*new = *site;
	new->operation = copy_text(l, site->operation, &failed);
	new->label = copy_text(l, site->label, &failed);
	if (failed) {
		free(new->operation);
		free(new->label);
		return RUN_NONE;
	}
	index_put(&l->site_index, hash, (uint32_t)run->site_count);
	return (uint32_t)run->site_count++;
}

static uint32_t hash_kernel(const struct run_kernel *k)
{
	const uint64_t numbers[] = {k->kind, k->grid[0], k->grid[1], k->grid[2], k->block[0],
		k->block[1], k->block[2], k->registers, k->shared_bytes, k->code};
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = (hash ^ numbers[i] ^ numbers[i] >> 31) * 0x9e3779b97f4a7c15ull;
	return spread(hash_text(hash_text(hash, k->name), k->backend));
}

static uint32_t rehash_kernel(const struct load *l, uint32_t i)
{
	return hash_kernel(&l->run->kernels[i]);
}

static int same_kernel(const struct run_kernel *a, const struct run_kernel *b)
{
	return a->kind == b->kind && !memcmp(a->grid, b->grid, sizeof a->grid) &&
	       !memcmp(a->block, b->block, sizeof a->block) && a->registers == b->registers &&
	       a->shared_bytes == b->shared_bytes && a->code == b->code &&
	       same_text(a->name, b->name) && same_text(a->backend, b->backend);
}

uint32_t load_kernel(struct load *l, const struct run_kernel *kernel)
{
	struct run *run = l->run;
	uint32_t hash = hash_kernel(kernel);
	int failed = 0;

	for (uint32_t at = hash; l->kernel_index.capacity; at++) {
		uint32_t i = l->kernel_index.slots[at & (l->kernel_index.capacity - 1)];
		if (!i)
			break;
		if (same_kernel(&run->kernels[i - 1], kernel))
			return i - 1;
	}
	if (run->kernel_count >= RUN_NONE / 2 || !index_grow(l, &l->kernel_index, rehash_kernel) ||
		!load_grow(l, &run->kernels, &l->room.kernels, run->kernel_count,
			sizeof *run->kernels))
		return RUN_NONE;
	struct run_kernel *new = &run->kernels[run->kernel_count];
	*new = *kernel;
	new->name = copy_text(l, kernel->name, &failed);
	new->backend = copy_text(l, kernel->backend, &failed);
	if (failed) {
		free(new->name);
		free(new->backend);
		return RUN_NONE;
	}
	index_put(&l->kernel_index, hash, (uint32_t)run->kernel_count);
	return (uint32_t)run->kernel_count++;
}

static uint32_t rehash_code(const struct load *l, uint32_t i)
{
	return spread(l->run->codes[i].hash);
}

static int knows_code(const struct load *l, uint64_t hash)
{
	for (uint32_t at = spread(hash); l->code_index.capacity; at++) {
		uint32_t i = l->code_index.slots[at & (l->code_index.capacity - 1)];
		if (!i)
			break;
		if (l->run->codes[i - 1].hash == hash)
			return 1;
	}
	return 0;
}

int load_code(struct load *l, struct run_code *code)
{
	struct run *run = l->run;
	int known = knows_code(l, code->hash);

	if (known || run->code_count >= RUN_NONE / 2 ||
		!index_grow(l, &l->code_index, rehash_code) ||
		!load_grow(l, &run->codes, &l->room.codes, run->code_count, sizeof *run->codes)) {
		free(code->name);
		free(code->path);
		free(code->source);
		return known;
	}
	index_put(&l->code_index, spread(code->hash), (uint32_t)run->code_count);
	run->codes[run->code_count++] = *code;
	return 1;
}

void load_names_fini(struct load *l)
{
	free(l->kernel_index.slots);
	free(l->code_index.slots);
	free(l->links);
	free(l->category_index.slots);
	free(l->brick_index.slots);
	free(l->site_index.slots);
	free(l->plain_sites);
	for (size_t i = 0; i < l->value_count; i++) {
		free(l->values[i].site.operation);
		free(l->values[i].site.label);
	}
	free(l->values);
}
