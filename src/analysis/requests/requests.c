/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes requests of sequences' events, in the order of time. A life is the present state of a
 * model's sequence: the request that it serves, where its tokens end, and where it was cut. Blocks
 * of tokens are looked up by model, position and hash: the life that had a block last, and what
 * happened to that life since, tells why the block had to be evaluated again.
 */
#include "analysis/requests/requests.h"

#include <errno.h>
#include <stdlib.h>
#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "analysis/requests/gaps.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/order.h"
#include "brick/error.h"

enum { BLOCK = BRICK_SEQUENCE_BLOCK_TOKENS, MIN_RATES = 3, MAX_WAITING = 1 << 16 };

/* A life lost its tokens from position `from` on. */
struct cut {
	uint64_t order; /* number of the event that cut it */
	uint64_t ns;
	int64_t from;
	enum request_lost why;
	uint32_t by; /* the request that came in the place of these tokens; RUN_NONE: none yet */
};

struct life {
	uint32_t process, model;
	int32_t sequence;
	uint32_t request;   /* RUN_NONE: none */
	bool is_over;	    /* its request has ended: the next tokens are another's */
	bool is_told;	    /* ... and the program said how many tokens it made */
	bool is_evicted;    /* its tokens went, and its request goes on */
	int64_t lost_end;   /* position behind the last token that went so; 0: none did */
	bool gave_results;  /* its last part had results, and was the end of a prompt */
	int64_t end;	    /* position behind its last token; -1: not known */
	uint32_t last_part; /* index + 1; 0: none */
	bool is_back; /* a state was loaded right behind drafts: perhaps the state from before them
		       */
	enum request_reuse reuse;
	uint32_t shifts, shifted; /* since its last tokens */
	bool has_number;
	uint64_t number, arrived_ns;
	ARRAY(struct cut) cuts;
	ARRAY(struct {
		uint64_t hash;
		uint32_t end;
	})
	waiting; /* blocks, until their step is known */
};

struct block {
	uint32_t life, request;
	uint64_t order;
	uint32_t end;
};

struct maker {
	struct requests *made;
	const struct run *run;
	ARRAY(struct life) lives;
	struct hashmap life_of;
	ARRAY(struct block) blocks;
	struct hashmap block_of;
	struct hashmap drafting; /* models that draft for others */
	ARRAY(struct request) list;
	ARRAY(struct request_part) parts;
	ARRAY(uint64_t) again;	/* by request and reason */
	uint64_t order, now_ns; /* number and time of the present event */
	bool has_states;	/* the run saves states */
	int error;
};

static int requests_fail(struct maker *m)
{
	m->error = -ENOMEM;
	return m->error;
}

static uint64_t requests_key_of(uint32_t process, uint32_t model, int32_t sequence)
{
	return hash_add(hash_add((uint64_t)process << 32 | model, 1), (uint32_t)sequence);
}

/* Sequences of a shared model have no process of their own. */
static uint32_t requests_owner_of(uint32_t process, uint32_t model)
{
	return model >= BRICK_SEQUENCE_SHARED ? RUN_NONE : process;
}

static struct life *life_at(struct maker *m, uint32_t process, uint32_t model, int32_t sequence)
{
	uint64_t key = requests_key_of(process, model, sequence),
		 at = hashmap_get(&m->life_of, key);

	if (at != HASHMAP_NONE)
		return &m->lives.items[at];
	if (array_push(&m->lives, (struct life){.process = process,
					  .model = model,
					  .sequence = sequence,
					  .request = RUN_NONE}) ||
		hashmap_set(&m->life_of, key, m->lives.count - 1)) {
		requests_fail(m);
		return NULL;
	}
	return &m->lives.items[m->lives.count - 1];
}

static void end_request(struct maker *m, struct life *life, enum request_end why, int32_t at)
{
	if (life->request != RUN_NONE && !life->is_over) {
		m->list.items[life->request].end = why;
		m->list.items[life->request].cut_at = at;
	}
	life->is_over = true;
}

static void requests_cut(
	struct maker *m, struct life *life, int64_t from, enum request_lost why, uint32_t by)
{
	if (array_push(&life->cuts, (struct cut){m->order, m->now_ns, from, why, by}))
		requests_fail(m);
}

/* The most drafts in the life's last part: its output tokens but the one that was chosen before. */
static uint32_t requests_drafts_of(const struct maker *m, const struct life *life)
{
	const struct request_part *part =
		life->last_part ? &m->parts.items[life->last_part - 1] : NULL;
	uint32_t outputs = part ? part->tokens - part->prompt - part->refuted : 0;

	if (!part || part->tokens < 2)
		return 0;
	return part->prompt && !part->had_token ? outputs : outputs ? outputs - 1 : 0;
}

/* True if the cut only removes refuted drafts, which ends no request. */
static bool refutes(struct maker *m, struct life *life, int64_t from)
{
	int64_t back = life->end - from;

	if (life->is_over || life->request == RUN_NONE || back <= 0 ||
		back > requests_drafts_of(m, life))
		return false;
	m->parts.items[life->last_part - 1].refuted += (uint32_t)back;
	life->end = from;
	return true;
}

static void remove_end(struct maker *m, struct life *life, int64_t from)
{
	if (life->end >= 0 && from >= life->end)
		return;
	if (refutes(m, life, from))
		return;
	end_request(m, life, from ? REQUEST_CUT : REQUEST_REMOVED, (int32_t)from);
	requests_cut(m, life, from, from ? REQUEST_LOST_CUT : REQUEST_LOST_REMOVED, RUN_NONE);
	life->end = from;
	if (!from)
		life->reuse = REQUEST_REUSE_NONE;
	else if (life->reuse != REQUEST_REUSE_LOADED)
		life->reuse = REQUEST_REUSE_OWN;
}

static void requests_replace(struct maker *m, struct life *life)
{
	if (life->end)
		requests_cut(m, life, 0, REQUEST_LOST_REPLACED, RUN_NONE);
	end_request(m, life, REQUEST_REPLACED, 0);
	life->end = -1;
	life->reuse = REQUEST_REUSE_LOADED;
	life->is_back = false;
}

/*
 * True if an undone part is evaluated again: the part of it that held, and the token chosen after
 * it.
 */
static bool goes_again(
	const struct maker *m, const struct life *life, const struct run_sequence_event *e)
{
	const struct request_part *part =
		life->last_part ? &m->parts.items[life->last_part - 1] : NULL;

	return part && part->is_undone && !life->is_over && e->position == part->position &&
	       !e->prompt && e->tokens > 1 && e->tokens <= part->tokens;
}

static void on_removed(struct maker *m, struct life *life, const struct run_sequence_event *e)
{
	int64_t from = e->position < 0 ? 0 : e->position;

	if (life->is_back && from == m->parts.items[life->last_part - 1].position) {
		/* the state from before the last part; how many of its drafts held comes later */
		struct request_part *part = &m->parts.items[life->last_part - 1];
		part->is_undone = true;
		part->refuted = part->tokens - 1;
		life->end = part->position;
		life->is_back = false;
		return;
	}
	if (life->is_back)
		requests_replace(m, life);
	if (e->end < 0 || life->end < 0 || e->end >= life->end)
		remove_end(m, life, from);
	else if (e->end > from) {
		/* tokens in the middle went: a context that is full makes room */
		life->shifts++;
		life->shifted += (uint32_t)(e->end - from);
		requests_cut(m, life, from, REQUEST_LOST_SHIFTED, RUN_NONE);
	}
}

static void on_copied(
	struct maker *m, uint32_t process, const struct run_sequence_event *e, int64_t source_end)
{
	struct life *to = life_at(m, process, e->model, e->other);
	int64_t end = e->end < 0 || (source_end >= 0 && e->end > source_end) ? source_end : e->end;

	if (!to || e->other == e->sequence)
		return;
	if (to->end > 0)
		requests_cut(m, to, 0, REQUEST_LOST_REPLACED, RUN_NONE);
	end_request(m, to, REQUEST_REPLACED, 0);
	to->end = end > to->end ? end : to->end;
	to->reuse = REQUEST_REUSE_COPIED;
}

/* The last one of a part counts: of drafts that are checked there are several. */
static void on_sampled(struct maker *m, struct life *life, const struct run_sequence_event *e)
{
	if (!life->last_part || life->is_over)
		return;
	struct request_part *part = &m->parts.items[life->last_part - 1];
	struct request *r = &m->list.items[part->request];
	if (e->ns < m->run->steps[part->step].end_ns) /* nonsense: its results were not there */
		return;
	if (r->first_ns == m->run->steps[part->step].end_ns)
		r->first_ns = e->ns;
	part->sampled_ns = e->ns;
	r->end_ns = e->ns > r->end_ns ? e->ns : r->end_ns;
}

static void on_life(struct maker *m, struct life *life, const struct run_sequence_event *e)
{
	switch (e->event) {
	case BRICK_SEQUENCE_REMOVED:
		on_removed(m, life, e);
		break;
	case BRICK_SEQUENCE_KEPT: /* called for the others */
		remove_end(m, life, 0);
		break;
	case BRICK_SEQUENCE_MOVED:
		if (life->end > e->position && e->position >= 0)
			life->end += e->other;
		break;
	case BRICK_SEQUENCE_LOADED: {
		/* after drafts, a loaded state may be the state from before them */
		const struct request_part *part =
			life->last_part ? &m->parts.items[life->last_part - 1] : NULL;
		life->is_back = part && !life->is_over && !part->prompt && part->position >= 0 &&
				requests_drafts_of(m, life);
		if (!life->is_back)
			requests_replace(m, life);
		break;
	}
	case BRICK_SEQUENCE_FREED:
		life->is_back = false;
		end_request(m, life, REQUEST_FREED, 0);
		life->end = 0;
		life->request = RUN_NONE;
		break;
	case BRICK_SEQUENCE_END:
		life->is_told = e->position > 0 && life->request != RUN_NONE && !life->is_over;
		if (life->is_told)
			m->list.items[life->request].told_output = (uint64_t)e->position;
		end_request(m, life, REQUEST_TOLD, 0);
		break;
	case BRICK_SEQUENCE_PREEMPTED:
		life->is_evicted = true;
		if (life->lost_end < life->end)
			life->lost_end = life->end;
		life->end = 0;
		break;
	case BRICK_SEQUENCE_BEGIN:
		end_request(m, life, REQUEST_RESTARTED, 0);
		life->is_told = life->is_evicted = false;
		life->has_number = true;
		life->number = e->number;
		break;
	case BRICK_SEQUENCE_SAMPLED:
		on_sampled(m, life, e);
		break;
	case BRICK_SEQUENCE_ARRIVED:
		life->arrived_ns = e->number;
		break;
	case BRICK_SEQUENCE_BLOCK:
		if (life->waiting.count < MAX_WAITING &&
			array_push(&life->waiting,
				(__typeof__(*life->waiting.items)){e->number, (uint32_t)e->other}))
			requests_fail(m);
		break;
	default:
		break;
	}
}

/* The count of tokens that a request computed again for that reason. */
static uint64_t *again_of(struct maker *m, uint32_t request, enum request_lost why)
{
	return &m->again.items[(size_t)request * REQUEST_LOST_REASONS + why];
}

/* The first cut of the block's life that took the block away; NULL: none. */
static const struct cut *loss_of(const struct maker *m, const struct block *b)
{
	const struct life *life = &m->lives.items[b->life];
	size_t at = BISECT(i, 0, life->cuts.count, life->cuts.items[i].order <= b->order);

	while (at < life->cuts.count && life->cuts.items[at].from >= b->end)
		at++;
	return at < life->cuts.count ? &life->cuts.items[at] : NULL;
}

/* True if it was cut for that request: no step began in between. */
static bool is_for(const struct maker *m, const struct cut *c, uint32_t request)
{
	const struct run *run = m->run;
	size_t next = BISECT(i, 0, run->step_count, run->steps[i].begin_ns <= c->ns);

	return request != RUN_NONE && next < run->step_count &&
	       run->steps[next].begin_ns >= m->list.items[request].begin_ns;
}

static enum request_lost reason_of(
	const struct maker *m, const struct cut *c, bool is_own, uint32_t request)
{
	if (!c)
		return is_own ? REQUEST_LOST_CHECKPOINT : REQUEST_LOST_ELSEWHERE;
	if (c->why == REQUEST_LOST_SHIFTED || c->why == REQUEST_LOST_REPLACED)
		return c->why;
	if (!is_for(m, c, c->by))
		return c->why;
	if (!is_own || c->by != request)
		return REQUEST_LOST_TAKEN;
	return c->why == REQUEST_LOST_REMOVED && m->has_states ? REQUEST_LOST_CHECKPOINT : c->why;
}

static void requests_lost(struct maker *m, struct request *r, uint32_t number,
	const struct block *b, const struct life *life, uint32_t tokens)
{
	const struct cut *c = loss_of(m, b);
	bool is_own = &m->lives.items[b->life] == life;
	enum request_lost why = reason_of(m, c, is_own, number);

	*again_of(m, number, why) += tokens;
	r->again += tokens;
	if (r->lost && *again_of(m, number, why) < *again_of(m, number, r->lost))
		return;
	r->lost = why;
	r->lost_at = c ? (uint32_t)c->from : 0;
	r->lost_by = why == REQUEST_LOST_ELSEWHERE ? b->request : c ? c->by : RUN_NONE;
}

/* The blocks that are full with a part: those of a prompt may have been there before. */
static void take_blocks(
	struct maker *m, struct life *life, uint32_t life_number, const struct request_part *part)
{
	struct request *r = &m->list.items[part->request];

	for (size_t i = 0; i < life->waiting.count && !m->error; i++) {
		uint32_t end = life->waiting.items[i].end;
		uint64_t key = hash_add(requests_key_of(life->process, life->model, -1),
			life->waiting.items[i].hash);
		key = hash_add(key, end);
		uint64_t at = hashmap_get(&m->block_of, key);
		int64_t new_tokens = part->position < 0 ? BLOCK : (int64_t)end - r->reused;
		if (at != HASHMAP_NONE && part->prompt && new_tokens > 0 &&
			m->blocks.items[at].request != part->request)
			requests_lost(m, r, part->request, &m->blocks.items[at], life,
				new_tokens < BLOCK ? (uint32_t)new_tokens : BLOCK);
		const struct block b = {life_number, part->request, m->order, end};
		if (at != HASHMAP_NONE)
			m->blocks.items[at] = b;
		else if (array_push(&m->blocks, b) ||
			 hashmap_set(&m->block_of, key, m->blocks.count - 1))
			requests_fail(m);
	}
	life->waiting.count = 0;
}

static bool requests_begins(
	const struct maker *m, const struct life *life, const struct run_sequence_event *e)
{
	if (life->request == RUN_NONE)
		return true;
	/* an engine that runs ahead evaluates a token behind the last one: it is thrown away */
	if (life->is_over)
		return !life->is_told || e->prompt;
	if (life->is_evicted || (e->position > 0 && e->position < life->lost_end))
		return false;
	const struct request *r = &m->list.items[life->request];
	return (e->position == 0 && life->last_part) ||
	       (e->prompt && (r->output_tokens > 1 || life->gave_results) && !life->shifts);
}

/* Another request takes over what the life had; only now is it known who cut it. */
static void requests_take_over(struct maker *m, struct life *life, uint32_t request, int64_t from)
{
	if (!life->is_over && life->request != RUN_NONE && from < life->end)
		requests_cut(
			m, life, from, from ? REQUEST_LOST_CUT : REQUEST_LOST_REMOVED, request);
	for (size_t i = life->cuts.count; i && life->cuts.items[i - 1].by == RUN_NONE; i--)
		life->cuts.items[i - 1].by = request;
}

static void begin_request(
	struct maker *m, struct life *life, const struct run_sequence_event *e, uint64_t ns)
{
	bool is_shared = life->model >= BRICK_SEQUENCE_SHARED;
	uint32_t number = (uint32_t)m->list.count;
	int64_t from = e->position;
	struct request r = {.process = m->run->lanes[e->lane].process,
		.model = life->model,
		.sequence = life->sequence,
		.has_number = life->has_number,
		.number = life->number,
		.arrived_ns = life->arrived_ns,
		.begin_ns = ns,
		.lost_by = RUN_NONE,
		.is_back = life->is_evicted,
		.reused = from > 0 ? (uint32_t)from : 0};

	requests_take_over(m, life, number, from < 0 ? 0 : from);
	if (!life->is_over)
		end_request(m, life, from > 0 ? REQUEST_FOLLOWED : REQUEST_RESTARTED, 0);
	if (r.reused)
		r.reuse = life->reuse		      ? life->reuse
			  : is_shared && r.has_number ? REQUEST_REUSE_PREFIX
			  : life->request != RUN_NONE ? REQUEST_REUSE_OWN
						      : REQUEST_REUSE_BEFORE;
	for (int i = 0; i < REQUEST_LOST_REASONS; i++)
		if (array_push(&m->again, 0))
			requests_fail(m);
	if (array_push(&m->list, r))
		requests_fail(m);
	life->request = number;
	life->is_over = life->gave_results = life->has_number = false;
	life->is_told = life->is_evicted = false;
	life->lost_end = 0;
	life->number = life->arrived_ns = 0;
	life->reuse = REQUEST_REUSE_NONE;
	life->last_part = 0;
	life->shifts = life->shifted = 0;
}

/*
 * A lone token that ends a prompt whose begin was found in the cache looks like one that makes
 * another. But a request begins with its prompt, unless that is somebody else's or came before.
 */
static bool has_prompt(const struct request *r)
{
	return r->reuse != REQUEST_REUSE_COPIED && r->reuse != REQUEST_REUSE_BEFORE;
}

static void on_tokens(struct maker *m, uint32_t life_number, const struct run_sequence_event *e)
{
	struct life *life = &m->lives.items[life_number];
	const struct run_step *step = e->step == RUN_NONE ? NULL : &m->run->steps[e->step];

	if (!step || step->outcome != RUN_EVALUATED || step->phase == BRICK_PHASE_WARM_UP) {
		life->waiting.count = 0;
		return;
	}
	if (life->is_back)
		requests_replace(m, life);
	bool is_again = goes_again(m, life, e);
	if (is_again)
		m->parts.items[life->last_part - 1].refuted -= e->tokens - 2;
	/* with drafts that were taken back without a word, it goes on before its end */
	if (life->last_part && life->end >= 0 && e->position >= 0 && e->position < life->end)
		refutes(m, life, e->position);
	bool is_first = requests_begins(m, life, e);
	if (is_first)
		begin_request(m, life, e, step->begin_ns);
	if (m->error)
		return;
	struct request *r = &m->list.items[life->request];
	uint32_t prompt = is_first && has_prompt(r) && !e->prompt ? e->tokens : e->prompt;
	uint32_t shifts = life->shifts;
	r->shifts += shifts;
	r->shifted += life->shifted;
	life->shifts = life->shifted = 0;
	const struct request_part part = {.step = e->step,
		.request = life->request,
		.tokens = e->tokens,
		.prompt = prompt,
		.results = (uint32_t)e->end,
		.position = e->position,
		.shifts = shifts,
		.is_again = is_again,
		.is_resumed = life->is_evicted,
		.had_token = r->first_ns || r->is_back};
	if (array_push(&m->parts, part)) {
		requests_fail(m);
		return;
	}
	life->last_part = (uint32_t)m->parts.count;
	life->is_evicted = false;
	if (prompt && e->position >= 0 && e->position < life->lost_end) {
		int64_t lost = life->lost_end - e->position;
		uint32_t some = lost < prompt ? (uint32_t)lost : prompt;
		*again_of(m, life->request, REQUEST_LOST_EVICTED) += some;
		r->again += some;
		r->lost = REQUEST_LOST_EVICTED;
	}
	take_blocks(m, life, life_number, &part);
	uint32_t outputs = e->tokens - prompt;
	life->gave_results = prompt && part.results && part.results < e->tokens;
	if (!r->first_ns && (outputs || part.results)) {
		r->first_ns = step->end_ns;
		/* one behind a prompt, and drafts that are checked with its last token */
		r->output_tokens = prompt && !r->is_back ? (uint64_t)outputs + 1
				   : outputs		 ? outputs
							 : 1;
	} else if (r->first_ns) {
		r->output_tokens += outputs;
	}
	r->prompt_tokens += prompt;
	r->running_ns += step->end_ns - step->begin_ns;
	r->end_ns = step->end_ns > r->end_ns ? step->end_ns : r->end_ns;
	life->end = e->position >= 0 ? (int64_t)e->position + e->tokens
		    : life->end >= 0 ? life->end + e->tokens
				     : -1;
}

/* Finds models that draft: their tokens belong to requests of the model that checks them. */
static void find_drafting(struct maker *m)
{
	for (size_t i = 0; i < m->run->step_count && !m->error; i++) {
		const struct run_step *s = &m->run->steps[i];
		uint64_t key = requests_key_of(
			requests_owner_of(m->run->lanes[s->lane].process, s->model), s->model, 0);
		if (s->is_draft && hashmap_set(&m->drafting, key, 1))
			requests_fail(m);
	}
}

static void on_event(struct maker *m, const struct run_sequence_event *e)
{
	uint32_t process = requests_owner_of(m->run->lanes[e->lane].process, e->model);

	m->order++;
	m->now_ns = e->ns;
	if (e->model == BRICK_SEQUENCE_NO_MODEL) {
		m->made->unknown_steps += e->event == BRICK_SEQUENCE_TOKENS;
		return;
	}
	if (hashmap_get(&m->drafting, requests_key_of(process, e->model, 0)) != HASHMAP_NONE)
		return;
	if (e->sequence == BRICK_SEQUENCE_ALL || e->event == BRICK_SEQUENCE_KEPT ||
		e->event == BRICK_SEQUENCE_FREED) {
		for (size_t i = 0; i < m->lives.count; i++) {
			struct life *life = &m->lives.items[i];
			bool is_meant = life->process == process && life->model == e->model;
			if (is_meant &&
				(e->event != BRICK_SEQUENCE_KEPT || life->sequence != e->sequence))
				on_life(m, life, e);
		}
		return;
	}
	struct life *life = life_at(m, process, e->model, e->sequence);
	if (!life)
		return;
	if (e->event == BRICK_SEQUENCE_TOKENS)
		on_tokens(m, (uint32_t)(life - m->lives.items), e);
	else if (e->event == BRICK_SEQUENCE_COPIED)
		on_copied(m, process, e, life->end);
	else
		on_life(m, life, e);
}

COMPARATOR(
	by_request, struct request_part, ORDER(x->request, y->request) ?: ORDER(x->step, y->step))

/* What the program did not make of the last parts was thrown away. */
static void requests_believe(struct requests *q, struct request *r)
{
	uint64_t made = r->output_tokens;

	for (uint32_t i = 0; i < r->part_count; i++)
		made -= q->parts[r->part_first + i].refuted;
	for (uint32_t i = r->part_count; r->told_output && made > r->told_output && i--;) {
		struct request_part *part = &q->parts[r->part_first + i];
		uint32_t some = part->tokens - part->prompt - part->refuted;
		if (some > made - r->told_output)
			some = (uint32_t)(made - r->told_output);
		part->refuted += some;
		part->is_undone = part->refuted == part->tokens;
		made -= some;
	}
}

/* Parts by request and by step. */
static int order_parts(struct requests *q)
{
	size_t steps = q->run->step_count;

	q->of_step = calloc(q->part_count + 1, sizeof(*q->of_step));
	q->step_first = calloc(steps + 2, sizeof(*q->step_first));
	if (!q->of_step || !q->step_first)
		return -ENOMEM;
	if (q->part_count)
		qsort(q->parts, q->part_count, sizeof(*q->parts), by_request);
	for (size_t i = 0; i < q->part_count; i++) {
		const struct request_part *part = &q->parts[i];
		struct request *r = &q->list[part->request];
		if (!r->part_count++)
			r->part_first = (uint32_t)i;
	}
	for (size_t i = 0; i < q->count; i++)
		if (q->list[i].told_output)
			requests_believe(q, &q->list[i]);
	for (size_t i = 0; i < q->part_count; i++) {
		const struct request_part *part = &q->parts[i];
		struct request *r = &q->list[part->request];
		uint64_t less = part->is_undone ? part->tokens : part->refuted;
		r->refuted += part->refuted;
		r->output_tokens -= less < r->output_tokens ? less : r->output_tokens;
		q->step_first[part->step + 2]++;
	}
	for (size_t i = 2; i < steps + 2; i++)
		q->step_first[i] += q->step_first[i - 1];
	for (size_t i = 0; i < q->part_count; i++)
		q->of_step[q->step_first[q->parts[i].step + 1]++] = (uint32_t)i;
	return 0;
}

/* The time of a prompt's token in steps that evaluated nothing else. */
static int find_prompt_rate(struct requests *q)
{
	double *rates = calloc(q->run->step_count + 1, sizeof(*rates));
	size_t n = 0;

	if (!rates)
		return -ENOMEM;
	for (size_t i = 0; i < q->run->step_count; i++) {
		const struct run_step *s = &q->run->steps[i];
		if (s->phase == BRICK_PHASE_PREFILL && s->tokens && !s->open &&
			q->step_first[i] != q->step_first[i + 1])
			rates[n++] = (double)(s->end_ns - s->begin_ns) / (double)s->tokens;
	}
	if (n)
		qsort(rates, n, sizeof(*rates), order_doubles);
	q->prompt_token_ns = n >= MIN_RATES ? rates[n / 2] : 0;
	free(rates);
	return 0;
}

static int find_numbered(struct requests *q)
{
	uint64_t *numbers = calloc(q->count + 1, sizeof(*numbers));
	size_t n = 0;

	if (!numbers)
		return -ENOMEM;
	while (n < q->count && q->list[n].has_number) {
		numbers[n] = q->list[n].number;
		n++;
	}
	percentile_sort(numbers, n);
	q->are_numbered = n == q->count;
	for (size_t i = 1; i < n; i++)
		q->are_numbered &= numbers[i] != numbers[i - 1];
	free(numbers);
	return 0;
}

int requests_create(struct requests **out, const struct run *run)
{
	struct requests *q = calloc(1, sizeof(*q));
	struct maker m = {
		.made = q, .run = run, .has_states = run_brick_find(run, "StateSave") != RUN_NONE};

	if (!q)
		return -ENOMEM;
	q->run = run;
	find_drafting(&m);
	for (size_t i = 0; i < run->sequence_event_count && !m.error; i++)
		on_event(&m, &run->sequence_events[i]);
	q->list = m.list.items;
	q->count = m.list.count;
	q->parts = m.parts.items;
	q->part_count = m.parts.count;
	for (size_t i = 0; i < m.lives.count; i++) {
		array_fini(&m.lives.items[i].cuts);
		array_fini(&m.lives.items[i].waiting);
	}
	array_fini(&m.lives);
	array_fini(&m.blocks);
	array_fini(&m.again);
	hashmap_fini(&m.life_of);
	hashmap_fini(&m.block_of);
	hashmap_fini(&m.drafting);
	int error = m.error ?: q->count ? 0 : BRICK_ENOTRECORDED;
	error = error ?: order_parts(q) ?: find_prompt_rate(q) ?: find_numbered(q) ?: gaps_find(q);
	if (error)
		requests_destroy(q);
	else
		*out = q;
	return error;
}

void requests_destroy(struct requests *q)
{
	if (!q)
		return;
	free(q->list);
	free(q->parts);
	free(q->of_step);
	free(q->step_first);
	free(q->gaps);
	free(q);
}

uint64_t request_number(const struct requests *q, uint32_t index)
{
	return q->are_numbered ? q->list[index].number : (uint64_t)index + 1;
}

uint64_t request_ttft_ns(const struct request *r)
{
	bool goes_on = r->is_back || (r->model >= BRICK_SEQUENCE_SHARED &&
					     r->reuse == REQUEST_REUSE_BEFORE && !r->prompt_tokens);

	return r->first_ns && !goes_on ? r->first_ns - r->begin_ns : ANALYSIS_UNKNOWN;
}

uint64_t request_token_ns(const struct requests *q, const struct request *r)
{
	uint64_t tokens = 0;

	for (uint32_t i = 0; i < r->gap_count; i++)
		tokens += q->gaps[r->gap_first + i].tokens;
	return tokens ? (q->gaps[r->gap_first + r->gap_count - 1].end_ns - r->first_ns) / tokens
		      : ANALYSIS_UNKNOWN;
}

uint64_t request_queue_ns(const struct request *r)
{
	return r->arrived_ns && r->arrived_ns <= r->begin_ns ? r->begin_ns - r->arrived_ns
							     : ANALYSIS_UNKNOWN;
}

uint64_t request_between_ns(const struct requests *q, const struct request *r)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < r->part_count; i++) {
		const struct run_step *before =
			&q->run->steps[q->parts[r->part_first + i - 1].step];
		const struct run_step *after = &q->run->steps[q->parts[r->part_first + i].step];
		if (after->begin_ns > before->end_ns)
			sum += after->begin_ns - before->end_ns;
	}
	return sum;
}
