/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixtures of experts: how many tokens each expert of a layer got, how many bytes of its weights
 * were read, and how long a layer's products took. A product computes all its experts at once: its
 * time is never split among them. Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"
#include "trace/run.h"

struct expert_sums {
	uint64_t tokens; /* that chose the expert: its rows in the layer's first product */
	uint64_t bytes;	 /* read: its weights in a product, each time the product had rows for it */
};

enum { EXPERT_PRODUCTS = 4 }; /* of a layer: gate, up (or both in one), down */

struct expert_layer {
	int32_t layer;
	uint32_t experts;	    /* how many the layer has */
	struct expert_sums *expert; /* [experts] */
	uint64_t tokens, bytes;	    /* sums over all experts */
	uint64_t executions;	    /* of the layer's products */
	uint64_t ns;		    /* of these executions, with the waits after them */
	uint64_t expert_bytes;	    /* the weights of one expert, in all products */
	uint32_t unused;	    /* experts without a token */
	uint32_t most;		    /* the one with most tokens */
	double even_as; /* effective number of experts: exp(entropy of the tokens' shares) */
	struct expert_product {
		uint32_t brick;
		const char *label; /* NULL: it has none */
	} products[EXPERT_PRODUCTS];
	uint32_t product_count;
};

/* What it would serve to keep the experts with the most tokens in fast memory. */
struct experts_kept {
	uint32_t experts;     /* kept in each layer: 1, 2, 4, ... */
	uint64_t bytes;	      /* that their weights take, in all layers */
	double tokens, reads; /* their shares of all tokens and of all bytes read, 0 to 1 */
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
	uint64_t executions; /* of products that choose experts, in the whole run */
	uint64_t unknown;    /* part of these whose experts are not known: on a device, or not asked
				for */
};

/* 0, -ENOMEM, or BRICK_ENOTRECORDED: nothing here chooses experts. */
int experts_create(struct experts **out, const struct run *run);
void experts_destroy(struct experts *experts);
