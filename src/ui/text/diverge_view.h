/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the answer of `brick diverge` in any of its forms. Main thread. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "analysis/diverge/diverge.h"

struct diverge_view {
	const struct run *a, *b;
	const struct diverge *diverge;
	const struct diverge_options *options;
	unsigned long top; /* places to show */
	bool all;	   /* also those within their limits */
};

void diverge_text(const struct diverge_view *view, FILE *out);
void diverge_json(const struct diverge_view *view, FILE *out);
