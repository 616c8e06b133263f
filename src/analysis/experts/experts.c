/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records about a product's experts come before the product on its lane, and have the same
 * time. A single record with BRICK_EXPERT_SAME means the records of the product before on that
 * lane.
 */
#include "analysis/experts/experts.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"
#include "brick/error.h"

enum { MAX_BETWEEN = 8 }; /* samples from a record to its product */

/* Only the sample of the product's first thread has work; samples of its other threads do not
 * count. */
static bool is_product(const struct run *run, uint32_t site)
{
	const struct run_site *s = &run->sites[site];

	return s->operation && !strcmp(s->operation, "MUL_MAT_ID") &&
	       s->flags & BRICK_SITE_HAS_ELEMENTS;
}

static bool experts_is_left_out(const struct run_site *site)
{
	return site->left_out & RUN_LEFT_OUT_TIME;
}

/* The product that a record belongs to; NULL: it is not in the run. */
static const struct run_sample *product_of(const struct run *run, const struct run_expert *e)
{
	const struct run_lane *lane = &run->lanes[e->lane];
	size_t first = run_sample_from(lane, e->ns);

	for (size_t i = first; i < lane->sample_count && i - first < MAX_BETWEEN; i++)
		if (is_product(run, lane->samples[i].site))
			return &lane->samples[i];
	return NULL;
}

static struct expert_model *experts_model_of(
	struct experts *made, uint32_t process, uint32_t number)
{
	for (size_t i = 0; i < made->models.count; i++)
		if (made->models.items[i].process == process &&
			made->models.items[i].model == number)
			return &made->models.items[i];
	struct expert_model *m = array_add(&made->models);
	if (m)
		*m = (struct expert_model){.process = process, .model = number};
	return m;
}

static struct expert_layer *experts_layer_of(
	struct expert_model *m, int32_t number, uint32_t experts)
{
	size_t i = BISECT(k, 0, m->layers.count, m->layers.items[k].layer < number);

	if (i < m->layers.count && m->layers.items[i].layer == number)
		return &m->layers.items[i];
	struct expert_sums *sums = calloc(experts, sizeof(*sums));
	if (!sums || array_reserve(&m->layers, 1)) {
		free(sums);
		return NULL;
	}
	struct expert_layer *l = &m->layers.items[i];
	memmove(l + 1, l, (m->layers.count++ - i) * sizeof(*l));
	*l = (struct expert_layer){.layer = number, .experts = experts, .expert = sums};
	return l;
}

/*
 * The product's place in its layer. Sites tell batches of different length apart, names do not. If
 * there are too many products, the last one counts for all.
 */
static uint32_t experts_place_of(
	struct expert_layer *l, const struct run_site *site, uint64_t bytes)
{
	uint32_t i = 0;

	for (; i < l->product_count; i++)
		if (site->label && l->products[i].label ? !strcmp(site->label, l->products[i].label)
							: site->brick == l->products[i].brick)
			return i;
	if (i == EXPERT_PRODUCTS)
		return i - 1;
	l->products[l->product_count++] = (struct expert_product){site->brick, site->label};
	l->expert_bytes += bytes;
	return i;
}

/* Adds a product by records, its own or those of the earlier product with the same experts. */
static void experts_add(struct expert_layer *l, bool is_first, const struct run_expert *records,
	size_t count, uint64_t bytes)
{
	for (size_t i = 0; i < count; i++) {
		if (records[i].expert < 0 || (uint32_t)records[i].expert >= l->experts)
			continue;
		struct expert_sums *s = &l->expert[records[i].expert];
		s->tokens += is_first ? records[i].tokens : 0;
		l->tokens += is_first ? records[i].tokens : 0;
		s->bytes += bytes;
		l->bytes += bytes;
	}
}

/* As experts_add(), for the product that the record e comes before. said: [count] records. 0 or
 * -ENOMEM. */
static int experts_add_product(struct experts *made, const struct run *run,
	const struct run_expert *e, const struct run_expert *said, size_t count)
{
	const struct run_sample *product = product_of(run, e);
	uint32_t number = e->step == RUN_NONE ? RUN_NONE : run->steps[e->step].model;

	if (!product || !e->experts || experts_is_left_out(&run->sites[product->site]))
		return 0;
	const struct run_site *site = &run->sites[product->site];
	struct expert_model *m = experts_model_of(made, run->lanes[e->lane].process, number);
	struct expert_layer *l = m ? experts_layer_of(m, site->layer, e->experts) : NULL;
	if (!l)
		return -ENOMEM;
	if (l->experts != e->experts)
		return 0; /* two mixtures in a layer: the first counts */
	experts_add(l, !experts_place_of(l, site, e->bytes), said, count, e->bytes);
	l->executions++;
	l->ns += product->end_ns - product->begin_ns + product->wait_ns;
	return 0;
}

static int read_records(struct experts *made, const struct run *run)
{
	const struct run_expert *list = run->experts, *said = NULL;
	size_t said_count = 0;
	int error = 0;

	for (size_t i = 0, end; i < run->expert_count && !error; i = end) {
		bool is_same = list[i].expert == BRICK_EXPERT_SAME;
		for (end = i + 1; end < run->expert_count && list[end].lane == list[i].lane &&
				  list[end].ns == list[i].ns && !is_same;)
			end++;
		if (!is_same) {
			said = &list[i];
			said_count = end - i;
		}
		if (said && said->lane == list[i].lane && said->step == list[i].step)
			error = experts_add_product(made, run, &list[i], said, said_count);
	}
	return error;
}

static int experts_count_executions(struct experts *made, const struct run *run)
{
	bool *products = calloc(run->site_count + 1, sizeof(*products));
	uint64_t known = 0;

	if (!products)
		return -ENOMEM;
	for (size_t i = 0; i < run->site_count; i++)
		products[i] = is_product(run, (uint32_t)i) && !experts_is_left_out(&run->sites[i]);
	for (size_t lane = 0; lane < run->lane_count; lane++)
		for (size_t i = 0; i < run->lanes[lane].sample_count; i++) {
			made->executions += products[run->lanes[lane].samples[i].site];
			run_lane_passed(&run->lanes[lane], i);
		}
	free(products);
	for (size_t i = 0; i < made->models.count; i++)
		for (size_t k = 0; k < made->models.items[i].layers.count; k++)
			known += made->models.items[i].layers.items[k].executions;
	made->unknown = made->executions > known ? made->executions - known : 0;
	return 0;
}

COMPARATOR(experts_by_tokens, struct expert_sums,
	ORDER(y->tokens, x->tokens) ?: ORDER(y->bytes, x->bytes))

/* Fills in m->kept for 1, 2, 4, ... experts, fewer than the largest layer has. */
static int finish_kept(struct expert_model *m)
{
	struct expert_sums all = {0};
	uint32_t most = 0;

	for (size_t i = 0; i < m->layers.count; i++) {
		all.tokens += m->layers.items[i].tokens;
		all.bytes += m->layers.items[i].bytes;
		most = m->layers.items[i].experts > most ? m->layers.items[i].experts : most;
	}
	struct expert_sums *sorted = calloc((size_t)most + 1, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (uint32_t n = 1; n < most && m->kept_count < EXPERTS_KEPT && all.tokens && all.bytes;
		n *= 2)
		m->kept[m->kept_count++] = (struct experts_kept){.experts = n};
	for (size_t i = 0; i < m->layers.count; i++) {
		const struct expert_layer *l = &m->layers.items[i];
		memcpy(sorted, l->expert, l->experts * sizeof(*sorted));
		qsort(sorted, l->experts, sizeof(*sorted), experts_by_tokens);
		for (uint32_t k = 0; k < m->kept_count; k++) {
			struct experts_kept *kept = &m->kept[k];
			uint32_t n = kept->experts < l->experts ? kept->experts : l->experts;
			for (uint32_t j = 0; j < n; j++) {
				kept->tokens += (double)sorted[j].tokens;
				kept->reads += (double)sorted[j].bytes;
			}
			kept->bytes += n * l->expert_bytes;
		}
	}
	for (uint32_t k = 0; k < m->kept_count; k++) {
		m->kept[k].tokens /= (double)all.tokens;
		m->kept[k].reads /= (double)all.bytes;
	}
	free(sorted);
	return 0;
}

int experts_create(struct experts **out, const struct run *run)
{
	struct experts *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	int error = read_records(made, run) ?: experts_count_executions(made, run);

	for (size_t i = 0; i < made->models.count && !error; i++) {
		struct expert_model *m = &made->models.items[i];
		for (size_t k = 0; k < m->layers.count; k++) {
			struct expert_layer *l = &m->layers.items[k];
			double entropy = 0;
			for (uint32_t n = 0; n < l->experts; n++) {
				double share =
					l->tokens ? (double)l->expert[n].tokens / (double)l->tokens
						  : 0;
				l->unused += !l->expert[n].tokens;
				l->most = l->expert[n].tokens > l->expert[l->most].tokens ? n
											  : l->most;
				entropy -= share > 0 ? share * log(share) : 0;
			}
			l->even_as = exp(entropy);
		}
		error = finish_kept(m);
	}
	if (!error && !made->executions)
		error = BRICK_ENOTRECORDED;
	if (error)
		experts_destroy(made);
	else
		*out = made;
	return error;
}

void experts_destroy(struct experts *made)
{
	if (!made)
		return;
	for (size_t i = 0; i < made->models.count; i++) {
		struct expert_model *m = &made->models.items[i];
		for (size_t k = 0; k < m->layers.count; k++)
			free(m->layers.items[k].expert);
		array_fini(&m->layers);
	}
	array_fini(&made->models);
	free(made);
}
