/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's own annotations: texts in domains. The rules (attach/rules/annotations.rules) make
 * each text a brick, layer, site or step. A text that no rule knows becomes a brick of its own
 * name, in which numbers are '#': "epoch 1" and "epoch 2" are one brick. Rules see a text once;
 * later lookups take no lock and no memory. Annotations are never freed. If there is no room for
 * one, its `bytes` is 0, and it lies in one of a few places of the thread, which are used in turn.
 * Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct annotation_domain {
	char name[48];	 /* "" for annotations outside of domains */
	uint32_t number; /* in the table of domains */
	bool crosses;	 /* a range outlived the range around it: ranges lie in no stack */
};

struct annotation {
	const struct annotation_domain *domain;
	uint64_t hash;
	uint32_t brick; /* for is_step: if the step is inside of another; BRICK_NONE: no memory */
	uint32_t site;	/* 0: no room for a site */
	int32_t layer;	/* -1: none */
	bool is_step;
	uint8_t phase;		 /* of a step: enum brick_phase */
	uint32_t prompt, output; /* its tokens; both 0: not known */
	uint32_t bytes;		 /* of the name; 0: there was no room for it, see above */
	char text[];		 /* the name */
};

/* Find or make the domain of a name; the first domain if there are too many. Never freed. */
struct annotation_domain *annotation_domain(const char *name);

/* Is this pointer a domain? It may be anything that a program passes. */
bool annotation_is_domain(const struct annotation_domain *domain);

/*
 * Finds a text's annotation. text NULL or "": "(unnamed)". category: for a brick of its own name,
 * when the text is met first; enum brick_category or a result of brick_category_register().
 */
const struct annotation *annotation_find(
	const struct annotation_domain *domain, const char *text, uint32_t category);

/* As annotation_find(); if there is no room, the annotation "OtherRanges", which stays valid. */
const struct annotation *annotation_keep(const struct annotation_domain *domain, const char *text);

/* The same as annotation_find() for a wide text (UTF-32). */
const struct annotation *annotation_find_wide(
	const struct annotation_domain *domain, const wchar_t *text, uint32_t category);

/* Convert a wide text to UTF-8, cut to `bytes`. */
void annotation_narrow(char *to, size_t bytes, const wchar_t *text);

/* Describe the texts that there was no room for; false: there was room for all. */
bool annotations_describe(char *text, size_t bytes);

/* Brick's own rules as text (src/attach/rules/annotations.rules), compiled in. */
extern const char rule_set_annotations_text[];
extern const size_t rule_set_annotations_bytes;
