/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that outlives pictures; the header, tabs, help and foot around a view; and the keys.
 * Movement and searching are the same in all views. A view's own `key` function comes first.
 */
#include "ui/top/top.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/number.h"
#include "trace/owners.h"
#include "ui/text/provenance.h"
#include "ui/text/trust_text.h"
#include "ui/text/text.h"

enum { HEADER_LINES = 5 };

const struct view_class *const top_views[TOP_VIEWS] = {
	&view_bricks,
	&view_categories,
	&view_layers,
	&view_threads,
	&view_queues,
	&view_tree,
	&view_path,
	&view_losses,
	&view_output,
	&view_requests,
};

void top_init(struct top *top, bool utf8)
{
	memset(top, 0, sizeof(*top));
	top->utf8 = utf8;
	top->phase = SUMMARY_ALL_PHASES;
	top->interval_s = 1;
	top->tree.open_depth = 2;
}

void top_fini(struct top *top)
{
	picture_destroy(top->picture);
	picture_destroy(top->baseline);
	history_clear(&top->history);
	free(top->baseline_name);
	top->picture = NULL;
}

int top_phase_of(struct top *top, const struct run *run)
{
	if (!top->follows_phase)
		return top->phase;
	int place = STEP_PHASES;
	for (size_t i = 0; i < run->step_count && place; i++)
		for (int k = 0; k < place; k++)
			if (step_phase_order[k] == step_phase_of(&run->steps[i]))
				place = k;
	top->phase = place < STEP_PHASES ? (int)step_phase_order[place] : SUMMARY_ALL_PHASES;
	return top->phase;
}

void top_baseline_set(struct top *top, struct picture *baseline, char *name)
{
	top->baseline = baseline;
	top->baseline_name = name;
	if (picture_phase_set(baseline, top->phase) < 0) {
		picture_destroy(baseline);
		top->baseline = NULL;
	}
}

void top_picture_set(struct top *top, struct picture *picture)
{
	picture_destroy(top->picture);
	top->picture = picture;
	if (picture && top->baseline && top->baseline->phase != picture->phase)
		top_baseline_set(top, top->baseline, top->baseline_name);
	if (picture && picture->live)
		history_add(&top->history, picture);
}

/* Look at another phase. Without memory there is no picture any more. */
static void top_phase_set(struct top *top, int phase)
{
	top->follows_phase = false;
	top->phase = phase;
	if (!top->picture)
		return;
	if (picture_phase_set(top->picture, phase) < 0) {
		picture_destroy(top->picture);
		top->picture = NULL;
		return;
	}
	if (top->baseline)
		top_baseline_set(top, top->baseline, top->baseline_name);
	if (top->picture->live)
		history_clear_bricks(&top->history);
}

int top_view_find(const char *name)
{
	int found = -1;
	for (int i = 0; i < TOP_VIEWS; i++) {
		if (!strcmp(top_views[i]->name, name))
			return i;
		if (!strncmp(top_views[i]->name, name, strlen(name)))
			found = found == -1 ? i : -2;
	}
	return found < 0 ? -1 : found;
}

/* The header: program, engine and step, speed, and how far to trust it. */

static void draw_title(const struct top *top, struct canvas *canvas)
{
	SCOPED char *state = text_format(
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

/* The engine by the notes of the attachment; else the attached library. */
static char *engine(const struct run *run)
{
	const char *backend = run_note_find(run, "backend");
	if (!run->process_count)
		return text_copy("nothing attached");
	SCOPED char *name = provenance_engine(run);
	SCOPED char *text = text_format("%s, %s", name, backend ? backend : "cpu");
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

static uint64_t steps_of(const struct picture *p, int phase)
{
	return p->live ? p->exact[phase].count : p->report.summary->steps.phases[phase].count;
}

static char *step_text(const struct picture *p)
{
	uint64_t decode = steps_of(p, STEP_DECODE), prefill = steps_of(p, STEP_PREFILL),
		 other = steps_of(p, STEP_OTHER);
	const char *open = open_phase(p);
	if (!decode && !prefill && !other)
		return text_format("no steps%s%s", open ? ", in " : "", open ? open : "");
	SCOPED char *text =
		!decode && !prefill
			? text_format("%llu step%s%s%s", (unsigned long long)other, plural_s(other),
				  open ? ", in " : "", open ? open : "")
			: text_format("%llu prefill + %llu decode%s%s", (unsigned long long)prefill,
				  (unsigned long long)decode, open ? ", in " : "",
				  open ? open : "");
	return text_safe(text);
}

/* "2 processes, 4 threads, 1 queue". */
static char *lanes_text(const struct run *run)
{
	size_t queues = run_queue_count(run), threads = run_thread_count(run);
	char *text = NULL;
	if (run->process_count > 1)
		text_append(&text, ", ", "%zu processes", run->process_count);
	text_append(&text, ", ", "%zu thread%s", threads, threads == 1 ? "" : "s");
	if (queues)
		text_append(&text, ", ", "%zu queue%s", queues, queues == 1 ? "" : "s");
	return text;
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

/* Draws a fact if there is room for all of it; the first stands in any case. */
static int draw_fact(struct canvas *canvas, int x, int y, const char *text)
{
	int width = (int)text_width(text) + (x ? 2 : 0);
	if (!x || x + width <= canvas->width)
		x += canvas_print(canvas, x, y, canvas->width - x, x ? STYLE_NORMAL : STYLE_HEADING,
			"%s%s", x ? "; " : "", text);
	return x;
}

/* Draws a part of the speed; frees the text. */
static int draw_part(struct canvas *canvas, int x, char *text)
{
	x = draw_fact(canvas, x, 2, text);
	free(text);
	return x;
}

static char *top_rate_text(const struct top *top, int phase)
{
	const struct picture *p = top->picture;
	char over[UNITS_BYTES], now[UNITS_BYTES];
	units_number(over, over_run(p, phase));
	if (!p->live)
		return text_format("%s tokens/s", over);
	units_number(now, history_tokens_per_s(&top->history, phase));
	return text_format("%s tokens/s now, %s over the run", now, over);
}

/* The p99 is known once there are 100. The tokens/s of a recording come from the mean. */
static char *top_steps_text(const struct picture *p, int phase)
{
	const struct step_phase_times *times = &p->report.summary->steps.phases[phase];
	char mean[UNITS_BYTES], p50[UNITS_BYTES], p99[UNITS_BYTES];
	uint64_t p99_ns = picture_step_percentile(p, phase, 99);
	char *text = text_copy("step");

	if (!p->live)
		text_append(&text, " ", "mean %s", units_time(mean, step_mean_ns(times)));
	text_append(&text, " ", "p50 %s", units_time(p50, picture_step_percentile(p, phase, 50)));
	if (p99_ns != ANALYSIS_UNKNOWN)
		text_append(&text, " ", "p99 %s", units_time(p99, p99_ns));
	return text;
}

static void draw_speed(const struct top *top, struct canvas *canvas)
{
	const struct picture *p = top->picture;
	const struct step_times *steps = &p->report.summary->steps;
	char prefill[UNITS_BYTES], first[UNITS_BYTES];
	/* without decoding, the speed is that of the steps of no known phase */
	if (!steps_of(p, STEP_DECODE) && !steps_of(p, STEP_PREFILL) && steps_of(p, STEP_OTHER)) {
		int next = 0;
		if (steps->phases[STEP_OTHER].tokens)
			next = draw_part(canvas, 0, top_rate_text(top, STEP_OTHER));
		draw_part(canvas, next, top_steps_text(p, STEP_OTHER));
		return;
	}
	int x = draw_part(canvas, 0, top_rate_text(top, STEP_DECODE));
	x = draw_part(canvas, x, top_steps_text(p, STEP_DECODE));
	x = draw_part(canvas, x, text_format("first token %s", units_time(first, steps->ttft_ns)));
	draw_part(canvas, x,
		text_format("prefill %s", units_number(prefill, over_run(p, STEP_PREFILL))));
}

static char *top_losses_text(const struct losses *losses)
{
	char *text = losses->incomplete ? text_copy("not finished") : NULL;
	uint64_t count;
	char what[LOSS_BYTES];
	for (size_t k = 0; losses_describe(losses, k, &count, what); k++) {
		char number[UNITS_BYTES];
		text_append(&text, ", ", "%s %s", units_count(number, count), what);
	}
	return text;
}

/* "; preempted 81.2%; others 83.8%" always has room: the text before it is cut. */
enum { MUST_SEE = 34 };

static int draw_losses(const struct picture *p, struct canvas *canvas)
{
	SCOPED char *losses = top_losses_text(&p->report.losses);
	int room = canvas->width > MUST_SEE + 10 ? canvas->width - MUST_SEE : canvas->width / 2;
	SCOPED char *cut = text_cut(losses ? losses : "no records lost", (size_t)room);

	return canvas_text(canvas, 0, 3, room, losses ? STYLE_ALARM : STYLE_NORMAL, cut);
}

/* "; preempted 81.2%": behind the text that is there, if it fits whole. */
static int draw_share(struct canvas *canvas, int x, const char *name, double share, double most)
{
	char percent[UNITS_BYTES];
	SCOPED char *text = text_format("; %s %s", name, units_percent(percent, share));
	int width = (int)text_width(text);

	if (x + width > canvas->width)
		return x;
	return x +
	       canvas_text(canvas, x, 3, width, share > most ? STYLE_ALARM : STYLE_NORMAL, text);
}

/* The reason where there is room for it. */
static char *distortion_fact(const struct distortion *d, int room)
{
	const char *obstacle = distortion_obstacle(d);
	char *why = obstacle ? text_format("distortion unknown: %s", obstacle) : NULL;

	if (why && (int)text_width(why) + 2 <= room)
		return why;
	free(why);
	if (d->share < 0)
		return text_copy("distortion -");
	if (distortion_is_hidden(d))
		return text_copy("distortion not measurable");
	return text_format("distortion %.2f%%", 100 * d->share);
}

/* The largest distortion stands first, as the line's end may have no room. */
static void draw_trust(const struct top *top, struct canvas *canvas)
{
	const struct picture *p = top->picture;
	const struct presence *presence = &p->report.presence;
	const struct summary *summary = p->report.summary;
	char samples[UNITS_BYTES];
	int x = draw_losses(p, canvas);

	/* of a live process only the scheduler's sums are known */
	bool is_queued = presence->preempted < 0 && presence->queued >= 0;
	x = draw_share(canvas, x, is_queued ? "queued" : "preempted",
		is_queued ? presence->queued : presence->preempted, TRUST_MAX_PREEMPTED);
	x = draw_share(canvas, x, "others", presence->others, TRUST_MAX_OTHERS);
	x = draw_share(canvas, x, "covered", summary->wall_ns ? summary->coverage : -1, 1);
	SCOPED char *distortion = distortion_fact(&p->report.distortion, canvas->width - x);
	x = draw_fact(canvas, x, 3, distortion);
	if (!p->live || history_samples_per_s(&top->history) < 0)
		return;
	units_count(samples, number_of_double(history_samples_per_s(&top->history)));
	SCOPED char *rate = text_format("%s samples/s", samples);
	draw_fact(canvas, x, 3, rate);
}

static void draw_header(struct top *top, struct canvas *canvas)
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

/* Help, tabs and foot. */

static const char *const help_lines[] = {
	"1-8 0 R, Tab, arrows, h l     other view        p  all phases, decode, ...",
	"up down PgUp PgDn g G, j k    move              Enter  more of the row",
	"/  search   n N  next, previous                 s  sort by the next column",
	"Space  hold the picture                         S  the other way round",
	"+ -  faster, slower                             r  count from now on (live)",
	"?  this help                                    q  quit",
	"",
	"Tree:   Enter, right, l: open   left, h: close   e: open all   c: close all",
	"Layers: < and > move the columns",
	"",
	"Times are of the thread that runs the steps (SHARE, /TOKEN) or of all threads.",
	"In a live process SHARE, the tree, layers and threads are of its last moments;",
	"counts, times and percentiles are exact since its start, or since r. AVG, P50, P99 and",
	"rates are of the time on the CPU where the details (Enter) say BASIS cpu.",
	"",
	"Any key goes back.",
};

static void draw_help(struct canvas *canvas, int y, int height)
{
	for (int i = 0; i < (int)(sizeof(help_lines) / sizeof(help_lines[0])) && i < height; i++)
		canvas_text(canvas, 1, y + i, canvas->width - 2, STYLE_NORMAL, help_lines[i]);
}

static bool is_shown(struct top *top, int view)
{
	const struct view_class *v = top_views[view];

	return (!v->is_log || top->about.log) && (!v->is_there || v->is_there(top));
}

/* The key of a view; it stands in front of its title. */
static int top_key_of(int view)
{
	return top_views[view] == &view_output	   ? '0'
	       : top_views[view] == &view_requests ? 'R'
						   : '1' + view;
}

/* Forms of the tabs, from the widest to the narrowest. */
enum tabs_form { TABS_WIDE, TABS_CLOSE, TABS_NUMBERS };

/* Columns of a tab: its number, the space around the title, and the title if there is one. */
static int tab_width(struct top *top, int view, enum tabs_form form)
{
	int title = (int)strlen(top_views[view]->title);
	if (view == top->view)
		return 1 + 2 + title;
	return form == TABS_WIDE ? 1 + 1 + title : form == TABS_CLOSE ? 1 + title : 1;
}

/* Titles are whole or not there. */
static enum tabs_form tabs_form(struct top *top, int width)
{
	for (enum tabs_form form = TABS_WIDE; form < TABS_NUMBERS; form++) {
		int total = -1; /* a blank between two of them */
		for (int i = 0; i < TOP_VIEWS; i++)
			total += is_shown(top, i) ? 1 + tab_width(top, i, form) : 0;
		if (total <= width)
			return form;
	}
	return TABS_NUMBERS;
}

static void draw_tabs(struct top *top, struct canvas *canvas, int y)
{
	enum tabs_form form = tabs_form(top, canvas->width);
	for (int i = 0, x = 0; i < TOP_VIEWS; i++) {
		bool here = i == top->view;
		const char *title = here || form != TABS_NUMBERS ? top_views[i]->title : "";
		if (!is_shown(top, i))
			continue;
		x += canvas_print(
			canvas, x, y, canvas->width - x, STYLE_HEADING, "%c", top_key_of(i));
		x += canvas_print(canvas, x, y, canvas->width - x,
			here ? STYLE_SELECTED : STYLE_NORMAL,
			here		    ? "[%s]"
			: form == TABS_WIDE ? " %s"
					    : "%s",
			title);
		x++;
	}
}

static void draw_foot(const struct top *top, struct canvas *canvas, int y)
{
	int x = 0;
	canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL, "%*s", canvas->width, "");
	if (top->mode == TOP_SEARCH) {
		canvas_print(canvas, 0, y, canvas->width, STYLE_NORMAL, "/%s%s", top->search,
			top->message);
		return;
	}
	if (top->mode == TOP_ASK_QUIT) {
		canvas_text(canvas, 0, y, canvas->width, STYLE_ALARM,
			"The program is running. End it? y: yes, any other key: no");
		return;
	}
	if (top->message[0]) {
		canvas_print(canvas, 0, y, canvas->width, STYLE_NOTICE, "%s", top->message);
		return;
	}
	static const char *const keys[][2] = {{"?", "help"}, {"Tab", "view"}, {"/", "find"},
		{"s", "sort"}, {"p", "phase"}, {"Space", "hold"}, {"+-", "rate"}, {"r", "reset"},
		{"q", "quit"}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (x + (int)(strlen(keys[i][0]) + strlen(keys[i][1])) + 1 > canvas->width)
			break;
		x += canvas_text(canvas, x, y, canvas->width - x, STYLE_HEADING, keys[i][0]);
		x += 2 +
		     canvas_print(canvas, x, y, canvas->width - x, STYLE_FAINT, " %s", keys[i][1]);
	}
}

void top_draw(struct top *top, struct canvas *canvas)
{
	int y = HEADER_LINES, height = canvas->height - HEADER_LINES - 2;
	const struct view_class *view = top_views[top->view];
	top->width = canvas->width;
	top->height = canvas->height;
	if (top->mode == TOP_ASK_QUIT && top->about.over) /* nothing is left to end */
		top->mode = TOP_BROWSE;
	draw_header(top, canvas);
	draw_tabs(top, canvas, y - 1);
	if (height < 2)
		canvas_text(canvas, 0, y, canvas->width, STYLE_NOTICE, "(too low a window)");
	else if (top->mode == TOP_HELP)
		draw_help(canvas, y, height + 1);
	else if (!top->picture && !view->is_log)
		view_draw_nothing(canvas, y,
			top->about.fault  ? top->about.fault
			: top->about.over ? "Nothing was recorded."
					  : "Nothing has been recorded yet; waiting.");
	else if (top->mode == TOP_DETAIL && view->detail)
		view->detail(top, canvas, y, height + 1);
	else if (view->text)
		view_draw_text(view, top, canvas, y, height + 1);
	else if (view->draw)
		view->draw(top, canvas, y, height + 1);
	else
		view_draw_table(view, top, canvas, y, height + 1);
	draw_foot(top, canvas, canvas->height - 1);
}

/* Keys. */

static const double rates_s[] = {0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60};
enum { RATES = sizeof(rates_s) / sizeof(rates_s[0]) };

static void top_say(struct top *top, const char *text)
{
	snprintf(top->message, sizeof(top->message), "%s", text);
}

/* The name of the selected row, by which it is found again in the next picture. */
static void keep_name(struct top *top)
{
	const struct view_class *view = top_views[top->view];
	struct grid_place *place = top_place(top);
	place->name[0] = '\0';
	if (!view->make || place->selected >= view_rows(top_views[top->view], top))
		return;
	SCOPED char *text = view_row_text(top_views[top->view], top, place->selected);
	snprintf(place->name, sizeof(place->name), "%s", text ? text : "");
}

static void move_to(struct top *top, int row)
{
	struct grid_place *place = top_place(top);
	int rows = view_rows(top_views[top->view], top);
	place->selected = row >= rows ? rows - 1 : row;
	if (place->selected < 0)
		place->selected = 0;
	keep_name(top);
}

static void change_rate(struct top *top, int by)
{
	int i = 0;
	while (i + 1 < RATES && rates_s[i] < top->interval_s - 1e-9)
		i++;
	i -= by; /* faster is a shorter interval */
	top->interval_s = rates_s[i < 0 ? 0 : i >= RATES ? RATES - 1 : i];
	snprintf(top->message, sizeof(top->message), "Every %g s", top->interval_s);
}

static void show_view(struct top *top, int view)
{
	if (!is_shown(top, view)) {
		top_say(top, top_views[view]->is_log
				     ? "There is no output to show: the program was "
				       "not started from here."
				     : "No step says whose tokens it evaluates.");
		return;
	}
	top->view = view;
	top->mode = TOP_BROWSE;
}

static void next_view(struct top *top, int by)
{
	int view = top->view;
	do
		view = (view + by + TOP_VIEWS) % TOP_VIEWS;
	while (!is_shown(top, view));
	show_view(top, view);
}

static void next_phase(struct top *top, int unused)
{
	int last = top->picture && steps_of(top->picture, STEP_OTHER) ? STEP_OTHER
								      : SUMMARY_ALL_PHASES;
	int next[] = {[STEP_DECODE] = STEP_PREFILL,
		[STEP_PREFILL] = last,
		[STEP_MIXED] = last,
		[STEP_OTHER] = SUMMARY_ALL_PHASES,
		[STEP_WARM_UP] = SUMMARY_ALL_PHASES};
	static const char *const names[] = {"Steps of all phases", "Prefill only", "Decode only",
		"Mixed only", "Warm-up only", "Steps of no known phase only"};
	top_phase_set(top, top->phase == SUMMARY_ALL_PHASES ? STEP_DECODE : next[top->phase]);
	top_say(top, names[top->phase - SUMMARY_ALL_PHASES]);
}

static void sort_next(struct top *top, int unused)
{
	const struct view_class *view = top_views[top->view];
	struct grid_place *place = top_place(top);
	struct grid grid;
	if (!view->make || !top->picture) {
		top_say(top, "This view has an order of its own.");
		return;
	}
	view->make(&grid, top);
	grid_sort_next(&grid, place, top->width);
	if (place->sort)
		snprintf(top->message, sizeof(top->message),
			"Sorted by %s (S: the other way round)", grid.columns[place->sort].title);
	else
		top_say(top, "In the order of the report");
	grid_fini(&grid);
}

/* Searching. */

/* The next row from `from` on that holds the text, in the direction; wraps around. */
static bool search_from(struct top *top, int from, int direction)
{
	int rows = view_rows(top_views[top->view], top);
	for (int i = 0; i < rows; i++) {
		int row = ((from + direction * i) % rows + rows) % rows;
		SCOPED char *text = view_row_text(top_views[top->view], top, row);
		if (text && strcasestr(text, top->search)) {
			move_to(top, row);
			return true;
		}
	}
	return false;
}

static void search_again(struct top *top, int direction)
{
	if (!top->search[0])
		top_say(top, "Nothing was searched for yet: press /");
	else if (!search_from(top, top_place(top)->selected + direction, direction))
		snprintf(top->message, sizeof(top->message), "There is no '%s' here.", top->search);
}

static void search_key(struct top *top, int key)
{
	size_t n = strlen(top->search);
	if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE) {
		top->mode = TOP_BROWSE;
		if (key == TOP_KEY_ESCAPE)
			move_to(top, top->search_origin);
		return;
	}
	if (key == TOP_KEY_BACKSPACE && n)
		top->search[n - 1] = '\0';
	else if (key >= 0x20 && key < 0x7f && n + 1 < sizeof(top->search)) {
		top->search[n] = (char)key;
		top->search[n + 1] = '\0';
	}
	if (!top->search[0] || !search_from(top, top->search_origin, 1)) {
		move_to(top, top->search_origin);
		top_say(top, top->search[0] ? "   (not found)" : "");
	}
}

/* Browsing. */

static bool move_key(struct top *top, int key)
{
	struct grid_place *place = top_place(top);
	int page = top->height - HEADER_LINES - 3;
	if (page < 1)
		page = 1;
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		move_to(top, place->selected - 1);
		return true;
	case TOP_KEY_DOWN:
	case 'j':
		move_to(top, place->selected + 1);
		return true;
	case TOP_KEY_PAGE_UP:
		move_to(top, place->selected - page);
		return true;
	case TOP_KEY_PAGE_DOWN:
		move_to(top, place->selected + page);
		return true;
	case TOP_KEY_HOME:
	case 'g':
		move_to(top, 0);
		return true;
	case TOP_KEY_END:
	case 'G':
		move_to(top, INT32_MAX);
		return true;
	}
	return false;
}

static void ask_quit(struct top *top, int unused)
{
	top->mode = TOP_ASK_QUIT;
}

static void show_help(struct top *top, int unused)
{
	top->mode = TOP_HELP;
}

static void top_search(struct top *top, int unused)
{
	top->mode = TOP_SEARCH;
	top->search[0] = '\0';
	top->search_origin = top_place(top)->selected;
}

static void sort_other_way(struct top *top, int unused)
{
	struct grid_place *place = top_place(top);
	if (place->sort)
		place->sort = -1 - place->sort;
}

static void top_hold(struct top *top, int unused)
{
	top->held = !top->held;
	top_say(top, top->held ? "Held; Space goes on" : "Goes on");
}

static void top_enter(struct top *top, int unused)
{
	if (top_views[top->view]->detail && view_rows(top_views[top->view], top) > 0) {
		memset(&top->detail_place, 0, sizeof(top->detail_place));
		top->mode = TOP_DETAIL;
	}
}

enum { KEY_F1 = 'h' + 0x100000 };

static const struct {
	int key;
	void (*act)(struct top *top, int by);
	int by;
} bindings[] = {
	{'q', ask_quit, 0},
	{'?', show_help, 0},
	{KEY_F1, show_help, 0},
	{TOP_KEY_TAB, next_view, 1},
	{TOP_KEY_RIGHT, next_view, 1},
	{'l', next_view, 1},
	{TOP_KEY_BACK_TAB, next_view, -1},
	{TOP_KEY_LEFT, next_view, -1},
	{'h', next_view, -1},
	{'/', top_search, 0},
	{'n', search_again, 1},
	{'N', search_again, -1},
	{'s', sort_next, 0},
	{'S', sort_other_way, 0},
	{'p', next_phase, 0},
	{' ', top_hold, 0},
	{'+', change_rate, 1},
	{'=', change_rate, 1},
	{'-', change_rate, -1},
	{TOP_KEY_ENTER, top_enter, 0},
};

static enum top_action browse_key(struct top *top, int key)
{
	if (key == 'r')
		return TOP_RESET;
	if (key == 'q' && !top->about.running)
		return TOP_QUIT;
	for (size_t i = 0; i < sizeof(bindings) / sizeof(bindings[0]); i++)
		if (bindings[i].key == key)
			bindings[i].act(top, bindings[i].by);
	for (int i = 0; i < TOP_VIEWS; i++)
		if (key == top_key_of(i))
			show_view(top, i);
	return TOP_STAY;
}

enum top_action top_key(struct top *top, int key)
{
	const struct view_class *view = top_views[top->view];
	top->message[0] = '\0';
	if (key == TOP_KEY_RESIZE || key == TOP_KEY_NONE)
		return TOP_STAY;
	if (top->mode == TOP_SEARCH) {
		search_key(top, key);
		return TOP_STAY;
	}
	if (top->mode == TOP_ASK_QUIT) {
		top->mode = TOP_BROWSE;
		return key == 'y' || key == 'Y' ? TOP_QUIT : TOP_STAY;
	}
	if (top->mode == TOP_HELP || top->mode == TOP_DETAIL) {
		bool moved = top->mode == TOP_DETAIL && move_key(top, key);
		if (!moved && key != ' ')
			top->mode = TOP_BROWSE;
		if (moved || key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE || key == 'q' ||
			key == '?')
			return TOP_STAY;
	}
	if (top->picture && view->key && view->key(top, key)) {
		keep_name(top);
		return TOP_STAY;
	}
	return move_key(top, key) ? TOP_STAY : browse_key(top, key);
}
