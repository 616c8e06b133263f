/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `brick explain`. */
#include "analysis/cost/losses.h"
#include "analysis/explain/show.h"
#include "ui/text/paragraph.h"
#include "ui/text/units.h"

enum { LABEL = 11 };

/* A labelled paragraph. */
#define tell(label, ...) paragraph(terminal, LABEL, label, __VA_ARGS__)

static void print_phases(const struct explain_facts *facts, const struct terminal *terminal)
{
	char wall[UNITS_BYTES], each[UNITS_BYTES];

	for (int p = STEP_PHASES; p-- > 0;) {
		const struct explain_phase *phase = &facts->phases[p];
		if (!phase->summary)
			continue;
		uint64_t tokens = phase->tokens;
		tell(step_phase_name(p), "%llu step%s, %llu token%s, %s: %s a token",
			(unsigned long long)phase->steps, plural_s(phase->steps),
			(unsigned long long)tokens, plural_s(tokens),
			units_time(wall, phase->wall_ns),
			units_time(each, tokens ? phase->wall_ns / tokens : UINT64_MAX));
	}
}

static void print_finding(const struct explain_facts *facts, const struct finding *finding,
	size_t number, const struct terminal *terminal)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	double per_token = finding_cost_per_token_ns(facts, finding);
	char token[UNITS_BYTES], part[UNITS_BYTES], label[UNITS_BYTES];

	snprintf(label, sizeof label, "%zu %s", number, step_phase_name(finding->phase));
	putc('\n', terminal->out);
	tell(label, "%s", finding->what);
	units_time(token, per_token < 0 ? UINT64_MAX : (uint64_t)(per_token + 0.5));
	units_percent(part, (double)finding->cost_ns / (double)phase->wall_ns);
	if (finding->cost_ns)
		tell("  costs", "%s a token, %s of %s (%s)", token, part,
			step_phase_name(finding->phase),
			finding_certainty_name(finding->certainty));
	else
		tell("  costs", "nothing that could be saved in %s",
			step_phase_name(finding->phase));
	tell("  because", "%s", finding->evidence);
	tell("  try", "%s", finding->advice);
	tell("  see", "%s %s", finding->show, facts->run->path);
}

void explain_text(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	struct terminal screen, *terminal = &screen;
	struct losses losses;

	terminal_init(terminal, out);
	print_phases(facts, terminal);
	losses_of_run(&losses, facts->run, 0);
	if (losses_any(&losses))
		tell("trust", "the recording is not whole: see the ledger of 'brick report'");
	if (facts->run->off_cpu.source == OFF_CPU_UNKNOWN)
		tell("trust", "when threads were off their CPUs was not recorded: no word on it");
	else if (facts->run->off_cpu.gap_count)
		tell("trust",
			"when threads were off their CPUs was not recorded all the time, as 'brick "
			"report' says: no word on the rest");
	for (size_t i = 0; i < findings->count && (!top || i < top); i++)
		print_finding(facts, &findings->list[i], i + 1, terminal);
	if (!findings->count)
		tell("", "Nothing stands out: none of %zu causes takes 2 %% of a phase.",
			findings->rules);
}
