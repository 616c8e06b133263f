/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For engines whose steps are calls of a model. If a program calls several models in turn
 * (embedding, layers, head), a token takes several steps. Only the program knows which steps make
 * one token, so a note warns. Header only; owner thread.
 */
#pragma once

#include <stdint.h>
#include "attach/common/notes_once.h"

enum { STEP_PARTS_SURE = 8 }; /* changes after which the note is written */

struct step_parts {
	const void *last; /* model; NULL: there was none */
	uint32_t changes; /* to a model whose input has no tokens */
};

/* An outermost call of a model. tokens: of its input; 0: the input has none. */
static inline void step_parts_see(struct step_parts *p, const void *model, uint64_t tokens)
{
	if (p->changes >= STEP_PARTS_SURE)
		return;
	p->changes += p->last && p->last != model && !tokens;
	p->last = model;
	if (p->changes == STEP_PARTS_SURE)
		note_once("steps.parts",
			"each is one call of a model, and the program calls several in turn: a "
			"token may be several steps, most of them without tokens");
}
