/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four lines above every view: what runs and whether it still does, engine and step, how fast
 * it is, and how far its numbers may be trusted. Called by top_draw().
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/unknown.h"
#include "ui/text/losses_text.h"
#include "ui/text/memory.h"
#include "ui/text/text_out.h"
#include "ui/text/units.h"
#include "ui/top/top.h"
#include "record/inject/attachers.h"

static void draw_title(const struct top *top, struct canvas *canvas)
{
	SCOPED char *state = xasprintf(
		"%s%s", top->held ? "held; " : "", top->about.state ? top->about.state : "");
	int used = (int)text_width(state);
	enum style style = top->about.fault ? STYLE_ALARM : top->held ? STYLE_NOTICE : STYLE_FINE;
	int x = canvas_text(canvas, 0, 0, canvas->width, STYLE_HEADING, "brick top  ");
	canvas_print(canvas, x, 0, canvas->width - x - used - 2, STYLE_NORMAL, "%s%s%s",
		top->about.what ? top->about.what : "", top->baseline ? " against " : "",
		top->baseline ? top->baseline_name : "");
	if (used < canvas->width - x)
		canvas_right(canvas, canvas->width - used, 0, used, style, state);
}

/* "ggml 0.9.4"; NULL: no engine said its version. */
static char *attached_engine(const struct run *run)
{
	for (const struct attacher *const *a = attachers; *a; a++) {
		const char *key = (*a)->version_note;
		const char *version = key ? run_note_find(run, key) : NULL;
		if (version)
			return xasprintf("%s %s", (*a)->title, version);
	}
	return NULL;
}

/* From the notes of the attachment; else what is attached. */
static char *engine(const struct run *run)
{
	const char *engine = run_note_find(run, "engine"), *backend = run_note_find(run, "backend");
	const char *attached = run_note_find(run, "attach");
	if (!run->process_count)
		return xstrdup("nothing attached");
	SCOPED char *name = attached_engine(run);
	if (!name)
		name = xstrdup(engine ? engine : attached ? attached : "libbrick inside");
	SCOPED char *text = xasprintf("%s, %s", name, backend ? backend : "cpu");
	return text_safe(text);
}

/* The innermost engine phase that is open now: "ModelLoad"; NULL: none. */
static const char *open_phase(const struct picture *p)
{
	const struct run *run = p->run;
	const char *name = NULL;
	for (size_t l = 0; p->live && l < run->lane_count; l++)
		for (size_t i = run->lanes[l].sample_count; i-- > 0;) {
			const struct run_sample *s = &run->lanes[l].samples[i];
			if (s->flags & RUN_SAMPLE_OPEN)
				name = run->bricks[run->sites[s->site].brick].name;
			if (!s->depth)
				break;
		}
	return name;
}

static char *step_text(const struct picture *p)
{
	uint64_t decode = p->exact[STEP_DECODE].count, prefill = p->exact[STEP_PREFILL].count;
	const char *open = open_phase(p);
	if (!p->live) {
		decode = p->report.summary->steps.phases[STEP_DECODE].count;
		prefill = p->report.summary->steps.phases[STEP_PREFILL].count;
	}
	if (!decode && !prefill)
		return xasprintf("no steps%s%s", open ? ", in " : "", open ? open : "");
	SCOPED char *now = open ? xasprintf(", in %s", open) : xstrdup("");
	SCOPED char *text = xasprintf("%llu prefill + %llu decode%s", (unsigned long long)prefill,
		(unsigned long long)decode, now);
	return text_safe(text);
}

/* "2 threads, 1 queue". */
static char *lanes_text(const struct run *run)
{
	size_t queues = run_queue_count(run), threads = run->lane_count - queues;
	char *text = xasprintf("%zu thread%s", threads, threads == 1 ? "" : "s");
	if (!queues)
		return text;
	char *both = xasprintf("%s, %zu queue%s", text, queues, queues == 1 ? "" : "s");
	free(text);
	return both;
}

static void draw_engine(const struct top *top, struct canvas *canvas)
{
	char phase[24] = "";
	if (top->phase != SUMMARY_ALL_PHASES)
		snprintf(phase, sizeof(phase), "[%s]", step_phase_name(top->phase));
	int width = (int)strlen(phase);
	const struct picture *p = top->picture;
	SCOPED char *name = engine(p->run), *step = step_text(p), *lanes = lanes_text(p->run);
	char took[UNITS_BYTES];
	uint64_t ns = p->run->end_ns > p->run->start_ns ? p->run->end_ns - p->run->start_ns : 0;
	canvas_print(canvas, 0, 1, canvas->width - width - (width > 0), STYLE_NORMAL,
		"%s; %s; %s; %s", name, lanes, step, units_time(took, ns));
	canvas_right(canvas, canvas->width - width, 1, width, STYLE_NORMAL, phase);
}

/* Over the run: of a recording as its report says, of a live process by exact statistics. */
static double over_run(const struct picture *p, int phase)
{
	if (!p->live)
		return report_tokens_per_s(&p->report.summary->steps.phases[phase]);
	return picture_tokens_per_s(&p->exact[phase]);
}

/* What there is place for, whole; the first stands in any case. Frees the text. */
static int draw_part(struct canvas *canvas, int x, char *text)
{
	int width = (int)text_width(text) + (x ? 2 : 0);
	if (!x || x + width <= canvas->width)
		x += canvas_print(canvas, x, 2, canvas->width - x, x ? STYLE_NORMAL : STYLE_HEADING,
			"%s%s", x ? "; " : "", text);
	free(text);
	return x;
}

static char *rate_text(const struct top *top)
{
	const struct picture *p = top->picture;
	char over[UNITS_BYTES], now[UNITS_BYTES];
	units_number(over, over_run(p, STEP_DECODE));
	if (!p->live)
		return xasprintf("%s tokens/s over the run", over);
	units_number(now, history_tokens_per_s(&top->history, STEP_DECODE));
	return xasprintf("%s tokens/s now, %s over the run", now, over);
}

/* The p99 is known once there are 100. */
static char *steps_text(const struct picture *p)
{
	char p50[UNITS_BYTES], p99[UNITS_BYTES];
	uint64_t p99_ns = picture_step_percentile(p, STEP_DECODE, 99);
	units_time(p50, picture_step_percentile(p, STEP_DECODE, 50));
	units_time(p99, p99_ns);
	if (p99_ns == ANALYSIS_UNKNOWN)
		return xasprintf("step p50 %s", p50);
	return xasprintf("step p50 %s p99 %s", p50, p99);
}

static void draw_speed(const struct top *top, struct canvas *canvas)
{
	const struct picture *p = top->picture;
	const struct step_times *steps = &p->report.summary->steps;
	char prefill[UNITS_BYTES], first[UNITS_BYTES];
	int x = draw_part(canvas, 0, rate_text(top));
	x = draw_part(canvas, x, steps_text(p));
	x = draw_part(canvas, x, xasprintf("first token %s", units_time(first, steps->ttft_ns)));
	draw_part(canvas, x,
		xasprintf("prefill %s", units_number(prefill, over_run(p, STEP_PREFILL))));
}

static char *losses_text(const struct losses *losses)
{
	char *text = xstrdup(losses->incomplete ? "not finished" : "");
	uint64_t count;
	char what[LOSS_BYTES];
	for (size_t k = 0; losses_describe(losses, k, &count, what); k++) {
		char number[UNITS_BYTES];
		xappend(&text, ", ", "%s %s", units_count(number, count), what);
	}
	return text;
}

static void draw_trust(const struct top *top, struct canvas *canvas)
{
	const struct picture *p = top->picture;
	const struct summary *summary = p->report.summary;
	const struct distortion *d = &p->report.distortion;
	char coverage[UNITS_BYTES], samples[UNITS_BYTES];
	SCOPED char *losses = losses_text(&p->report.losses);
	int x = canvas_print(canvas, 0, 3, canvas->width, STYLE_NORMAL, "Coverage %s; distortion ",
		units_percent(coverage, summary->wall_ns ? summary->coverage : -1));
	if (d->share >= 0)
		x += canvas_print(
			canvas, x, 3, canvas->width - x, STYLE_NORMAL, "%.2f%%; ", 100 * d->share);
	else
		x += canvas_print(canvas, x, 3, canvas->width - x, STYLE_NORMAL, "-; ");
	if (p->live)
		x += canvas_print(canvas, x, 3, canvas->width - x, STYLE_NORMAL, "%s samples/s; ",
			history_samples_per_s(&top->history) < 0
				? "-"
				: units_count(
					  samples, (uint64_t)history_samples_per_s(&top->history)));
	canvas_print(canvas, x, 3, canvas->width - x, *losses ? STYLE_ALARM : STYLE_NORMAL, "%s",
		*losses ? losses : "nothing lost");
}

void top_draw_header(struct top *top, struct canvas *canvas)
{
	draw_title(top, canvas);
	if (!top->picture)
		return;
	draw_engine(top, canvas);
	draw_speed(top, canvas);
	if (top->about.fault)
		canvas_print(canvas, 0, 3, canvas->width, STYLE_ALARM, "%s", top->about.fault);
	else
		draw_trust(top, canvas);
}
