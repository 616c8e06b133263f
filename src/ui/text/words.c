/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that the sentences of several rules need. */
#include "ui/text/words.h"

#include <string.h>

#include "analysis/accounts/workload.h"
#include "analysis/walk/step_index.h"
#include "base/path_name.h"
#include "ui/text/text.h"

const char *words_longest(
	char out[128], const struct explain_facts *f, const struct explain_executions *e)
{
	const struct run_site *site = e->site == RUN_NONE ? NULL : &f->run->sites[e->site];

	*out = '\0';
	if (site && site->label && *site->label)
		snprintf(out, 128, "; the longest was in %.60s (%.40s)", site->label,
			site->operation ? site->operation : "?");
	else if (site && site->operation)
		snprintf(out, 128, "; the longest was %.60s", site->operation);
	return out;
}

const char *words_label(const struct explain_facts *f, const struct explain_executions *e)
{
	const struct run_site *site = e->site == RUN_NONE ? NULL : &f->run->sites[e->site];

	return site && site->label ? site->label : "";
}

unsigned long long words_a_step(uint64_t steps, uint64_t count)
{
	return (unsigned long long)(steps ? (count + steps / 2) / steps : count);
}

void words_function(
	struct finding_words *w, const struct explain_facts *f, uint32_t brick, bool is_foreign)
{
	struct explain_function found;
	size_t length = strlen(w->evidence);
	char part[UNITS_BYTES];

	if (!explain_function_of(&found, f, brick, is_foreign))
		return;
	SCOPED char *name = function_name(found.function);
	snprintf(w->evidence + length, sizeof(w->evidence) - length,
		"; %s of %llu stacks there were in %.60s%s%.40s%s",
		units_percent(part, explain_share(found.stacks, found.all)),
		(unsigned long long)found.all, name ? name : "?",
		found.function->object ? " (" : "",
		found.function->object ? path_name(found.function->object) : "",
		found.function->object ? ")" : "");
}

uint64_t words_turns_ns(const struct explain_phase *phase, uint64_t token_ns)
{
	return token_ns / (phase->between.turn_threads ? phase->between.turn_threads : 1);
}

void words_show_step(struct finding_words *w, const struct explain_facts *f, uint32_t step)
{
	fill(show, "brick tree --step %u", step_number(f->run, &f->index, step));
}

const char *words_weights(char out[32], const struct explain_facts *f, double bits)
{
	struct workload workload;

	workload_of_run(&workload, f->run);
	if (bits > 31 || (bits > 15.5 && bits < 16.5))
		snprintf(out, 32, "%s",
			bits > 31			? "f32"
			: strstr(workload.type, "BF16") ? "bf16"
			: strstr(workload.type, "F16")	? "f16"
							: "f16 or bf16");
	else
		snprintf(out, 32, "%.1f bits", bits);
	return out;
}
