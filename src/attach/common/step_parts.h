/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines whose steps are calls of a model: where a program calls several models one after another
 * (embedding, layers, head), a token is several steps. Which of them make one token is known to the
 * program alone, so that it is only said. Each thread for itself; header only.
 */
#pragma once

#include <stdint.h>
#include "attach/common/notes_once.h"

enum { STEP_PARTS_SURE = 8 };

struct step_parts {
	const void *last; /* model; NULL: there was none */
	uint32_t changes; /* to a model whose input has no tokens */
};

/* A call of a model outside of others; tokens: 0: its input says none. */
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
