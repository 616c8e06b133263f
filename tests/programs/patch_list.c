/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of an object's file is run through the decider: a line "P NAME SITE DISPLACED TO
 * HEX" for one that can be patched, with the code that takes its beginning's place at TO, thunk
 * left out; "R NAME WHY" for one that is refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/patch/survey.h"

enum { SLOT_AHEAD = 1 << 20 };

static void print(const struct survey *s, const struct survey_entry *e, uint64_t to)
{
	const struct plan_thunk thunk = {
		to + SLOT_AHEAD, -8, e->plan.is_quiet && e->plan.kept != 0};
	uint8_t code[PLAN_ENTRY_BYTES];
	size_t inner, n = plan_write(&e->plan, &s->image, &thunk, to, code, &inner);

	if (!n || !plan_verify(&e->plan, &s->image, to, inner, code, n)) {
		printf("R %s no trampoline\n", e->of.name);
		return;
	}
	printf("P %s %" PRIx64 " %u %" PRIx64 " ", e->of.name, e->plan.site, e->plan.displaced,
		to + inner);
	for (size_t i = inner; i < n; i++)
		printf("%02x", code[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct survey survey;
	struct image image;

	if (argc != 2 || image_open(&image, argv[1]))
		return 2;
	size_t count = image.functions.count;
	struct patch_name *names = calloc(count + 1, sizeof *names);
	for (size_t i = 0; i < count; i++)
		names[i] =
			(struct patch_name){.name = image.functions.items[i].name, .can_keep = 1};
	if (survey_open(&survey, argv[1], names, count, 1))
		return 2;
	const struct image_part *last = &image.parts.items[image.parts.count - 1];
	uint64_t to = (last->address + last->bytes + 0x200000) & ~(uint64_t)0xfff;
	for (size_t i = 0; i < count; i++)
		if (survey.entries[i].way == SURVEY_PATCHED)
			print(&survey, &survey.entries[i], to + i * PLAN_ENTRY_BYTES);
		else
			printf("R %s %s\n", survey.entries[i].of.name,
				survey.entries[i].plan.refused);
	survey_close(&survey);
	image_close(&image);
	free(names);
	return 0;
}
