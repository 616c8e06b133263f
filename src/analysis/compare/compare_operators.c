/* SPDX-License-Identifier: Apache-2.0 */
/* Counts commands by who asked for them, then matches rows by name. */
#include "analysis/compare/compare_operators.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/devices/gpu_askers.h"
#include "analysis/devices/gpu_spans.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/order.h"
#include "base/scope.h"

static const double operator_least = 0.02; /* smaller differences are none */

static const char *const change_names[] = {
	[OPERATOR_ADDED] = "added",
	[OPERATOR_REMOVED] = "removed",
	[OPERATOR_SHAPES] = "shapes",
	[OPERATOR_KERNELS] = "kernels",
	[OPERATOR_CALLS] = "launches",
	[OPERATOR_COUNT] = "count",
	[OPERATOR_LENGTH] = "length",
};

const char *operator_change_name(enum operator_change_kind kind)
{
	return change_names[kind];
}

/* Commands of one site and one kernel. */
struct operator_part {
	const char *name, *brick; /* of the operator, or the brick itself; the command's brick */
	const char *kernel, *shape;
	double count, ns, calls;
};

typedef ARRAY(struct operator_part) operator_parts;

static int operator_compare_texts(const char *one, const char *other)
{
	return one == other ? 0 : !one ? -1 : !other ? 1 : strcmp(one, other);
}

COMPARATOR(operator_compare_kernels, struct operator_part,
	operator_compare_texts(x->name, y->name) ?: operator_compare_texts(x->kernel, y->kernel))
COMPARATOR(operator_compare_shapes, struct operator_part,
	operator_compare_texts(x->name, y->name) ?: operator_compare_texts(x->shape, y->shape))
COMPARATOR(
	operator_compare_uses, struct operator_use, ORDER(y->ns, x->ns) ?: strcmp(x->name, y->name))
COMPARATOR(operator_compare_changes, struct operator_change,
	ORDER(fabs(y->ns), fabs(x->ns))
		?: strcmp(x->a ? x->a->name : x->b->name, y->a ? y->a->name : y->b->name))

static int operator_parts_collect(operator_parts *parts, const struct run *run,
	const struct step_index *index, const struct gpu_spans *gpus, bool *has_names)
{
	SCOPED_BY(gpu_askers_fini) struct gpu_askers askers = {0};
	SCOPED_BY(hashmap_fini) struct hashmap by_key = {0};
	uint64_t last_ns = 0;

	if (gpu_askers_init(&askers, run, index))
		return -ENOMEM;
	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *s = run_command_sample(run, c);
		if (gpus->of_lane[c->lane] == RUN_NONE || c->kernel >= run->kernel_count ||
			(index->count && step_index_of_command(index, run, c) == RUN_NONE))
			continue;
		uint32_t site = gpu_asker_of(&askers, c).site, brick = run->sites[s->site].brick;
		uint64_t key = hash_add(hash_add(hash_add(0, site), brick), c->kernel);
		uint64_t at = hashmap_get(&by_key, key);
		if (at == HASHMAP_NONE) {
			const char *name = run->bricks[brick].name;
			struct operator_part part = {
				.name = site == RUN_NONE ? name : gpu_asker_name(run, site),
				.brick = name,
				.kernel = run->kernels[c->kernel].name,
				.shape = site == RUN_NONE ? NULL : run->sites[site].label};
			at = parts->count;
			if (array_push(parts, part) || hashmap_set(&by_key, key, at))
				return -ENOMEM;
			*has_names |= site != RUN_NONE;
		}
		parts->items[at].count++;
		parts->items[at].ns += (double)(s->end_ns - s->begin_ns);
		parts->items[at].calls += c->launch_ns != last_ns;
		last_ns = c->launch_ns;
	}
	return 0;
}

/* Appends to the last use if it has the same name. */
static int operator_use_add(
	operator_uses *uses, const char *name, const struct operator_part *part, double steps)
{
	struct operator_use *last = uses->count ? &uses->items[uses->count - 1] : NULL;

	if (!name)
		return 0;
	if (!last || strcmp(last->name, name) != 0) {
		struct operator_use use = {.name = strdup(name)};
		if (!use.name || array_push(uses, use)) {
			free(use.name);
			return -ENOMEM;
		}
		last = &uses->items[uses->count - 1];
	}
	last->count += part->count / steps;
	last->ns += part->ns / steps;
	return 0;
}

/* Makes a row of all parts with one name. Rows come sorted by name. */
static int operator_rows_make(operator_rows *rows, operator_parts *parts, double steps)
{
	for (int by_shape = 0; by_shape < 2; by_shape++) {
		size_t row = 0;
		array_sort(parts, by_shape ? operator_compare_shapes : operator_compare_kernels);
		for (size_t i = 0; i < parts->count; i++) {
			const struct operator_part *part = &parts->items[i];
			bool is_new = !i || strcmp(part->name, parts->items[i - 1].name) != 0;
			row += i && is_new;
			if (!by_shape && is_new) {
				struct operator_row made = {.name = strdup(part->name)};
				if (!made.name || array_push(rows, made)) {
					free(made.name);
					return -ENOMEM;
				}
			}
			struct operator_row *r = &rows->items[row];
			if (by_shape) {
				if (operator_use_add(&r->shapes, part->shape, part, steps))
					return -ENOMEM;
				continue;
			}
			r->count += part->count / steps;
			r->ns += part->ns / steps;
			r->calls += part->calls / steps;
			if (operator_use_add(&r->kernels, part->kernel, part, steps))
				return -ENOMEM;
		}
	}
	for (size_t i = 0; i < rows->count; i++) {
		array_sort(&rows->items[i].kernels, operator_compare_uses);
		array_sort(&rows->items[i].shapes, operator_compare_uses);
	}
	return 0;
}

int operators_init(struct operators *operators, const struct run *run)
{
	SCOPED_BY(step_index_fini) struct step_index index = {0};
	SCOPED_BY(gpu_spans_fini) struct gpu_spans gpus = {0};
	operator_parts parts = {0};
	double steps = run->step_count ? (double)run->step_count : 1;

	*operators = (struct operators){0};
	int rc = step_index_init(&index, run);
	if (!rc)
		rc = gpu_spans_init(&gpus, run, &index);
	if (!rc && gpus.count)
		rc = operator_parts_collect(&parts, run, &index, &gpus, &operators->has_names);
	if (!rc)
		rc = operator_rows_make(&operators->rows, &parts, steps);
	for (size_t i = 0; i < parts.count; i++) {
		parts.items[i].name = parts.items[i].brick;
		parts.items[i].shape = NULL;
	}
	if (!rc)
		rc = operator_rows_make(&operators->bricks, &parts, steps);
	array_fini(&parts);
	return rc;
}

static void operator_uses_fini(operator_uses *uses)
{
	for (size_t i = 0; i < uses->count; i++)
		free(uses->items[i].name);
	array_fini(uses);
}

static void operator_rows_fini(operator_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].name);
		operator_uses_fini(&rows->items[i].kernels);
		operator_uses_fini(&rows->items[i].shapes);
	}
	array_fini(rows);
}

void operators_fini(struct operators *operators)
{
	operator_rows_fini(&operators->rows);
	operator_rows_fini(&operators->bricks);
}

/* The use with the most time that the other side has not, if it takes a fifth of all; else NULL. */
static const struct operator_use *operator_own_use(
	const operator_uses *uses, const operator_uses *others, double ns)
{
	for (size_t i = 0; i < uses->count; i++) {
		const struct operator_use *use = &uses->items[i];
		bool is_shared = false;
		for (size_t k = 0; k < others->count && !is_shared; k++)
			is_shared = !strcmp(use->name, others->items[k].name);
		if (!is_shared)
			return use->ns * 5 >= ns ? use : NULL;
	}
	return NULL;
}

static bool operator_differs(double one, double other)
{
	return fabs(one - other) > operator_least * fmax(one, other);
}

static struct operator_change operator_change_of(
	const struct operator_row *a, const struct operator_row *b)
{
	struct operator_change c = {.a = a, .b = b, .ns = (b ? b->ns : 0) - (a ? a->ns : 0)};

	if (!a || !b) {
		c.kind = a ? OPERATOR_REMOVED : OPERATOR_ADDED;
		return c;
	}
	const struct operator_use *of_a = operator_own_use(&a->shapes, &b->shapes, a->ns);
	const struct operator_use *of_b = operator_own_use(&b->shapes, &a->shapes, b->ns);
	c.kind = OPERATOR_SHAPES;
	if (!of_a || !of_b) {
		of_a = operator_own_use(&a->kernels, &b->kernels, a->ns);
		of_b = operator_own_use(&b->kernels, &a->kernels, b->ns);
		c.kind = OPERATOR_KERNELS;
	}
	if (of_a && of_b) {
		c.of_a = of_a->name;
		c.of_b = of_b->name;
		return c;
	}
	c.kind = operator_differs(a->calls / a->count, b->calls / b->count) ? OPERATOR_CALLS
		 : operator_differs(a->count, b->count)			    ? OPERATOR_COUNT
									    : OPERATOR_LENGTH;
	return c;
}

int operator_changes_init(
	struct operator_changes *changes, const struct operators *a, const struct operators *b)
{
	*changes = (struct operator_changes){.by_brick = !a->has_names || !b->has_names};
	const operator_rows *of_a = changes->by_brick ? &a->bricks : &a->rows;
	const operator_rows *of_b = changes->by_brick ? &b->bricks : &b->rows;
	for (size_t i = 0, k = 0; i < of_a->count || k < of_b->count;) {
		int order = i == of_a->count   ? 1
			    : k == of_b->count ? -1
					       : strcmp(of_a->items[i].name, of_b->items[k].name);
		const struct operator_row *one = order <= 0 ? &of_a->items[i++] : NULL;
		const struct operator_row *other = order >= 0 ? &of_b->items[k++] : NULL;
		struct operator_change change = operator_change_of(one, other);
		if (operator_differs(one ? one->ns : 0, other ? other->ns : 0) &&
			array_push(&changes->list, change))
			return -ENOMEM;
	}
	array_sort(&changes->list, operator_compare_changes);
	return 0;
}

void operator_changes_fini(struct operator_changes *changes)
{
	array_fini(&changes->list);
}
