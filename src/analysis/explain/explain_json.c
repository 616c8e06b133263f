/* SPDX-License-Identifier: Apache-2.0 */
/* Called by `brick explain --json`; what costs least is left out until the rest fits. */
#include <stdlib.h>
#include "analysis/explain/show.h"
#include "ui/text/json_out.h"

static json_t *phase_json(const struct explain_phase *phase, int p)
{
	json_t *object = json_object();

	json_put(object, "phase", json_text(step_phase_name(p)));
	json_put_numbers(object, phase, steps, tokens, wall_ns);
	return object;
}

static json_t *finding_json(const struct explain_facts *facts, const struct finding *finding)
{
	const struct explain_phase *phase = &facts->phases[finding->phase];
	json_t *object = json_object();

	json_put(object, "rule", json_text(finding->rule));
	json_put(object, "phase", json_text(step_phase_name(finding->phase)));
	json_put(object, "what", json_text(finding->what));
	json_put(object, "cost_ns", json_number(finding->cost_ns));
	json_put(object, "cost_per_token_ns", json_rate(finding_cost_per_token_ns(facts, finding)));
	json_put(object, "share", json_rate((double)finding->cost_ns / (double)phase->wall_ns));
	json_put(object, "certainty", json_text(finding_certainty_name(finding->certainty)));
	json_put(object, "evidence", json_text(finding->evidence));
	json_put(object, "try", json_text(finding->advice));
	json_put(object, "see", json_text(finding->show));
	return object;
}

static json_t *answer(
	const struct explain_facts *facts, const struct findings *findings, size_t shown)
{
	json_t *root = json_object(), *phases = json_array(), *list = json_array();

	json_put(root, "schema", json_text("brick/explain/1"));
	json_put(root, "rules", json_number(findings->rules));
	json_put(root, "off_cpu_known",
		json_boolean(run_off_cpu_is_known(facts->run, 0, UINT64_MAX)));
	for (int p = 0; p < STEP_WARM_UP; p++)
		if (facts->phases[p].summary)
			json_add(phases, phase_json(&facts->phases[p], p));
	json_put(root, "phases", phases);
	for (size_t i = 0; i < shown; i++)
		json_add(list, finding_json(facts, &findings->list[i]));
	json_put(root, "findings", list);
	json_put(root, "left_out", json_number(findings->count - shown));
	return root;
}

static size_t printed_bytes(const json_t *root)
{
	SCOPED char *text = json_dumps(root, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	size_t bytes = 0;

	while (text && text[bytes])
		bytes++;
	return bytes + 1;
}

void explain_json(
	const struct explain_facts *facts, const struct findings *findings, size_t top, FILE *out)
{
	size_t shown = top && top < findings->count ? top : findings->count;
	json_t *root = answer(facts, findings, shown);

	while (shown && printed_bytes(root) > EXPLAIN_JSON_BYTES) {
		json_decref(root);
		root = answer(facts, findings, --shown);
	}
	json_print(root, out);
}
