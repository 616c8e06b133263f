/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/keep/request_budget.h"

#include <errno.h>
#include <stdlib.h>
#include "brick/recorded.h"

int request_budget_init(struct request_budget *b, uint64_t ns)
{
	*b = (struct request_budget){.ns = ns};
	if (!ns)
		return 0;
	b->sequences = calloc(BUDGET_SEQUENCES, sizeof(*b->sequences));
	return b->sequences ? 0 : -ENOMEM;
}

void request_budget_fini(struct request_budget *b)
{
	free(b->sequences);
	*b = (struct request_budget){0};
}

static struct budget_sequence *request_budget_find(
	struct request_budget *b, const void *session, uint16_t model, int32_t sequence)
{
	struct budget_sequence *oldest = b->sequences;

	for (unsigned i = 0; i < b->count; i++) {
		struct budget_sequence *s = &b->sequences[i];
		if (s->session == session && s->model == model && s->sequence == sequence)
			return s;
		if (s->used_ns < oldest->used_ns)
			oldest = s;
	}
	struct budget_sequence *s =
		b->count < BUDGET_SEQUENCES ? &b->sequences[b->count++] : oldest;
	*s = (struct budget_sequence){
		.session = session, .model = model, .sequence = sequence, .is_new = true};
	return s;
}

static void request_budget_begin(struct budget_sequence *s, uint64_t ns, bool is_said)
{
	s->began_ns = ns;
	s->is_new = s->makes = s->is_told = false;
	s->is_said = is_said;
}

/* All sequences of the event's model, but for one. */
static void renew_all(struct request_budget *b, const void *session, uint16_t model, int32_t kept)
{
	for (unsigned i = 0; i < b->count; i++) {
		struct budget_sequence *s = &b->sequences[i];
		if (s->session == session && s->model == model && s->sequence != kept)
			s->is_new = true;
	}
}

static bool tokens_are_late(struct request_budget *b, struct budget_sequence *s,
	const struct brick_sequence_record *e, uint64_t ns)
{
	bool begins = s->is_new || (e->prompt && s->makes);

	/* of the request before: threads are read one after the other */
	if (!s->is_new && ns < s->began_ns)
		return false;
	if (begins && !(s->is_said && !s->makes))
		request_budget_begin(s, ns, false);
	s->is_new = false;
	s->makes |= e->tokens > e->prompt;
	if (s->is_told || ns - s->began_ns <= b->ns)
		return false;
	s->is_told = true;
	return true;
}

uint64_t request_budget_event(struct request_budget *b, const void *session,
	const struct brick_sequence_record *e, uint64_t ns, uint64_t arrived_ns)
{
	if (!b->ns || e->event >= BRICK_SEQUENCE_EVENTS)
		return 0;
	if (e->event == BRICK_SEQUENCE_FREED || e->event == BRICK_SEQUENCE_KEPT ||
		e->sequence == BRICK_SEQUENCE_ALL) {
		renew_all(b, session, e->model,
			e->event == BRICK_SEQUENCE_KEPT ? e->sequence : BRICK_SEQUENCE_ALL);
		return 0;
	}
	struct budget_sequence *s = request_budget_find(b, session, e->model, e->sequence);
	s->used_ns = ns;
	switch (e->event) {
	case BRICK_SEQUENCE_TOKENS:
		return tokens_are_late(b, s, e, ns) ? s->began_ns : 0;
	case BRICK_SEQUENCE_BEGIN:
		request_budget_begin(s, ns, true);
		break;
	case BRICK_SEQUENCE_ARRIVED:
		if (s->is_said && !s->makes && arrived_ns && arrived_ns < s->began_ns)
			s->began_ns = arrived_ns;
		break;
	case BRICK_SEQUENCE_REMOVED: /* refuted drafts are at the end */
		s->is_new |= e->position <= 0 && !(s->is_said && !s->makes);
		break;
	case BRICK_SEQUENCE_LOADED:
	case BRICK_SEQUENCE_END:
		s->is_new |= e->event == BRICK_SEQUENCE_END || !(s->is_said && !s->makes);
		s->is_said &= e->event != BRICK_SEQUENCE_END;
		break;
	}
	return 0;
}

void request_budget_forget(struct request_budget *b, const void *session)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < b->count; i++)
		if (b->sequences[i].session != session)
			b->sequences[kept++] = b->sequences[i];
	b->count = kept;
}
