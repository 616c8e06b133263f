/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for the excess of each source. Noise of a phase is what the machine's other programs may
 * have done to it without taking its CPUs: a twentieth, and more where others were there.
 */
#include "analysis/explain/expectation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/explain/product_due.h"
#include "base/number.h"
#include "base/order.h"
#include "base/path_name.h"
#include "brick/brick.h"

const char *expectation_source_name(enum expectation_source source)
{
	static const char *const names[] = {"repeats", "work", "passes", "machine", "history"};

	return names[source];
}

/* The share of all CPUs that others took. */
static double expectation_disturbance(const struct explain_facts *f)
{
	double others = f->presence.others + f->presence.interrupts + f->presence.steal;

	return others > 0 ? others : 0; /* unknown */
}

/* The phase's time on the CPU and in waits: no brick takes time that its thread was preempted. */
static uint64_t running_ns(const struct explain_phase *phase)
{
	const struct summary_rests *rests = &phase->summary->rests;

	return number_minus(phase->wall_ns, rests->preempted_ns + rests->blocked_ns);
}

/* An excess up to this may be noise of the phase. */
static uint64_t noise_ns(const struct explain_facts *f, const struct explain_phase *phase)
{
	const double least = 0.06, caches = 0.3;
	double others = caches * f->presence.others + f->presence.interrupts + f->presence.steal;

	return number_of_double((least + (others > 0 ? others : 0)) * (double)running_ns(phase));
}

static bool expectation_is_wait(const struct explain_facts *f, uint32_t brick)
{
	return f->run->bricks[brick].well_known == BRICK_BARRIER_WAIT;
}

/*
 * The brick that other threads computed while those that run steps waited for at least half of so
 * long, by the critical path; RUN_NONE: no single brick.
 */
static uint32_t awaited_brick(const struct explain_phase *phase, uint32_t bricks, uint64_t ns)
{
	uint64_t most_ns = ns / 2;
	uint32_t most = RUN_NONE;

	for (size_t i = 0; phase->path && i < phase->path->row_count; i++) {
		const struct path_row *row = &phase->path->rows[i];
		const struct summary_row *own = explain_row(phase, row->name);
		uint64_t others_ns = number_minus(row->on_path_ns, own ? own->wall_ns : 0);
		if (row->owner < bricks && row->rank == PATH_WORK && others_ns > most_ns) {
			most_ns = others_ns;
			most = row->owner;
		}
	}
	return most;
}

/* True if waits were for threads that were made ready to record: that is nobody's fault. */
static bool is_for_profiler(const struct explain_facts *f, uint32_t awaited)
{
	return awaited != RUN_NONE && f->index.kinds[awaited] == BRICK_KIND_OVERHEAD;
}

/*
 * Executions that took longer than their neighbours, and waits. Where times off the CPU are not
 * known, a thread may have been preempted, and nothing is said.
 */
static bool find_repeats(struct excess *out, const struct explain_facts *f, enum step_phase p)
{
	const struct explain_phase *phase = &f->phases[p];
	uint64_t waits_ns = 0, long_waits = 0;

	if (!phase->summary->knows_off || explain_waits_unseen(f, p))
		return false;
	out->brick = RUN_NONE;
	for (uint32_t b = 0; b < f->run->brick_count; b++) {
		const struct repeats_sums *sums = repeats_of(f->repeats, p, b);
		waits_ns += sums->long_waits_ns;
		long_waits += sums->long_waits;
		out->of_count += sums->count;
		out->count += sums->held_up;
		out->ns += sums->held_up_ns;
		out->low_ns += sums->least_ns;
		out->high_ns += sums->most_ns;
		out->took_ns += sums->own_ns + sums->waits_ns;
		out->rows += sums->held_up != 0;
		if (sums->held_up_ns > out->brick_ns) {
			out->brick_ns = sums->held_up_ns;
			out->brick = b;
		}
	}
	uint32_t awaited = awaited_brick(phase, f->run->brick_count, waits_ns);
	if (is_for_profiler(f, awaited))
		waits_ns = long_waits = 0;
	if (waits_ns > out->ns) {
		out->brick_ns = waits_ns;
		out->brick = RUN_NONE;
		out->awaited = awaited;
	}
	out->ns += waits_ns;
	out->low_ns += waits_ns;
	out->high_ns += waits_ns;
	out->count += long_waits;
	out->noise_ns = noise_ns(f, phase);
	return out->ns > out->noise_ns;
}

/* A brick's operations of one sort in a phase. */
struct brick_pace {
	uint32_t brick;
	double ns, work, pace; /* pace: ns for a unit of work */
	double bytes, flops, count;
};

COMPARATOR(by_pace, struct brick_pace, ORDER(x->pace, y->pace))

/* True for an operation that passes over its data once, and does little with them. */
static bool is_pass(const struct run *run, const struct run_site *site)
{
	static const char *const heavy[] = {"MUL_MAT", "OUT_PROD", "FLASH_ATTN", "SOFT_MAX", "SSM",
		"CONV", "IM2COL", "POOL", "RWKV", "GATED", "SOLVE", "LIGHTNING", "ARGSORT", "TOP_K",
		"CUMSUM", "MAP_", "CUSTOM", "OPT_STEP"};
	(void)run;

	for (size_t i = 0; site->operation && i < sizeof(heavy) / sizeof(*heavy); i++)
		if (!strncmp(site->operation, heavy[i], strlen(heavy[i])))
			return false;
	return site->operation && site->bytes && site->elements && !(site->flags & BRICK_SITE_PART);
}

/*
 * The part of a brick's time in a phase that is not in excess of a single execution: a prompt has
 * few, and each may have lost its CPU to a host or an interrupt. The longest one, which has the
 * most work, counts as the others do for theirs, and a single one says nothing. Time by which
 * executions were held up has an excess of its own.
 */
static double expectation_usual_part(
	const struct explain_facts *f, enum step_phase p, uint32_t brick, double work, double most)
{
	const struct explain_brick *b = &f->phases[p].bricks[brick];
	double ns =
		(double)number_minus(b->driver_ns, repeats_of(f->repeats, p, brick)->held_up_ns);
	double others_ns = (double)(b->driver_ns - b->longest_ns);

	if (b->count < 2 || !b->driver_ns || work <= most)
		return 0;
	return fmin(ns, others_ns * work / (work - most)) / (double)b->driver_ns;
}

/* The same part where all executions have the same work. */
static double expectation_usual_part_alike(
	const struct explain_facts *f, enum step_phase p, uint32_t brick)
{
	return expectation_usual_part(f, p, brick, (double)f->phases[p].bricks[brick].count, 1);
}

/*
 * Fills in paces[brick_count] of the sites that count, the quickest first; returns how many.
 */
static size_t find_paces(struct brick_pace *paces, const struct explain_facts *f, enum step_phase p,
	bool is_flops, bool (*counts)(const struct run *run, const struct run_site *site))
{
	const struct explain_phase *phase = &f->phases[p];
	size_t count = 0;

	for (uint32_t b = 0; b < f->run->brick_count; b++) {
		struct brick_pace *sum = &paces[count];
		double most = 0;
		*sum = (struct brick_pace){.brick = b};
		for (size_t i = 0; i < f->run->site_count; i++) {
			const struct run_site *site = &f->run->sites[i];
			if (site->brick != b || !phase->sites[i].count || !counts(f->run, site))
				continue;
			sum->count += (double)phase->sites[i].count;
			sum->ns += (double)phase->sites[i].ns;
			sum->bytes += (double)site->bytes * (double)phase->sites[i].count;
			sum->flops += (double)site->flops * (double)phase->sites[i].count;
			most = fmax(most, (double)(is_flops ? site->flops : site->bytes));
		}
		sum->work = is_flops ? sum->flops : sum->bytes;
		sum->ns *= expectation_usual_part(f, p, b, sum->work, most);
		sum->pace = sum->work > 0 ? sum->ns / sum->work : 0;
		count += sum->work > 0 && sum->ns > 0;
	}
	qsort(paces, count, sizeof(*paces), by_pace);
	return count;
}

/* The pace that half of all work reaches; *all: all work. */
static double pace_of_half(const struct brick_pace *paces, size_t count, double *all)
{
	double sum = 0, pace = 0;

	*all = 0;
	for (size_t i = 0; i < count; i++)
		*all += paces[i].work;
	for (size_t i = 0; i < count && 2 * sum < *all; i++) {
		sum += paces[i].work;
		pace = paces[i].pace;
	}
	return pace;
}

/*
 * Adds a brick that should have taken due_ns, and at most most_ns. best: the pace of the quickest.
 * all, wall_ns: the work of all such bricks, the phase's time.
 */
static void excess_add_brick(struct excess *out, const struct brick_pace *b, double due_ns,
	double most_ns, double best, double all, uint64_t wall_ns)
{
	uint64_t ns = number_of_double(b->ns - due_ns);

	out->ns += ns;
	out->low_ns += number_of_double(b->ns - most_ns);
	out->high_ns += number_of_double(b->ns - b->work * best);
	out->took_ns += number_of_double(b->ns);
	out->rows++;
	if (ns <= out->brick_ns)
		return;
	out->brick = b->brick;
	out->brick_ns = ns;
	out->rate = b->work / b->ns;
	out->expected_rate = b->work / due_ns;
	out->work_share = b->work / all;
	out->time_share = b->ns / (double)wall_ns;
}

/*
 * Bricks of simple operations that take four times as long as their bytes at the pace of half of
 * the phase's, and as often as one of them is as quick as half of these bricks are. Together they
 * are a small part of any model.
 */
static bool find_passes(struct excess *out, const struct explain_facts *f, enum step_phase p)
{
	enum { SLOWER = 4, FEW = 3 };
	const struct explain_phase *phase = &f->phases[p];
	struct brick_pace *paces = calloc(f->run->brick_count + 1, sizeof(*paces));
	double *each = calloc(f->run->brick_count + 1, sizeof(*each)), all = 0;
	size_t count = paces && each ? find_paces(paces, f, p, false, is_pass) : 0;

	double pace = pace_of_half(paces, count, &all);
	for (size_t i = 0; i < count; i++)
		each[i] = paces[i].ns / paces[i].count;
	if (count)
		qsort(each, count, sizeof(*each), order_doubles);
	for (size_t i = 0; i < count && count >= FEW; i++) {
		const struct brick_pace *b = &paces[i];
		double due_ns = b->count * each[(count - 1) / 2] + b->work * pace;
		if (b->ns < SLOWER * due_ns)
			continue;
		excess_add_brick(
			out, b, due_ns, SLOWER * due_ns, paces[0].pace, all, phase->wall_ns);
	}
	free(paces);
	free(each);
	out->noise_ns = running_ns(phase) / 10;
	return out->ns > out->noise_ns;
}

/*
 * Bricks whose products take three times as long as their work takes at the pace of half of all
 * work. One token's products wait for memory, those of many tokens compute.
 */
static bool find_slow_bricks(struct excess *out, const struct explain_facts *f, enum step_phase p)
{
	enum { MANY = 8, SLOWER = 3 };
	const struct explain_phase *phase = &f->phases[p];
	struct brick_pace *products = calloc(f->run->brick_count + 1, sizeof(*products));
	double all = 0;

	if (!products)
		return false;
	out->is_flops = phase->batch > MANY;
	size_t count = find_paces(products, f, p, out->is_flops, explain_is_weight_product);
	double pace = pace_of_half(products, count, &all);
	for (size_t i = 0; i < count; i++) {
		const struct brick_pace *b = &products[i];
		double due_ns = b->work * pace;
		/* a prompt needs logits of its last token only, so LmHead reads all for one */
		bool is_head = f->run->bricks[b->brick].well_known == BRICK_LM_HEAD;
		if (b->ns < SLOWER * due_ns || (is_head && out->is_flops))
			continue;
		excess_add_brick(
			out, b, due_ns, SLOWER * due_ns, products[0].pace, all, phase->wall_ns);
	}
	free(products);
	out->noise_ns = running_ns(phase) / 10;
	return out->ns > out->noise_ns;
}

/*
 * True also for a projection whose work the program states itself: such a site has no operation.
 */
static bool expectation_is_product(const struct run *run, const struct run_site *site)
{
	switch (run->bricks[site->brick].well_known) {
	case BRICK_QKV_PROJECTION:
	case BRICK_OUTPUT_PROJECTION:
	case BRICK_GATE_PROJECTION:
	case BRICK_UP_PROJECTION:
	case BRICK_DOWN_PROJECTION:
	case BRICK_LM_HEAD:
		if (!site->operation && site->elements && site->flops && site->bytes)
			return true;
	}
	return explain_is_weight_product(run, site);
}

/* Finds what a brick's products in the phase have in common. False: they differ, or are none. */
static bool brick_kind(struct product_kind *kind, const struct explain_facts *f,
	const struct explain_phase *phase, uint32_t brick)
{
	*kind = (struct product_kind){
		.columns = phase->batch, .slower = 2 + 4 * expectation_disturbance(f)};
	for (size_t i = 0; i < f->run->site_count; i++) {
		const struct run_site *site = &f->run->sites[i];
		struct explain_weights weights;
		if (site->brick != brick || !phase->sites[i].count)
			continue;
		if (!expectation_is_product(f->run, site) ||
			!explain_weights_of(&weights, site, phase->batch) ||
			(kind->bits > 0 && fabs(weights.bits - kind->bits) > 0.5))
			return false;
		kind->bits = weights.bits;
		if (!site->operation && f->run->process_count)
			kind->program = path_name(f->run->processes[0].executable);
		kind->weight_bytes = fmax(kind->weight_bytes, weights.bytes);
	}
	return kind->bits > 0;
}

static bool has_products(
	const struct explain_facts *f, const struct explain_phase *phase, uint32_t brick)
{
	for (size_t i = 0; i < f->run->site_count; i++)
		if (f->run->sites[i].brick == brick && phase->sites[i].count &&
			expectation_is_product(f->run, &f->run->sites[i]))
			return true;
	return false;
}

/* Products with weights that are slower than this machine was seen to be. */
static bool find_machine(struct excess *out, const struct explain_facts *f, enum step_phase p)
{
	const struct explain_phase *phase = &f->phases[p];
	bool is_crowded = phase->team > 1 && run_usable_cpus(f->run) < phase->team;
	double others_ns = 0, others_work = 0;

	for (size_t i = 0; i < f->roofline->row_count && !is_crowded; i++) {
		const struct roofline_row *row = &f->roofline->rows[i];
		struct product_kind kind;
		struct product_due due;
		if ((int)row->phase != (int)p || !has_products(f, phase, row->brick))
			continue;
		double all_ns = (double)phase->bricks[row->brick].driver_ns;
		bool is_known = brick_kind(&kind, f, phase, row->brick) &&
				product_due_find(&due, f->roofline, row, &kind);
		double took_ns = all_ns * expectation_usual_part_alike(f, p, row->brick);
		double rate = took_ns > 0 ? row->flops_per_ns * all_ns / took_ns : 0;
		if (!is_known || rate <= 0 || rate >= product_due_least(&due)) {
			/* a prompt needs logits of its last token only: that product is unlike */
			bool is_alike = f->run->bricks[row->brick].well_known != BRICK_LM_HEAD ||
					phase->batch <= 1;
			if (is_alike && row->flops_per_ns > 0) {
				others_ns += all_ns;
				others_work += row->flops_per_ns * all_ns;
			}
			continue;
		}
		double usual = product_due_usual(&due);
		uint64_t ns = number_of_double(took_ns * (1 - rate / usual));
		out->took_ns += number_of_double(took_ns);
		out->ns += ns;
		out->low_ns += number_of_double(took_ns * (1 - rate / product_due_least(&due)));
		out->high_ns += number_of_double(took_ns * (1 - rate / fmax(due.roof, usual)));
		out->rows++;
		if (ns <= out->brick_ns) {
			if (ns > out->next_ns) {
				out->next = row->brick;
				out->next_ns = ns;
			}
			continue;
		}
		out->next = out->brick;
		out->next_ns = out->brick_ns;
		out->brick_ns = ns;
		out->brick = row->brick;
		out->rate = rate;
		out->expected_rate = usual;
		out->bits = kind.bits;
		out->seen = due.seen;
	}
	out->others_rate = others_ns > 0 ? others_work / others_ns : 0;
	out->noise_ns = noise_ns(f, phase);
	return out->ns > out->noise_ns;
}

/* The same for waits, which take so many ns a token. */
static double usual_part_of_waits(const struct explain_facts *f, enum step_phase p, double token_ns)
{
	double all_ns = token_ns * (double)f->phases[p].tokens, long_ns = 0;

	for (uint32_t b = 0; b < f->run->brick_count; b++)
		long_ns += (double)repeats_of(f->repeats, p, b)->long_waits_ns;
	return all_ns > long_ns ? (all_ns - long_ns) / all_ns : 0;
}

/*
 * Bricks that take a quarter longer than in the slower ones of the workload's earlier recordings,
 * if the whole token takes longer, too. Noise from run to run is larger than within a run.
 */
static bool find_history(struct excess *out, const struct explain_facts *f, enum step_phase p)
{
	enum { NOISE_PART = 10 };
	const double whole_longer = 1.1, least_part = 0.01;
	const struct usual_times *usual = f->usual;
	const struct explain_phase *phase = &f->phases[p];
	/* whoever shares a CPU's units and caches makes a brick twice as slow at most */
	double longer = 1.25 + 1.5 * expectation_disturbance(f);

	if (!usual || !usual->runs[p] ||
		usual->whole[p].now_ns < whole_longer * usual->whole[p].slower_ns)
		return false;
	for (size_t i = 0; i < usual->count; i++) {
		const struct usual_part *part = &usual->parts[i];
		bool is_wait = expectation_is_wait(f, part->brick);
		double usual_part = is_wait ? usual_part_of_waits(f, p, part->all_ns)
					    : expectation_usual_part_alike(f, p, part->brick);
		double all_ns = part->all_ns * usual_part;
		double more_ns = all_ns - part->median_ns;
		if (part->phase != (int)p || f->index.kinds[part->brick] == BRICK_KIND_OVERHEAD ||
			part->now_ns * usual_part < longer * part->slower_ns ||
			more_ns < least_part * usual->whole[p].median_ns)
			continue;
		double tokens = (double)phase->tokens;
		uint64_t ns = number_of_double(more_ns * tokens);
		uint32_t awaited =
			is_wait ? awaited_brick(phase, f->run->brick_count, ns) : RUN_NONE;
		/* other programs may have had the CPU of a thread that is waited for */
		if (is_wait && (is_for_profiler(f, awaited) ||
				       (awaited == RUN_NONE && presence_is_disturbed(f->run))))
			continue;
		out->ns += ns;
		out->low_ns += number_of_double((all_ns - part->slower_ns) * tokens);
		out->high_ns += number_of_double((all_ns - part->quickest_ns) * tokens);
		out->took_ns += number_of_double(all_ns * tokens);
		out->rows++;
		if (ns > out->brick_ns) {
			out->next = out->brick;
			out->next_ns = out->brick_ns;
			out->next_now_ns = out->brick_now_ns;
			out->next_usual_ns = out->brick_usual_ns;
			out->brick = part->brick;
			out->brick_ns = ns;
			out->brick_now_ns = all_ns;
			out->brick_usual_ns = part->median_ns;
		} else if (ns > out->next_ns) {
			out->next = part->brick;
			out->next_ns = ns;
			out->next_now_ns = all_ns;
			out->next_usual_ns = part->median_ns;
		}
	}
	if (out->brick != RUN_NONE && expectation_is_wait(f, out->brick))
		out->awaited = awaited_brick(phase, f->run->brick_count, out->brick_ns);
	out->of_count = usual->runs[p];
	out->noise_ns = running_ns(phase) / NOISE_PART;
	return out->ns > out->noise_ns;
}

int expectation_learn(struct ceilings *kept, const struct explain_facts *f)
{
	int any = 0;

	for (size_t i = 0; i < f->roofline->row_count; i++) {
		const struct roofline_row *row = &f->roofline->rows[i];
		struct product_kind kind;
		bool is_step = (int)row->phase < STEP_PHASES && f->phases[row->phase].summary;
		if (!is_step || !brick_kind(&kind, f, &f->phases[row->phase], row->brick))
			continue;
		int rc = product_due_learn(kept, f->roofline, row, &kind);
		if (rc < 0)
			return rc;
		any |= rc;
	}
	return any;
}

bool expectation_excess(struct excess *out, const struct explain_facts *f, enum step_phase phase,
	enum expectation_source source)
{
	static bool (*const find[])(
		struct excess * out, const struct explain_facts *f, enum step_phase phase) = {
		find_repeats, find_slow_bricks, find_passes, find_machine, find_history};

	*out = (struct excess){
		.source = source, .brick = RUN_NONE, .awaited = RUN_NONE, .next = RUN_NONE};
	return find[source](out, f, phase);
}
