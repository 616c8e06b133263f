/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and sites of all processes become the run's own: equal ones are one. Each kind has an
 * index by hash beside its array.
 */
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "brick/registry.h"
#include "trace/build.h"

static uint64_t hash_text(uint64_t hash, const char *text)
{
	return text ? fnv1a_add(hash, text, strlen(text) + 1) : hash;
}

/* One more fits. */
static int index_fits(struct build *b, struct hash_index *index)
{
	if (hash_index_reserve(index))
		return build_no_memory(b), 0;
	return 1;
}

/* How many of a name's bytes are kept. */
static size_t cut(const char *name, size_t bytes)
{
	return strnlen(name, bytes < BUILD_MAX_TEXT ? bytes : BUILD_MAX_TEXT);
}

static int same(const char *name, const char *text, size_t bytes)
{
	return !strncmp(name, text, bytes) && !name[bytes];
}

uint32_t build_category(struct build *b, const char *name, size_t bytes)
{
	struct run *run = b->run;

	bytes = cut(name, bytes);
	uint64_t hash = fnv1a(name, bytes);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->category_index, &probe)) != HASH_INDEX_NONE;)
		if (same(run->categories[i].name, name, bytes))
			return i;
	if (run->category_count >= BUILD_MAX_NAMES || !index_fits(b, &b->category_index) ||
		!build_grow(b, &run->categories, &b->capacity.categories, run->category_count,
			sizeof *run->categories))
		return RUN_NONE;
	char *copy = build_text(b, name, bytes);
	if (!copy)
		return RUN_NONE;
	run->categories[run->category_count].name = copy;
	hash_index_add(&b->category_index, hash, (uint32_t)run->category_count);
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
	uint64_t hash = fnv1a(name, bytes);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->brick_index, &probe)) != HASH_INDEX_NONE;)
		if (same(run->bricks[i].name, name, bytes))
			return i;
	if (run->brick_count >= BUILD_MAX_NAMES || !index_fits(b, &b->brick_index) ||
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
	hash_index_add(&b->brick_index, hash, brick);
	return brick;
}

static uint64_t hash_site(const struct run_site *site)
{
	const uint64_t numbers[] = {site->brick, (uint64_t)(int64_t)site->layer, site->flags,
		site->elements, site->bytes, site->flops, site->output_tokens};
	uint64_t hash = FNV1A_BASIS;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = hash_add(hash, numbers[i]);
	return hash_text(hash_text(hash, site->operation), site->label);
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

/* Texts become copies of themselves; NULL stays. 0: not enough memory. */
static int copy_texts(struct build *b, char **first, char **second)
{
	char *one = *first ? strdup(*first) : NULL, *other = *second ? strdup(*second) : NULL;

	if ((*first && !one) || (*second && !other)) {
		build_no_memory(b);
		free(one);
		free(other);
		return 0;
	}
	*first = one;
	*second = other;
	return 1;
}

uint32_t build_site(struct build *b, const struct run_site *site)
{
	struct run *run = b->run;
	uint64_t hash = hash_site(site);

	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->site_index, &probe)) != HASH_INDEX_NONE;)
		if (same_site(&run->sites[i], site))
			return i;
	if (run->site_count >= RUN_NONE / 2 || !index_fits(b, &b->site_index) ||
		!build_grow(
			b, &run->sites, &b->capacity.sites, run->site_count, sizeof *run->sites))
		return RUN_NONE;
	struct run_site *new = &run->sites[run->site_count];
	*new = *site;
	if (!copy_texts(b, &new->operation, &new->label))
		return RUN_NONE;
	hash_index_add(&b->site_index, hash, (uint32_t)run->site_count);
	return (uint32_t)run->site_count++;
}

static uint64_t hash_kernel(const struct run_kernel *k)
{
	const uint64_t numbers[] = {k->kind, k->grid[0], k->grid[1], k->grid[2], k->block[0],
		k->block[1], k->block[2], k->registers, k->shared_bytes, k->code};
	uint64_t hash = FNV1A_BASIS;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		hash = hash_add(hash, numbers[i]);
	return hash_text(hash_text(hash, k->name), k->backend);
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
	uint64_t hash = hash_kernel(kernel);

	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->kernel_index, &probe)) != HASH_INDEX_NONE;)
		if (same_kernel(&run->kernels[i], kernel))
			return i;
	if (run->kernel_count >= RUN_NONE / 2 || !index_fits(b, &b->kernel_index) ||
		!build_grow(b, &run->kernels, &b->capacity.kernels, run->kernel_count,
			sizeof *run->kernels))
		return RUN_NONE;
	struct run_kernel *new = &run->kernels[run->kernel_count];
	*new = *kernel;
	if (!copy_texts(b, &new->name, &new->backend))
		return RUN_NONE;
	hash_index_add(&b->kernel_index, hash, (uint32_t)run->kernel_count);
	return (uint32_t)run->kernel_count++;
}

static int knows_code(const struct build *b, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&b->code_index, &probe)) != HASH_INDEX_NONE;)
		if (b->run->codes[i].hash == hash)
			return 1;
	return 0;
}

int build_code(struct build *b, struct run_code *code)
{
	struct run *run = b->run;
	int known = knows_code(b, code->hash);

	if (known || run->code_count >= RUN_NONE / 2 || !index_fits(b, &b->code_index) ||
		!build_grow(
			b, &run->codes, &b->capacity.codes, run->code_count, sizeof *run->codes)) {
		free(code->name);
		free(code->path);
		free(code->source);
		return known;
	}
	hash_index_add(&b->code_index, code->hash, (uint32_t)run->code_count);
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
	hash_index_fini(&b->kernel_index);
	hash_index_fini(&b->code_index);
	hash_index_fini(&b->category_index);
	hash_index_fini(&b->brick_index);
	hash_index_fini(&b->site_index);
	free(b->plain_sites);
}
