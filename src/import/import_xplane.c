/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the XSpace of XLA's profiler (JAX, TensorFlow): a protobuf of planes, one for each device
 * and one for the host. A plane has lines of events; the names of events and statistics are in
 * tables of the plane. Lines of a device that repeat its kernels, by module or scope, are left out.
 * Texts are borrowed from the file's bytes, which must stay until the reading ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/pb_read.h"
#include "import/import.h"

struct xplane {
	struct imported *im;
	struct import_error *error;
	const uint8_t *text;
	/* of the plane at hand */
	struct hashmap names, stats; /* by id: offset of the text's field */
	ARRAY(struct pb_reader) texts;
	uint32_t device;
	bool is_device, is_host;
};

/* As pb_next(), and a field of another kind has the value 0 or no bytes. Negative: damaged. */
static int xplane_next(struct xplane *x, struct pb_reader *from, struct pb_field *field)
{
	const uint8_t *begin = from->at;

	*field = (struct pb_field){0};
	int more = pb_next(from, field);
	if (more >= 0)
		return more;
	snprintf(x->error->text, sizeof(x->error->text),
		"byte %zu: a field of the XSpace is damaged, or the file is cut off",
		(size_t)(begin - x->text));
	return BRICK_EFORMAT;
}

static void xplane_copy(char *to, size_t size, struct pb_reader bytes)
{
	size_t length = pb_size(bytes);

	snprintf(
		to, size, "%.*s", (int)(length < size ? length : size - 1), (const char *)bytes.at);
}

/* An entry of a table: its key, and the name in it. */
static int xplane_entry(struct xplane *x, struct pb_reader entry, struct hashmap *table)
{
	struct pb_field field, inner;
	struct pb_reader name = {x->text, x->text};
	uint64_t key = 0;
	int more;

	while ((more = xplane_next(x, &entry, &field)) > 0) {
		key = field.number == 1 ? field.value : key;
		if (field.number != 2 || !field.in.at)
			continue;
		while ((more = xplane_next(x, &field.in, &inner)) > 0)
			name = inner.number == 2 && inner.in.at ? inner.in : name;
		if (more < 0)
			return more;
	}
	if (more < 0)
		return more;
	return array_push(&x->texts, name) || hashmap_set(table, key, x->texts.count - 1) ? -ENOMEM
											  : 0;
}

static struct pb_reader xplane_text(
	const struct xplane *x, const struct hashmap *table, uint64_t id)
{
	uint64_t at = hashmap_get(table, id);

	return at == HASHMAP_NONE ? (struct pb_reader){x->text, x->text} : x->texts.items[at];
}

/* " grid:1280,1,1 block:256,1,1 ..." */
static void xplane_launch(struct brick_session_kernel *kernel, struct pb_reader details)
{
	char text[256];
	const char *grid, *block;

	xplane_copy(text, sizeof(text), details);
	grid = strstr(text, "grid:");
	block = strstr(text, "block:");
	for (int i = 0; i < 3 && grid && block; i++) {
		kernel->grid[i] = (uint32_t)strtoul(strpbrk(grid, ":,") + 1, (char **)&grid, 10);
		kernel->block[i] = (uint32_t)strtoul(strpbrk(block, ":,") + 1, (char **)&block, 10);
		if ((*grid != ',' || *block != ',') && i < 2)
			break;
	}
}

/* details: the launch of a command, as the file tells it. */
static int xplane_add(
	struct xplane *x, struct imported_event *e, const char *name, struct pb_reader details)
{
	int said = imported_name(
		x->im, &(struct import_text){e->is_command ? IMPORT_KERNEL : IMPORT_ANNOTATION, "",
			       *name ? name : "(unnamed)", .layer = -1});
	int number = 0;

	if (e->is_command) {
		struct brick_session_kernel kernel;
		uint32_t kind = strncasecmp(name, "memcpy", 6) != 0 ? BRICK_KERNEL_COMPUTE
				: strcasestr(name, "H2D")	    ? BRICK_KERNEL_H2D
				: strcasestr(name, "D2H")	    ? BRICK_KERNEL_D2H
				: strcasestr(name, "D2D")	    ? BRICK_KERNEL_D2D
								    : BRICK_KERNEL_OTHER;
		imported_kernel_init(&kernel, kind, "gpu", name);
		xplane_launch(&kernel, details);
		number = imported_kernel(x->im, &kernel);
	}
	if (said < 0 || number < 0)
		return -ENOMEM;
	e->name = (uint32_t)said;
	e->kernel = (uint32_t)number;
	return imported_add(x->im, e);
}

static int xplane_event(struct xplane *x, struct pb_reader event, uint64_t line_ns, uint32_t track)
{
	struct imported_event e = {.track = track, .is_command = x->is_device};
	struct pb_reader details = {x->text, x->text};
	struct pb_field field, stat;
	uint64_t name = 0, offset_ps = 0, length_ps = 0;
	char text[1024];
	int more;

	while ((more = xplane_next(x, &event, &field)) > 0) {
		if (field.number == 1)
			name = field.value;
		else if (field.number == 2)
			offset_ps = field.value;
		else if (field.number == 3)
			length_ps = field.value;
		if (field.number != 4 || !field.in.at)
			continue;
		uint64_t id = 0, value = 0, reference = 0;
		while ((more = xplane_next(x, &field.in, &stat)) > 0) {
			id = stat.number == 1 ? stat.value : id;
			value = stat.number == 3 || stat.number == 4 ? stat.value : value;
			reference = stat.number == 7 ? stat.value : reference;
		}
		if (more < 0)
			return more;
		xplane_copy(text, sizeof(text), xplane_text(x, &x->stats, id));
		if (!strcmp(text, "correlation_id") && value)
			e.link = hash_u64(value) | 1;
		else if (!strcmp(text, "kernel_details"))
			details = xplane_text(x, &x->stats, reference);
	}
	if (more < 0)
		return more;
	e.begin = line_ns + offset_ps / 1000;
	e.end = line_ns + (offset_ps + length_ps) / 1000;
	if (line_ns > INT64_MAX / 2 || offset_ps > INT64_MAX / 2 || length_ps > INT64_MAX / 2 ||
		(!length_ps && !x->is_device)) {
		x->im->left_out++;
		return 0;
	}
	xplane_copy(text, sizeof(text), xplane_text(x, &x->names, name));
	return xplane_add(x, &e, text, details);
}

/* Streams of a GPU, and operations of a TPU; threads of the host. */
static int xplane_line(struct xplane *x, struct pb_reader line)
{
	struct pb_reader again = line;
	struct pb_field field;
	uint64_t id = 0, ns = 0, events = 0;
	char name[64] = "";
	int more;

	while ((more = xplane_next(x, &again, &field)) > 0) {
		id = field.number == 1 ? field.value : id;
		ns = field.number == 3 ? field.value : ns;
		events += field.number == 4;
		if (field.number == 2 && field.in.at)
			xplane_copy(name, sizeof(name), field.in);
	}
	if (more < 0)
		return more;
	if (!x->is_host && (!x->is_device || (strncmp(name, "Stream #", 8) != 0 &&
						     strcmp(name, "XLA Ops") != 0))) {
		x->im->left_out += events;
		return 0;
	}
	if (x->is_device && name[0] == 'S')
		id = strtoull(name + 8, NULL, 10);
	int track = x->is_device ? imported_queue(x->im, 0, true, x->device, id)
				 : imported_thread(x->im, 0, id);
	if (track < 0 || (x->is_host && imported_say_thread(x->im, 0, id, name)))
		return -ENOMEM;
	while ((more = xplane_next(x, &line, &field)) > 0) {
		int error = field.number == 4 && field.in.at
				    ? xplane_event(x, field.in, ns, (uint32_t)track)
				    : 0;
		if (error)
			return error;
	}
	return more;
}

/* Reads tables before lines, because they come behind the lines that need them. */
static int xplane_plane(struct xplane *x, struct pb_reader plane)
{
	struct pb_reader again = plane;
	struct pb_field field;
	char name[64] = "";
	int more, error = 0;

	x->texts.count = 0;
	hashmap_fini(&x->names);
	hashmap_fini(&x->stats);
	x->names = x->stats = (struct hashmap){0};
	while (!error && (more = xplane_next(x, &again, &field)) != 0) {
		if (more < 0)
			return more;
		if (field.number == 2 && field.in.at)
			xplane_copy(name, sizeof(name), field.in);
		if ((field.number == 4 || field.number == 5) && field.in.at)
			error = xplane_entry(
				x, field.in, field.number == 4 ? &x->names : &x->stats);
	}
	x->is_device = !strncmp(name, "/device:GPU:", 12) || !strncmp(name, "/device:TPU:", 12);
	x->is_host = !strcmp(name, "/host:CPU");
	x->device = x->is_device ? (uint32_t)strtoul(name + 12, NULL, 10) : 0;
	while (!error && (more = xplane_next(x, &plane, &field)) != 0) {
		if (more < 0)
			return more;
		if (field.number == 3 && field.in.at)
			error = xplane_line(x, field.in);
	}
	return error;
}

int import_xplane(struct imported *im, const char *text, size_t bytes, struct import_error *error)
{
	struct xplane x = {.im = im, .error = error, .text = (const uint8_t *)text};
	struct pb_reader space = {x.text, x.text + bytes};
	struct pb_field field;
	int more, result = 0;

	im->tool = "XLA's XSpace";
	while (!result && (more = xplane_next(&x, &space, &field)) != 0)
		result = more < 0			    ? more
			 : field.number == 1 && field.in.at ? xplane_plane(&x, field.in)
							    : 0;
	hashmap_fini(&x.names);
	hashmap_fini(&x.stats);
	array_fini(&x.texts);
	if (result == -ENOMEM)
		snprintf(error->text, sizeof(error->text), "not enough memory");
	return result;
}
