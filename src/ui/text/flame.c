/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks with their own times: as folded text, as a picture, and as a profile for pprof. */
#include "ui/text/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/fnv.h"
#include "base/order.h"
#include "base/scope.h"
#include "base/pb_write.h"
#include "ui/text/json_out.h"
#include "ui/text/text.h"
#include "ui/text/tree_rows.h"

/* Its counts are of stacks then, and its times are CPU time that these stand for. */
static bool is_of_functions(const struct call_tree *stacks)
{
	return stacks->count > 1 && stacks->nodes[1].kind == CALL_THREAD;
}

/* The parts of a line stand apart by ';'. */
static char *folded_name(const struct call_tree *stacks, const struct call_node *node)
{
	SCOPED char *name = tree_name(stacks, node);
	char *safe = text_safe(name);
	for (char *c = safe; *c; c++)
		if (*c == ';')
			*c = ',';
	return safe;
}

static void flame_fold(
	const struct call_tree *stacks, const struct call_node *node, const char *above, FILE *out)
{
	if (node->self_ns)
		fprintf(out, "%s %llu\n", above, (unsigned long long)node->self_ns);
	for (uint32_t i = node->first; i != RUN_NONE; i = stacks->nodes[i].next) {
		SCOPED char *name = folded_name(stacks, &stacks->nodes[i]);
		SCOPED char *stack = text_format("%s%s%s", above, *above ? ";" : "", name);
		flame_fold(stacks, &stacks->nodes[i], stack, out);
	}
}

int flame_folded(const struct call_tree *stacks, FILE *out)
{
	flame_fold(stacks, &stacks->nodes[0], "", out);
	return 0;
}

/* Number of a frame by name: frames of one name are one. */
static json_t *frame_number(json_t *frames, json_t *numbers, const char *name)
{
	json_t *number = json_object_get(numbers, name);
	if (!number) {
		json_t *frame = json_object();
		json_put(frame, "name", json_text(name));
		number = json_number(json_array_size(frames));
		json_add(frames, frame);
		json_put(numbers, name, number);
	}
	return json_incref(number);
}

struct speedscope {
	const struct call_tree *stacks;
	json_t *frames, *numbers, *samples, *weights;
};

static void flame_add_samples(struct speedscope *s, const struct call_node *node, json_t *stack)
{
	if (node->self_ns) {
		json_add(s->samples, json_copy(stack));
		json_add(s->weights, json_number(node->self_ns));
	}
	for (uint32_t i = node->first; i != RUN_NONE; i = s->stacks->nodes[i].next) {
		SCOPED char *name = tree_name(s->stacks, &s->stacks->nodes[i]),
			    *safe = text_safe(name);
		json_add(stack, frame_number(s->frames, s->numbers, safe));
		flame_add_samples(s, &s->stacks->nodes[i], stack);
		json_array_remove(stack, json_array_size(stack) - 1);
	}
}

int flame_speedscope(const struct call_tree *stacks, FILE *out)
{
	struct speedscope s = {stacks, json_array(), json_object(), json_array(), json_array()};
	json_t *root = json_object(), *profile = json_object(), *shared = json_object();
	json_t *stack = json_array(), *profiles = json_array();
	flame_add_samples(&s, &stacks->nodes[0], stack);
	json_put(profile, "type", json_text("sampled"));
	json_put(profile, "name", json_text(stacks->run->path));
	json_put(profile, "unit", json_text("nanoseconds"));
	json_put(profile, "startValue", json_number(0));
	json_put(profile, "endValue", json_number(stacks->nodes[0].time_ns));
	json_put(profile, "samples", s.samples);
	json_put(profile, "weights", s.weights);
	json_add(profiles, profile);
	json_put(shared, "frames", s.frames);
	json_put(root, "$schema", json_text("https://www.speedscope.app/file-format-schema.json"));
	json_put(root, "exporter", json_text("brick"));
	json_put(root, "shared", shared);
	json_put(root, "profiles", profiles);
	json_decref(stack);
	json_decref(s.numbers);
	json_print(root, out);
	return 0;
}

enum { WIDTH = 1200, MARGIN = 10, ROW = 18, HEAD = 44, LETTER = 7 };

#define MIN_WIDTH 0.2

struct picture {
	const struct call_tree *stacks;
	double per_ns;
	FILE *out;
};

static unsigned depth_of(const struct picture *p, const struct call_node *node)
{
	unsigned deepest = 0;
	for (uint32_t i = node->first; i != RUN_NONE; i = p->stacks->nodes[i].next) {
		const struct call_node *below = &p->stacks->nodes[i];
		unsigned depth =
			(double)below->time_ns * p->per_ns < MIN_WIDTH ? 0 : 1 + depth_of(p, below);
		deepest = depth > deepest ? depth : deepest;
	}
	return deepest;
}

/* Degrees of the colour wheel, by category. */
static unsigned hue_of(const struct picture *p, const struct call_node *node)
{
	const struct run *run = p->stacks->run;
	const char *text = "";
	if (node->kind == CALL_FUNCTION && run->functions[node->site].object)
		text = run->functions[node->site].object;
	if (node->brick != RUN_NONE)
		text = run->categories[run->bricks[node->brick].category].name;
	return (unsigned)(fnv1a(text, strlen(text)) % 12) * 30;
}

static const char *flame_class_of(const struct call_node *node)
{
	return node->kind == CALL_BRICK || node->kind == CALL_KERNEL || node->kind == CALL_FUNCTION
		       ? "brick"
	       : call_node_is_between(node) ? "wait"
					    : "place";
}

static void print_box(
	const struct picture *p, const struct call_node *node, double x, double y, double width)
{
	char time[UNITS_BYTES], share[UNITS_BYTES], count[UNITS_BYTES];
	SCOPED char *name = tree_name(p->stacks, node), *safe = text_safe(name);
	fprintf(p->out,
		"<g><rect class=\"%s\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" "
		"style=\"--hue:%u\"/><title>",
		flame_class_of(node), x, y, width, ROW - 1, hue_of(p, node));
	escape_xml(p->out, safe);
	fprintf(p->out, ": %s, ", units_time(time, node->time_ns));
	escape_xml(p->out,
		units_percent(share, (double)node->time_ns / (double)p->stacks->nodes[0].time_ns));
	if (node->count)
		fprintf(p->out, ", %s %s%s", units_count(count, node->count),
			is_of_functions(p->stacks) ? "stack" : "execution",
			node->count == 1 ? "" : "s");
	fputs("</title>", p->out);
	if (width > 4 * LETTER) {
		SCOPED char *cut = text_cut(safe, (size_t)(width / LETTER));
		fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\">", x + 3, y + ROW - 5);
		escape_xml(p->out, cut);
		fputs("</text>", p->out);
	}
	fputs("</g>\n", p->out);
}

static void print_below(const struct picture *p, const struct call_node *node, double x, double y)
{
	for (uint32_t i = node->first; i != RUN_NONE; i = p->stacks->nodes[i].next) {
		const struct call_node *below = &p->stacks->nodes[i];
		double width = (double)below->time_ns * p->per_ns;
		if (width >= MIN_WIDTH) {
			print_box(p, below, x, y, width);
			print_below(p, below, x, y + ROW);
		}
		x += width;
	}
}

static void flame_print_head(const struct picture *p, unsigned height)
{
	char time[UNITS_BYTES];
	const char *selected = p->stacks->run->selected;
	fprintf(p->out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
		"viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<style>svg{background:#fff;fill:#222}.brick{fill:hsl(var(--hue),65%%,76%%)}"
		".wait{fill:#ccc}.place{fill:#e4e4e4}text{pointer-events:none}"
		"@media(prefers-color-scheme:dark){svg{background:#1b1b1b;fill:#eee}"
		".brick{fill:hsl(var(--hue),35%%,32%%)}.wait{fill:#555}.place{fill:#3a3a3a}}"
		"</style>\n<text x=\"%d\" y=\"28\" font-size=\"15\">",
		WIDTH, height, WIDTH, height, MARGIN);
	escape_xml(p->out, p->stacks->run->path);
	fprintf(p->out, ": %s of all threads%s", units_time(time, p->stacks->nodes[0].time_ns),
		is_of_functions(p->stacks) ? " in user space" : " and queues");
	if (selected) {
		fputs("; only ", p->out);
		escape_xml(p->out, selected);
	}
	fputs("</text>\n", p->out);
}

/*
 * A click on a frame makes it as wide as the picture; on what holds it, on the ground or Escape
 * goes back. Names are in the titles, before the last ": ".
 */
static const char zoom_script[] =
	"<script><![CDATA[\n"
	"const WIDE=1180,LEFT=10,LETTER=7,frames=[...document.querySelectorAll('g')].map(g=>{\n"
	"const r=g.querySelector('rect'),t=g.querySelector('title').textContent;\n"
	"return{g,r,x:+r.getAttribute('x'),w:+r.getAttribute('width'),y:+r.getAttribute('y'),\n"
	"name:t.slice(0,t.lastIndexOf(': '))}});\n"
	"function show(z){const x0=z?z.x:LEFT,w0=z?z.w:WIDE,k=WIDE/w0;\n"
	"for(const f of frames){const above=z&&f.y<z.y&&f.x<=z.x+.01&&f.x+f.w>=z.x+z.w-.01;\n"
	"const x=above?LEFT:LEFT+(f.x-x0)*k,w=above?WIDE:f.w*k;\n"
	"const seen=above||(x>=LEFT-.01&&x+w<=LEFT+WIDE+.01&&(!z||f.y>=z.y));\n"
	"f.g.style.display=seen?'':'none';if(!seen)continue;\n"
	"f.g.style.opacity=above?.6:1;f.r.setAttribute('x',x);f.r.setAttribute('width',w);\n"
	"let t=f.g.querySelector('text');const fits=Math.floor(w/LETTER);\n"
	"if(!t){if(fits<=4)continue;\n"
	"t=f.g.appendChild(document.createElementNS('http://www.w3.org/2000/svg','text'))}\n"
	"t.setAttribute('x',x+3);t.setAttribute('y',f.y+13);\n"
	"t.textContent=fits<=4?'':f.name.length<=fits?f.name:f.name.slice(0,fits-1)+'\u2026'}}\n"
	"document.documentElement.addEventListener('click',e=>{\n"
	"const g=e.target.closest('g');show(g?frames.find(f=>f.g===g):null)});\n"
	"document.addEventListener('keydown',e=>{if(e.key==='Escape')show(null)});\n"
	"]]></script>\n";

int flame_svg(const struct call_tree *stacks, FILE *out)
{
	uint64_t all_ns = stacks->nodes[0].time_ns;
	struct picture p = {stacks, all_ns ? (WIDTH - 2.0 * MARGIN) / (double)all_ns : 0, out};
	flame_print_head(&p, HEAD + depth_of(&p, &stacks->nodes[0]) * ROW + MARGIN);
	print_below(&p, &stacks->nodes[0], MARGIN, HEAD);
	fputs(zoom_script, out);
	fputs("</svg>\n", out);
	return 0;
}

/* Numbers of fields. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRINGS = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2, SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, FUNCTION_ID = 1, FUNCTION_NAME = 2 };

static const char *const fixed[] = {"", "executions", "count", "time", "nanoseconds"};
static const char *const fixed_of_functions[] = {"", "samples", "count", "cpu", "nanoseconds"};

enum { STRING_EXECUTIONS = 1, STRING_COUNT, STRING_TIME, STRING_NS, STRINGS };

/* Names, sorted; that of index i is string STRINGS + i and function and location i + 1. */
struct names {
	char **list;
	size_t count;
};

static int names_init(struct names *names, const struct call_tree *stacks)
{
	size_t count = 0;
	names->list = calloc(stacks->count + 1, sizeof(*names->list));
	if (!names->list)
		return -ENOMEM;
	for (size_t i = 1; i < stacks->count; i++)
		names->list[count++] = tree_name(stacks, &stacks->nodes[i]);
	qsort(names->list, count, sizeof(*names->list), order_texts);
	for (size_t i = 0; i < count; i++)
		if (i && !strcmp(names->list[i], names->list[names->count - 1]))
			free(names->list[i]);
		else
			names->list[names->count++] = names->list[i];
	return 0;
}

static void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names->list);
}

static uint64_t location_of(
	const struct names *names, const struct call_tree *stacks, const struct call_node *node)
{
	SCOPED char *name = tree_name(stacks, node);
	char **found = bsearch(&name, names->list, names->count, sizeof(*names->list), order_texts);
	return (uint64_t)(found - names->list) + 1;
}

static void put_type(struct pb_buffer *b, uint64_t type, uint64_t unit)
{
	size_t message = pb_open(b, PROFILE_SAMPLE_TYPE);
	pb_varint(b, TYPE_TYPE, type);
	pb_varint(b, TYPE_UNIT, unit);
	pb_close(b, message);
}

static void put_samples(
	struct pb_buffer *b, const struct call_tree *stacks, const uint64_t *locations)
{
	for (size_t i = 1; i < stacks->count; i++)
		if (stacks->nodes[i].self_ns || stacks->nodes[i].count) {
			const struct call_node *node = &stacks->nodes[i];
			size_t message = pb_open(b, PROFILE_SAMPLE);
			for (const struct call_node *at = node; at->parent != RUN_NONE;
				at = &stacks->nodes[at->parent])
				pb_varint(b, SAMPLE_LOCATION, locations[at - stacks->nodes]);
			pb_varint(b, SAMPLE_VALUE, node->count);
			pb_varint(b, SAMPLE_VALUE, node->self_ns);
			pb_close(b, message);
		}
}

static void put_profile(struct pb_buffer *b, const struct call_tree *stacks,
	const struct names *names, const uint64_t *locations)
{
	const struct run *run = stacks->run;
	put_type(b, STRING_EXECUTIONS, STRING_COUNT);
	put_type(b, STRING_TIME, STRING_NS);
	put_samples(b, stacks, locations);
	const char *const *texts = is_of_functions(stacks) ? fixed_of_functions : fixed;
	for (uint64_t i = 1; i <= names->count; i++) {
		size_t location = pb_open(b, PROFILE_LOCATION);
		pb_varint(b, LOCATION_ID, i);
		size_t line = pb_open(b, LOCATION_LINE);
		pb_varint(b, LINE_FUNCTION, i);
		pb_close(b, line);
		pb_close(b, location);
		size_t function = pb_open(b, PROFILE_FUNCTION);
		pb_varint(b, FUNCTION_ID, i);
		pb_varint(b, FUNCTION_NAME, STRINGS + i - 1);
		pb_close(b, function);
	}
	for (size_t i = 0; i < STRINGS; i++)
		pb_string(b, PROFILE_STRINGS, texts[i], strlen(texts[i]));
	for (size_t i = 0; i < names->count; i++)
		pb_string(b, PROFILE_STRINGS, names->list[i], strlen(names->list[i]));
	pb_varint(b, PROFILE_TIME, run->start_unix_ns);
	pb_varint(
		b, PROFILE_DURATION, run->end_ns > run->start_ns ? run->end_ns - run->start_ns : 0);
	pb_varint(b, PROFILE_DEFAULT_TYPE, STRING_TIME);
}

int flame_pprof(const struct call_tree *stacks, FILE *out)
{
	SCOPED uint64_t *locations = calloc(stacks->count, sizeof(*locations));
	SCOPED_BY(pb_buffer_fini) struct pb_buffer b = {0};
	SCOPED_BY(names_fini) struct names names = {0};
	int rc = locations ? names_init(&names, stacks) : -ENOMEM;
	if (rc == 0) {
		for (size_t i = 1; i < stacks->count; i++)
			locations[i] = location_of(&names, stacks, &stacks->nodes[i]);
		put_profile(&b, stacks, &names, locations);
		rc = b.failed ? -ENOMEM : 0;
	}
	if (rc == 0)
		fwrite(b.data, 1, b.size, out);
	return rc;
}
