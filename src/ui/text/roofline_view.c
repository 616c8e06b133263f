/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the forms of `brick roofline` say of rows and ceilings alike.
 */
#include "ui/text/roofline_view.h"

#include <string.h>

#include "ui/text/text.h"

const struct ceilings *roofline_main(const struct roofline_view *view, uint32_t *threads)
{
	const struct roofline *r = view->roofline;
	const struct ceilings *can = r->ceilings;
	uint64_t most_ns = 0;

	*threads = 0;
	for (size_t i = 0; i < r->row_count; i++) {
		const struct roofline_row *like = &r->rows[i];
		uint64_t ns = 0;
		for (size_t k = 0; k < r->row_count; k++)
			if (r->rows[k].roof_threads == like->roof_threads &&
				r->rows[k].can == like->can && roofline_shows(view, &r->rows[k]))
				ns += r->rows[k].wall_ns;
		if (like->roof_threads && ns > most_ns) {
			most_ns = ns;
			*threads = like->roof_threads;
			can = like->can;
		}
	}
	return can;
}

char *roofline_roof_text(const struct roofline_row *row)
{
	if (row->roof_flops_per_ns < 0 && row->roof_bytes_per_ns < 0)
		return NULL;
	double of_peak = row->flops_per_ns / row->peak->rate.best;
	double of_bandwidth = row->bytes_per_ns / row->bandwidth->rate.best;
	if (of_bandwidth >= of_peak)
		return text_copy(row->bandwidth->level);
	return text_format("%s %s", row->peak->isa, row->peak->type);
}

const char *roofline_doubt(const struct ceilings *c, const struct run *run)
{
	if (run->cpu && *run->cpu && strcmp(c->cpu, run->cpu))
		return "the ceilings are of another CPU than the recording";
	if (run->host && *run->host && strcmp(c->host, run->host))
		return "the ceilings were measured on another host than the recording";
	if (run->cpus && run->cpus != c->cpus)
		return "the ceilings were measured with another number of CPUs";
	if (ceilings_doubtful(c))
		return "some ceilings contradict others, and are not used: measure them again on "
		       "an idle machine (brick ceilings --force)";
	if (ceilings_noisy(c))
		return "the machine was busy when the ceilings were measured";
	return NULL;
}
