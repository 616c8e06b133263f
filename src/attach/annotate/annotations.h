/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's own annotations: texts of domains. The rules (attach/rules/annotations.rules) make
 * each text a brick, layer, site or step. A text that no rule knows is a brick of its own name, in
 * which numbers are '#': "epoch 1" and "epoch 2" are one brick. A text is asked for once; from then
 * on finding it takes no lock and no memory. A found annotation stays, unless there was no room for
 * it: its `bytes` are then 0, and it is good for one range of the thread. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct annotation_domain {
	char name[48]; /* "" for annotations outside of domains */
	uint32_t number;
	bool crosses; /* its ranges ended across others': they lie in no stack */
};

struct annotation {
	const struct annotation_domain *domain;
	uint64_t hash;
	uint32_t brick; /* of a step, where it cannot be one; BRICK_NONE: there is no memory */
	uint32_t site;	/* 0: there was no room for it */
	int32_t layer;
	bool is_step;
	uint8_t phase;		 /* of a step: enum brick_phase */
	uint32_t prompt, output; /* its tokens; both 0: not known */
	uint32_t bytes;
	char text[]; /* its name */
};

/* The domain of that name: one for each name, the first when there are too many. */
struct annotation_domain *annotation_domain(const char *name);

/* Is this such a domain, whatever a program has passed for one? */
bool annotation_is_domain(const struct annotation_domain *domain);

/*
 * Finds a text's annotation. text NULL or "": "(unnamed)". category: for a brick of its own name,
 * when the text is met first; enum brick_category or a result of brick_category_register().
 */
const struct annotation *annotation_find(
	const struct annotation_domain *domain, const char *text, uint32_t category);

/* As annotation_find(), for an annotation that must stay: "OtherRanges" where there is no room. */
const struct annotation *annotation_keep(const struct annotation_domain *domain, const char *text);

/* The same as annotation_find() for a wide text (UTF-32). */
const struct annotation *annotation_find_wide(
	const struct annotation_domain *domain, const wchar_t *text, uint32_t category);

/* A wide text as UTF-8, cut where there is no more room. */
void annotation_narrow(char *to, size_t bytes, const wchar_t *text);

/* Says in words which texts could not be kept; false: there was room for all. */
bool annotations_describe(char *text, size_t bytes);

/* Brick's own rules as text (src/attach/rules/annotations.rules), compiled in. */
extern const char rule_set_annotations_text[];
extern const size_t rule_set_annotations_bytes;
