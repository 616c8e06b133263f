/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures are the launches between the begin and the end of a stream's capture on a thread.
 * Replays are the commands of one launch, in the order of their begins.
 */
#include "import/import_capture.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/order.h"
#include "base/scope.h"

/* A kernel that was captured. Texts are copies, so that its trace can be freed. */
struct captured {
	char *kernel;		  /* its name; "": not told */
	char *brick, *category;	  /* of the event around the launch that a rule knows; NULL: none */
	char *operator, * module; /* "": none */
	int layer;
	bool is_inner; /* the brick is that of the innermost event, which says more than a kernel */
};

struct capture {
	size_t first, count; /* in `kernels` */
	bool is_taken;
};

struct captures {
	ARRAY(struct captured) kernels;
	ARRAY(struct capture) list;
};

static void captures_fini(struct captures *c)
{
	for (size_t i = 0; i < c->kernels.count; i++) {
		struct captured *k = &c->kernels.items[i];
		free(k->kernel);
		free(k->brick);
		free(k->category);
		free(k->operator);
		free(k->module);
	}
	array_fini(&c->kernels);
	array_fini(&c->list);
}

static const char *capture_brick(const struct imported *im, const struct imported_event *e)
{
	return im->bricks[im->names.items[e->name].brick].name;
}

/* What the file calls it: of operators, the label has their shapes. */
static const char *capture_label(const struct imported *im, const struct imported_name *name)
{
	const struct brick_session_site *site = &im->sites.items[name->site];

	return !name->site	  ? im->bricks[name->brick].name
	       : *site->operation ? site->operation
				  : site->label;
}

/* Adds a launch that was captured below the open events, the innermost last. */
static int capture_add(struct captures *c, const struct imported *im,
	const struct imported_event *call, struct imported_event *const *open, size_t depth)
{
	struct captured k = {.layer = -1};
	const char *operator= NULL, *module = NULL;
	const struct imported_name *known = NULL;

	for (size_t i = depth; i--;) {
		const struct imported_name *name = &im->names.items[open[i]->name];
		bool is_module =
			name->is_python && !strncmp(capture_label(im, name), "nn.Module: ", 11);
		if (k.layer < 0)
			k.layer = name->layer;
		if (!operator&& !name->is_python)
			operator= capture_label(im, name);
		if (!module && is_module)
			module = capture_label(im, name) + 11;
		if (!known && name->is_known && !name->is_engine) {
			known = name;
			k.is_inner = i == depth - 1;
		}
	}
	k.kernel = strdup(call->kernel ? im->kernels.items[call->kernel].name : "");
	k.operator= strdup(operator? operator: "");
	k.module = strdup(module ? module : "");
	if (known) {
		const struct brick_session_brick *brick = &im->bricks[known->brick];
		k.brick = strdup(brick->name);
		k.category = strdup(im->categories[brick->category].name);
	}
	if (!k.kernel || !k.operator|| !k.module ||(known && (!k.brick || !k.category)) ||
		array_push(&c->kernels, k)) {
		free(k.kernel);
		free(k.brick);
		free(k.category);
		free(k.operator);
		free(k.module);
		return -ENOMEM;
	}
	c->list.items[c->list.count - 1].count++;
	return 0;
}

static int capture_compare(const void *one, const void *other)
{
	const struct imported_event *a = *(struct imported_event *const *)one;
	const struct imported_event *b = *(struct imported_event *const *)other;

	return ORDER(a->track, b->track) ?: ORDER(a->begin, b->begin)
		?: ORDER(b->end, a->end) ?: ORDER(a, b);
}

/* Takes the captures of a trace. */
static int captures_take(struct captures *c, struct imported *im)
{
	SCOPED struct imported_event **events = malloc((im->events.count + 1) * sizeof(*events));
	struct imported_event *open[BRICK_MAX_DEPTH];
	size_t count = 0, depth = 0;
	bool is_capturing = false;
	int error = 0;

	if (!events)
		return -ENOMEM;
	for (size_t i = 0; i < im->events.count; i++)
		if (!im->events.items[i].is_command)
			events[count++] = &im->events.items[i];
	qsort(events, count, sizeof(*events), capture_compare);
	for (size_t i = 0; i < count && !error; i++) {
		struct imported_event *e = events[i];
		const char *brick = capture_brick(im, e);
		if (i && e->track != events[i - 1]->track) {
			depth = 0;
			is_capturing = false;
		}
		while (depth && open[depth - 1]->end <= e->begin)
			depth--;
		if (strstr(brick, "StreamBeginCapture")) {
			is_capturing = true;
			error = array_push(&c->list, (struct capture){.first = c->kernels.count});
		} else if (strstr(brick, "StreamEndCapture")) {
			is_capturing = false;
		} else if (is_capturing && e->link && strstr(brick, "Launch") &&
			   !strstr(brick, "GraphLaunch")) {
			error = capture_add(c, im, e, open, depth);
		}
		if (depth < BRICK_MAX_DEPTH)
			open[depth++] = e;
	}
	return error;
}

static int captures_read(struct captures *c, const char *path, struct import_error *error)
{
	struct imported *im = calloc(1, sizeof(*im));

	if (!im)
		return -ENOMEM;
	int rc = imported_init(im);
	im->is_capture = true;
	if (!rc)
		rc = import_read(im, path, error);
	if (!rc)
		rc = captures_take(c, im);
	imported_fini(im);
	free(im);
	return rc;
}

static int capture_is_trace(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name);

	return (bytes > 5 && !strcmp(entry->d_name + bytes - 5, ".json")) ||
	       (bytes > 8 && !strcmp(entry->d_name + bytes - 8, ".json.gz"));
}

static int captures_read_all(struct captures *c, const char *path, struct import_error *error)
{
	struct stat status;
	struct dirent **entries;

	if (stat(path, &status)) {
		snprintf(error->text, sizeof(error->text), "%s: %s", path, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(status.st_mode))
		return captures_read(c, path, error);
	int count = scandir(path, &entries, capture_is_trace, alphasort), rc = 0;
	if (count < 0)
		return -errno;
	for (int i = 0; i < count; i++) {
		char *file = NULL;
		if (!rc)
			rc = asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0
				     ? -ENOMEM
				     : captures_read(c, file, error);
		free(file);
		free(entries[i]);
	}
	free(entries);
	if (!count)
		snprintf(error->text, sizeof(error->text), "%s has no *.json and no *.json.gz",
			path);
	return count ? rc : -ENOENT;
}

/* A command of a replay. */
struct replayed {
	uint64_t link, launch_ns;
	struct imported_event *event;
};

COMPARATOR(replayed_compare, struct replayed,
	ORDER(x->launch_ns, y->launch_ns) ?: ORDER(x->link, y->link)
		?: ORDER(x->event->begin, y->event->begin) ?: ORDER(x->event, y->event))

static bool capture_fits(const struct captures *c, const struct capture *capture,
	const struct imported *im, const struct replayed *commands, size_t count)
{
	if (capture->count != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *name = c->kernels.items[capture->first + i].kernel;
		if (*name && strcmp(name, im->kernels.items[commands[i].event->kernel].name) != 0)
			return false;
	}
	return true;
}

/* The capture of a replay; NULL: none fits. */
static const struct capture *capture_find(const struct captures *c, const struct imported *im,
	const struct replayed *commands, size_t count)
{
	struct capture *first = NULL;

	for (size_t i = 0; i < c->list.count; i++) {
		struct capture *capture = &c->list.items[i];
		if (!capture_fits(c, capture, im, commands, count))
			continue;
		first = first ? first : capture;
		if (capture->is_taken)
			continue;
		capture->is_taken = true;
		return capture;
	}
	for (size_t i = 0; first && i < c->list.count; i++)
		if (capture_fits(c, &c->list.items[i], im, commands, count))
			c->list.items[i].is_taken = false;
	if (first)
		first->is_taken = true;
	return first;
}

/* As imported_write_command() names a command by what was open at its launch. */
static int capture_name(struct imported *im, struct imported_event *e, const struct captured *k)
{
	const struct imported_name *own = &im->names.items[e->name];
	bool is_own = !k->brick || (!k->is_inner && own->is_known);
	const struct brick_session_brick *brick = &im->bricks[own->brick];
	char name[sizeof(brick->name)], category[sizeof(im->categories[0].name)];

	snprintf(name, sizeof(name), "%s", is_own ? brick->name : k->brick);
	snprintf(category, sizeof(category), "%s",
		is_own ? im->categories[brick->category].name : k->category);
	int said = imported_name(im, &(struct import_text){.naming = IMPORT_BRICK,
					     .operation = category,
					     .name = name,
					     .layer = k->layer,
					     .site_operation = k->operator,
					     .label = k->module});
	if (said < 0)
		return said;
	e->name = (uint32_t)said;
	e->has_brick = true;
	return 0;
}

int import_capture(struct imported *im, const char *path, struct import_capture_counts *counts,
	struct import_error *error)
{
	SCOPED_BY(captures_fini) struct captures c = {0};
	SCOPED_BY(hashmap_fini) struct hashmap launches = {0};
	ARRAY(struct replayed) commands = {0};

	*counts = (struct import_capture_counts){0};
	int rc = captures_read_all(&c, path, error);
	for (size_t i = 0; i < im->events.count && !rc; i++) {
		const struct imported_event *e = &im->events.items[i];
		if (!e->is_command && e->link && hashmap_get(&launches, e->link) == HASHMAP_NONE &&
			strstr(capture_brick(im, e), "GraphLaunch"))
			rc = hashmap_set(&launches, e->link, e->begin);
	}
	for (size_t i = 0; i < im->events.count && !rc; i++) {
		struct imported_event *e = &im->events.items[i];
		uint64_t launch_ns =
			e->is_command && e->link ? hashmap_get(&launches, e->link) : HASHMAP_NONE;
		if (launch_ns != HASHMAP_NONE &&
			im->kernels.items[e->kernel].kind == BRICK_KERNEL_COMPUTE)
			rc = array_push(&commands, (struct replayed){e->link, launch_ns, e});
	}
	array_sort(&commands, replayed_compare);
	counts->captures = c.list.count;
	for (size_t i = 0, end; i < commands.count && !rc; i = end) {
		const struct replayed *first = &commands.items[i];
		for (end = i; end < commands.count && commands.items[end].link == first->link;)
			end++;
		const struct capture *capture = capture_find(&c, im, first, end - i);
		counts->replays++;
		counts->named += capture != NULL;
		for (size_t k = 0; capture && k < end - i && !rc; k++)
			rc = capture_name(im, first[k].event, &c.kernels.items[capture->first + k]);
	}
	array_fini(&commands);
	if (rc == -ENOMEM)
		snprintf(error->text, sizeof(error->text), "not enough memory");
	return rc;
}
