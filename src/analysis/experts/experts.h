/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixtures of experts: the experts of each layer that got tokens, the bytes of their weights that
 * were read, and the times of a layer's products. Tokens and bytes are counted. A product computes
 * all its experts at once: its time is measured, and never split among them. Borrows the run.
 * Read-only once made: any thread.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "trace/run.h"

struct expert_sums {
	uint64_t tokens; /* that chose it: rows of its layer's first product */
	uint64_t bytes;	 /* of its weights: all of them, each time that a product had rows for it */
};

enum { EXPERT_PRODUCTS = 4 }; /* of a layer: gate, up (or both in one), down */

struct expert_layer {
	int32_t layer;
	uint32_t experts;	    /* that there are */
	struct expert_sums *expert; /* [experts] */
	uint64_t tokens, bytes;	    /* of all of them */
	uint64_t executions, ns;    /* of its products, and how long these took, with their waits */
	uint64_t expert_bytes;	    /* the weights of one expert, in all products */
	uint32_t unused;	    /* experts without a token */
	uint32_t most;		    /* the one with most tokens */
	double even_as; /* as many experts, had they got the same share each, would be as uneven:
			   the exponential of the entropy */
	struct expert_product {
		uint32_t brick;
		const char *label; /* NULL: it has none */
	} products[EXPERT_PRODUCTS];
	uint32_t product_count;
};

/* The hottest so many experts of each layer are kept in fast memory. */
struct experts_kept {
	uint32_t experts;
	uint64_t bytes;	      /* that they take */
	double tokens, reads; /* the shares of tokens and of bytes read that they serve */
};

enum { EXPERTS_KEPT = 12 };

struct expert_model {
	uint32_t process, model;	   /* RUN_NONE: its number is not known */
	ARRAY(struct expert_layer) layers; /* by number */
	struct experts_kept kept[EXPERTS_KEPT];
	uint32_t kept_count;
};

struct experts {
	ARRAY(struct expert_model) models;
	uint64_t executions; /* of products that choose experts, all of the run ... */
	uint64_t unknown;    /* ... whose experts are not known: on a device, or not asked for */
};

/* 0, -ENOMEM, or BRICK_ENOTRECORDED: nothing here chooses experts. */
int experts_create(struct experts **out, const struct run *run);
void experts_destroy(struct experts *experts);
