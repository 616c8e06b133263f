/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads trace events in Chrome's format, as Kineto (PyTorch), ONNX Runtime and `brick export` write
 * them. A device's command names its launch by a correlation (Kineto) or by an arrow (Brick). ONNX
 * Runtime names a node's operator in its arguments.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "brick/error.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/scope.h"
#include "import/json_events.h"

#define BIAS (1ull << 62) /* ns, added to all times: those in a file may be negative */

/* One end of an arrow from a launch to a command. */
struct arrow {
	uint64_t id, ns;
	uint32_t pid;
	uint64_t tid;
	bool is_start;
};

struct chrome {
	struct imported *im;
	ARRAY(struct arrow) arrows;
	ARRAY(struct track_stack { ARRAY(size_t) open; }) stacks; /* by track: events to be ended */
	struct hashmap asynchronous; /* by id and name: the last span that is open */
	bool is_own;		     /* `brick export` wrote it */
	double base_ns;
	uint64_t start_unix_ns;
};

/* Members. */

static const char *chrome_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The value of a number, which may stand in quotes. False: it is none. */
static bool chrome_number_of(const json_t *value, double *number)
{
	char *end = NULL;

	if (json_is_number(value)) {
		*number = json_number_value(value);
		return true;
	}
	const char *text = json_string_value(value);
	if (!text || !*text)
		return false;
	*number = strtod(text, &end);
	return !*end && *number - *number == 0;
}

static bool chrome_whole_of(const json_t *object, const char *key, uint64_t *whole)
{
	double number;

	if (!chrome_number_of(json_object_get(object, key), &number) || number < 0 ||
		number >= 0x1p63)
		return false;
	*whole = (uint64_t)number;
	return true;
}

static uint32_t small_of(const json_t *object, const char *key)
{
	uint64_t whole = 0;

	return chrome_whole_of(object, key, &whole) && whole <= UINT32_MAX ? (uint32_t)whole : 0;
}

/* The number of a process or thread: files name these by numbers or by texts. */
static uint64_t chrome_id_of(const json_t *value)
{
	const char *text = json_string_value(value);
	double number;

	if (chrome_number_of(value, &number) && number > -0x1p62 && number < 0x1p62)
		return (uint64_t)(int64_t)number;
	return text ? (1u << 30 | (fnv1a_text(text) & ((1u << 30) - 1))) : 0;
}

static uint32_t chrome_pid_of(const json_t *members)
{
	return (uint32_t)chrome_id_of(json_object_get(members, "pid"));
}

static uint64_t chrome_tid_of(const json_t *members)
{
	return chrome_id_of(json_object_get(members, "tid"));
}

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(text, *words))
			return true;
	return false;
}

/* Kernels. */

static void sizes(const json_t *args, const char *key, const char *first, uint32_t to[3])
{
	const json_t *array = json_object_get(args, key);
	char name[16];

	for (size_t i = 0; i < 3; i++) {
		double number = 0;
		snprintf(name, sizeof(name), "%s_%c", first, (int)('x' + i));
		if (json_is_array(array) && chrome_number_of(json_array_get(array, i), &number))
			to[i] = number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
		else
			to[i] = small_of(args, name);
	}
}

static uint32_t chrome_kind_of(const char *name, const json_t *args)
{
	static const char *const own[] = {"compute", "h2d", "d2h", "d2d", "fill", "other"};
	const char *kind = chrome_text_of(args, "kind");

	for (uint32_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(kind, own[i]))
			return i;
	if (!strncasecmp(name, "memset", 6))
		return BRICK_KERNEL_FILL;
	if (strncasecmp(name, "memcpy", 6) != 0)
		return BRICK_KERNEL_COMPUTE;
	return strstr(name, "HtoD")   ? BRICK_KERNEL_H2D
	       : strstr(name, "DtoH") ? BRICK_KERNEL_D2H
	       : strstr(name, "DtoD") ? BRICK_KERNEL_D2D
				      : BRICK_KERNEL_OTHER;
}

static int chrome_kernel_of(struct imported *im, const char *name, const json_t *args)
{
	struct brick_session_kernel kernel;

	imported_kernel_init(&kernel, chrome_kind_of(name, args), "gpu", name);
	sizes(args, "grid", "grid", kernel.grid);
	sizes(args, "block", "block", kernel.block);
	kernel.registers = small_of(args, "registers per thread");
	kernel.shared_bytes = small_of(args, "shared memory");
	if (!kernel.shared_bytes)
		kernel.shared_bytes = small_of(args, "shared");
	return imported_kernel(im, &kernel);
}

/* Slices. */

static bool is_command(const struct chrome *c, const char *category, const json_t *args)
{
	static const char *const words[] = {
		"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", NULL};

	if (c->is_own)
		return json_object_get(args, "kind") && json_object_get(args, "brick");
	return is_one_of(category, words);
}

static bool chrome_is_left_out(const char *category, const char *name)
{
	/* what the profiler says of itself, and what repeats a thread's range on its queue */
	static const char *const words[] = {
		"Trace", "gpu_user_annotation", "overhead", "cuda_sync", NULL};
	size_t bytes = strlen(name);

	return is_one_of(category, words) ||
	       (!strcmp(category, "Node") &&
		       ((bytes > 13 && !strcmp(name + bytes - 13, "_fence_before")) ||
			       (bytes > 12 && !strcmp(name + bytes - 12, "_fence_after"))));
}

static int chrome_own_name(
	struct chrome *c, const char *name, const char *category, const json_t *args)
{
	struct import_text text = {
		.naming = IMPORT_BRICK, .operation = category, .name = name, .layer = -1};
	double layer;

	if (chrome_number_of(json_object_get(args, "layer"), &layer) && layer >= -1 &&
		layer <= INT16_MAX)
		text.layer = (int)layer;
	text.site_operation = json_string_value(json_object_get(args, "op"));
	text.label = json_string_value(json_object_get(args, "tensor"));
	text.flags |=
		chrome_whole_of(args, "elements", &text.elements) ? BRICK_SITE_HAS_ELEMENTS : 0;
	text.flags |= chrome_whole_of(args, "bytes", &text.bytes) ? BRICK_SITE_HAS_BYTES : 0;
	text.flags |= chrome_whole_of(args, "flops", &text.flops) ? BRICK_SITE_HAS_FLOPS : 0;
	return imported_name(c->im, &text);
}

static int node_name(struct chrome *c, const char *name, const char *operator)
{
	static const char suffix[] = "_kernel_time";
	size_t bytes = strlen(name), end = sizeof(suffix) - 1;

	if (bytes > end && !strcmp(name + bytes - end, suffix))
		bytes -= end;
	SCOPED char *path = strndup(name, bytes);
	if (!path)
		return -ENOMEM;
	c->im->tool = "ONNX Runtime's profile";
	return imported_name(c->im,
		&(struct import_text){
			.naming = IMPORT_NODE, .operation = operator, .name = path, .layer = -1});
}

/* "[512,4096] [4096,1024] bf16": shapes of an operator's tensors, and the first one's type. */
static void chrome_shapes(const json_t *args, char *to, size_t size)
{
	static const char *const types[][2] = {{"c10::BFloat16", "bf16"}, {"c10::Half", "f16"},
		{"float", "f32"}, {"double", "f64"}, {"long int", "i64"}, {"long", "i64"},
		{"int", "i32"}, {"c10::Float8_e4m3fn", "f8"}, {"unsigned char", "u8"},
		{"bool", "bool"}};
	const json_t *shapes = json_object_get(args, "Input Dims"), *shape;
	const json_t *of = json_object_get(args, "Input type");
	const char *type = NULL;
	size_t i, n = 0;

	*to = '\0';
	json_array_foreach((json_t *)shapes, i, shape)
	{
		size_t d, begin = n;
		const json_t *dimension;
		if (!json_array_size(shape) || !json_is_number(json_array_get(shape, 0)))
			continue;
		json_array_foreach((json_t *)shape, d, dimension)
		{
			if (n < size)
				n += (size_t)snprintf(to + n, size - n, "%s%.0f",
					d	? ","
					: begin ? " ["
						: "[",
					json_number_value(dimension));
		}
		if (n < size)
			n += (size_t)snprintf(to + n, size - n, "]");
		type = type ? type : json_string_value(json_array_get(of, i));
		if (n + 8 > size) { /* no half of a shape, and room for the type */
			to[n = begin] = '\0';
			break;
		}
	}
	for (i = 0; n && type && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i][0]))
			snprintf(to + n, size - n, " %s", types[i][1]);
}

/*
 * A collective, as PyTorch tells it beside NCCL's kernel: its kind, its group, and the bytes of its
 * message as nccl-tests count them, the larger one of what a rank gives and what it gets.
 */
static int chrome_collective(struct chrome *c, const json_t *args, struct imported_event *e)
{
	static const struct {
		const char *word, *brick;
	} kinds[] = {{"allreduce", "AllReduce"}, {"all_reduce", "AllReduce"},
		{"allgather", "AllGather"}, {"all_gather", "AllGather"},
		{"reduce_scatter", "ReduceScatter"}, {"broadcast", "Broadcast"},
		{"all_to_all", "AllToAll"}, {"alltoall", "AllToAll"}, {"send", "Send"},
		{"recv", "Receive"}, {"reduce", "Reduce"}, {"", "Collective"}};
	static const struct {
		const char *type;
		uint64_t bytes;
	} types[] = {{"Double", 8}, {"Long", 8}, {"ComplexFloat", 8}, {"ComplexDouble", 16},
		{"Float8", 1}, {"Float", 4}, {"Int", 4}, {"Half", 2}, {"BFloat16", 2}, {"Short", 2},
		{"Byte", 1}, {"Char", 1}, {"Bool", 1}};
	const char *name = chrome_text_of(args, "Collective name"),
		   *type = chrome_text_of(args, "dtype"),
		   *group = chrome_text_of(args, "Process Group Description");
	if (!*group || !strcmp(group, "undefined"))
		group = chrome_text_of(args, "Process Group Name");
	uint64_t in = 0, out = 0, ranks = 0;
	char label[64] = "";
	size_t kind = 0;

	while (!strstr(name, kinds[kind].word))
		kind++;
	chrome_whole_of(args, "In msg nelems", &in);
	chrome_whole_of(args, "Out msg nelems", &out);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !e->bytes; i++)
		if (!strncmp(type, types[i].type, strlen(types[i].type)) &&
			(in > out ? in : out) < UINT64_MAX / 16)
			e->bytes = (in > out ? in : out) * types[i].bytes;
	if (chrome_whole_of(args, "Group size", &ranks) && ranks && ranks < UINT32_MAX)
		snprintf(label, sizeof(label), "%llu ranks%s%.40s", (unsigned long long)ranks,
			*group ? " of " : "", *group ? group : "");
	return imported_name(c->im, &(struct import_text){.naming = IMPORT_BRICK,
					    .operation = "Communication",
					    .name = kinds[kind].brick,
					    .layer = -1,
					    .site_operation = name,
					    .label = label});
}

static int chrome_name_of(
	struct chrome *c, const char *name, const char *category, const json_t *args)
{
	static const char *const operators[] = {"cpu_op", "Operator", "cpu_instant_event", NULL};
	struct import_text text = {IMPORT_ANNOTATION, "", name, .layer = -1};
	char shapes[64];

	if (c->is_own) {
		bool is_queued = is_command(c, category, args);
		return chrome_own_name(
			c, is_queued ? chrome_text_of(args, "brick") : name, category, args);
	}
	if (!strcmp(category, "Node") && *chrome_text_of(args, "op_name"))
		return node_name(c, name, chrome_text_of(args, "op_name"));
	/* a run of the whole model: nobody says whether it takes tokens in or makes new ones */
	if (!strcmp(category, "Session") && !strcmp(name, "model_run"))
		return chrome_own_name(c, "Prefill", "Step", NULL);
	if (is_command(c, category, args))
		text.naming = IMPORT_KERNEL;
	else if (is_one_of(category, operators)) {
		text.naming = IMPORT_OPERATOR;
		chrome_shapes(args, shapes, sizeof(shapes));
		text.label = *shapes ? shapes : NULL;
	} else if (!strcmp(category, "python_function"))
		text.naming = IMPORT_PYTHON;
	return imported_name(c->im, &text);
}

static uint64_t chrome_link_of(const json_t *args)
{
	uint64_t link = 0;

	return chrome_whole_of(args, "correlation", &link) ? link : 0;
}

static int chrome_describe(
	struct chrome *c, const struct json_event *event, struct imported_event *e)
{
	const json_t *members = event->members, *args = json_object_get(members, "args");
	const char *name = chrome_text_of(members, "name"),
		   *category = chrome_text_of(members, "cat");
	uint64_t stream = 0;

	e->is_command = is_command(c, category, args);
	bool is_collective =
		e->is_command && !c->is_own && *chrome_text_of(args, "Collective name");
	int said = is_collective ? chrome_collective(c, args, e)
				 : chrome_name_of(c, *name ? name : "(unnamed)", category, args);
	int track, kernel = 0;
	if (said < 0)
		return said;
	if (e->is_command) {
		if (!chrome_whole_of(args, "stream", &stream))
			stream = chrome_tid_of(members);
		uint32_t device = c->is_own			    ? 0
				  : json_object_get(args, "device") ? small_of(args, "device")
								    : chrome_pid_of(members);
		track = imported_queue(c->im, chrome_pid_of(members), c->is_own, device, stream);
		kernel = chrome_kernel_of(c->im, name, args);
		e->has_brick = c->is_own || is_collective;
		if (!c->is_own && !is_collective)
			chrome_whole_of(args, "bytes", &e->bytes);
	} else {
		track = imported_thread(c->im, chrome_pid_of(members), chrome_tid_of(members));
		if (c->im->is_capture && *chrome_text_of(args, "kernel"))
			kernel = chrome_kernel_of(c->im, chrome_text_of(args, "kernel"), args);
	}
	if (c->is_own)
		chrome_whole_of(args, "elements", &e->tokens); /* of a step */
	else
		e->link = chrome_link_of(args);
	e->name = (uint32_t)said;
	e->track = (uint32_t)track;
	e->kernel = kernel < 0 ? 0 : (uint32_t)kernel;
	return track < 0 ? track : kernel < 0 ? kernel : 0;
}

static int slice(struct chrome *c, const struct json_event *event, uint64_t begin, bool is_begin)
{
	struct imported_event e = {.begin = begin, .end = UINT64_MAX, .is_open = true};
	int64_t length;

	if (!c->is_own && chrome_is_left_out(chrome_text_of(event->members, "cat"),
				  chrome_text_of(event->members, "name"))) {
		c->im->left_out++;
		return 0;
	}
	if (!is_begin && event->dur) {
		if (!json_events_ns(event->dur, &length) || length >= (int64_t)BIAS)
			return json_event_fail(event, "\"dur\" must be a number of microseconds");
		if (length < 0) {
			c->im->left_out++;
			return 0;
		}
		e.end = begin + (uint64_t)length;
		e.is_open = false;
	}
	int error = chrome_describe(c, event, &e);
	if (error || (error = imported_add(c->im, &e)) || !is_begin)
		return error;
	while (c->stacks.count <= e.track)
		if (array_push(&c->stacks, (struct track_stack){{0}}))
			return -ENOMEM;
	return array_push(&c->stacks.items[e.track].open, c->im->events.count - 1);
}

static int chrome_end_slice(struct chrome *c, const struct json_event *event, uint64_t ns)
{
	int track = imported_thread(
		c->im, chrome_pid_of(event->members), chrome_tid_of(event->members));

	if (track < 0)
		return track;
	struct track_stack *stack =
		(size_t)track < c->stacks.count ? &c->stacks.items[track] : NULL;
	if (!stack || !stack->open.count) {
		c->im->unmatched++;
		return 0;
	}
	struct imported_event *e = &c->im->events.items[stack->open.items[--stack->open.count]];
	if (ns < e->begin)
		return json_event_fail(event, "it ends before it began");
	e->end = ns;
	e->is_open = false;
	return 0;
}

/*
 * A span that is no thread's. Its begin and its end have the same id, process, category and name;
 * of several open ones, the innermost ends first.
 */
static int chrome_asynchronous(
	struct chrome *c, const struct json_event *event, uint64_t ns, bool is_begin)
{
	const json_t *members = event->members, *id = json_object_get(members, "id");
	const char *name = chrome_text_of(members, "name");
	uint32_t pid = chrome_pid_of(members);
	uint64_t key;

	if (!id)
		id = json_object_get(json_object_get(members, "id2"), "local");
	if (!id)
		id = json_object_get(json_object_get(members, "id2"), "global");
	key = hash_add(hash_add(pid, chrome_id_of(id)), fnv1a_text(name)) ^
	      fnv1a_text(chrome_text_of(members, "cat"));
	uint64_t at = hashmap_get(&c->asynchronous, key);
	if (is_begin) {
		int track = imported_asynchronous(c->im, pid);
		int said = imported_name(c->im, &(struct import_text){IMPORT_ANNOTATION, "",
							*name ? name : "(unnamed)", .layer = -1});
		int kernel = imported_host_kernel(c->im, name);
		if (track < 0 || said < 0 || kernel < 0)
			return -ENOMEM;
		struct imported_event e = {.begin = ns,
			.end = UINT64_MAX,
			.is_open = true,
			.is_command = true,
			.has_brick = true,
			.kernel = (uint32_t)kernel,
			.track = (uint32_t)track,
			.name = (uint32_t)said,
			/* until it ends: the span with its key that is open, too */
			.number = at == HASHMAP_NONE ? 0 : at + 1};
		int error = imported_add(c->im, &e);
		return error ? error : hashmap_set(&c->asynchronous, key, c->im->events.count - 1);
	}
	if (at == HASHMAP_NONE || !c->im->events.items[at].is_open) {
		c->im->unmatched++;
		return 0;
	}
	struct imported_event *e = &c->im->events.items[at];
	if (ns < e->begin)
		return json_event_fail(event, "it ends before it began");
	e->end = ns;
	e->is_open = false;
	return e->number ? hashmap_set(&c->asynchronous, key, e->number - 1) : 0;
}

static int say_name(struct chrome *c, const json_t *members)
{
	const char *what = chrome_text_of(members, "name");
	const char *text = chrome_text_of(json_object_get(members, "args"), "name");

	if (!strcmp(what, "process_name"))
		return imported_say_process(c->im, chrome_pid_of(members), text);
	if (!strcmp(what, "thread_name"))
		return imported_say_thread(
			c->im, chrome_pid_of(members), chrome_tid_of(members), text);
	return 0;
}

static int arrow(struct chrome *c, const struct json_event *event, uint64_t ns, bool is_start)
{
	struct arrow a = {.ns = ns,
		.pid = chrome_pid_of(event->members),
		.tid = chrome_tid_of(event->members),
		.is_start = is_start};

	if (!c->is_own || strcmp(chrome_text_of(event->members, "name"), "launch") != 0 ||
		!chrome_whole_of(event->members, "id", &a.id))
		return 0;
	return array_push(&c->arrows, a);
}

/* PyTorch tells of each allocation how much is allocated then; type 0 is the host's memory. */
static int chrome_allocated(struct chrome *c, const json_t *args)
{
	uint64_t type = 0, bytes = 0;

	c->im->left_out++;
	if (!chrome_whole_of(args, "Device Type", &type) || !type ||
		!chrome_whole_of(args, "Total Allocated", &bytes))
		return 0;
	return imported_say_allocated(c->im, small_of(args, "Device Id"), bytes);
}

/* Arrows of Kineto, from calls to commands and from forward to backward: correlations tell these.
 */
static bool chrome_skips(void *context, const char *category)
{
	const struct chrome *c = context;

	return !c->is_own &&
	       (!strncmp(category, "\"ac2g\"", 6) || !strncmp(category, "\"fwdbwd\"", 8));
}

static int take_event(void *context, const struct json_event *event)
{
	struct chrome *c = context;
	const char *phase = chrome_text_of(event->members, "ph");
	int64_t ns = 0;

	if (!phase[0])
		return json_event_fail(event, "an event must have a phase (\"ph\")");
	if (phase[0] == 'M')
		return say_name(c, event->members);
	if (phase[0] == 'i' && !strcmp(chrome_text_of(event->members, "name"), "[memory]"))
		return chrome_allocated(c, json_object_get(event->members, "args"));
	if (!strchr("XBEsfbeSF", phase[0])) {
		c->im->left_out += phase[0] != 't';
		return 0;
	}
	if (!event->ts || !json_events_ns(event->ts, &ns) || ns <= -(int64_t)BIAS ||
		ns >= (int64_t)BIAS)
		return json_event_fail(event, "\"ts\" must be a number of microseconds");
	uint64_t biased = (uint64_t)ns + BIAS;
	if (strchr("beSF", phase[0]))
		return chrome_asynchronous(c, event, biased, phase[0] == 'b' || phase[0] == 'S');
	if (phase[0] == 's' || phase[0] == 'f')
		return arrow(c, event, biased, phase[0] == 's');
	return phase[0] == 'E' ? chrome_end_slice(c, event, biased)
			       : slice(c, event, biased, phase[0] == 'B');
}

static int take_member(void *context, const char *key, const json_t *value)
{
	struct chrome *c = context;

	if (!strcmp(key, "baseTimeNanoseconds"))
		chrome_number_of(value, &c->base_ns);
	if (!strcmp(key, "schemaVersion") || !strcmp(key, "deviceProperties"))
		c->im->tool = "Kineto's trace";
	if (!strcmp(key, "deviceProperties")) {
		size_t k;
		const json_t *device;
		json_array_foreach((json_t *)value, k, device)
		{
			uint64_t processors = 0, bytes = 0;
			chrome_whole_of(device, "numSms", &processors);
			chrome_whole_of(device, "totalGlobalMem", &bytes);
			if (imported_say_device(c->im, small_of(device, "id"),
				    chrome_text_of(device, "name"), processors, bytes))
				return -ENOMEM;
		}
	}
	if (!strcmp(key, "rocprofiler-sdk-tool"))
		return import_rocprof_json(c->im, value);
	if (strcmp(key, "otherData") != 0 || !json_object_get(value, "start_monotonic_ns"))
		return 0;
	c->is_own = c->im->queues_are_threads = true;
	c->im->tool = "a Chrome export of Brick";
	c->im->begin = BIAS; /* not the first event, but the program's start */
	c->start_unix_ns = strtoull(chrome_text_of(value, "start_unix_ns"), NULL, 10);
	const json_t *command = json_object_get(value, "command"), *word;
	size_t i;
	json_array_foreach((json_t *)command, i, word)
	{
		const char *text = json_string_value(word);
		if (text && imported_command_add(c->im, text))
			return -ENOMEM;
	}
	return 0;
}

/* After all events were read. */

static uint64_t place_key(const struct imported_track *track, uint32_t pid, uint64_t ns)
{
	return hash_u64(hash_u64(pid) + track->tid) ^ hash_u64(ns);
}

/* Links by arrows: from the innermost slice that begins at its start to the command at its end. */
static int follow_arrows(struct chrome *c)
{
	SCOPED_BY(hashmap_fini) struct hashmap places = {0}, links = {0};
	struct imported *im = c->im;
	int error = 0;

	for (size_t i = 0; i < im->events.count && c->arrows.count && !error; i++) {
		const struct imported_event *e = &im->events.items[i];
		const struct imported_track *t = &im->tracks.items[e->track];
		uint32_t pid = t->has_process ? im->processes.items[t->process].pid : 0;
		error = hashmap_set(&places, place_key(t, pid, e->begin), i);
	}
	for (size_t i = 0; i < c->arrows.count && !error; i++) {
		const struct arrow *a = &c->arrows.items[i];
		struct imported_track t = {.tid = a->tid};
		uint64_t at = hashmap_get(&places, place_key(&t, a->pid, a->ns));
		if (at == HASHMAP_NONE)
			continue;
		struct imported_event *e = &im->events.items[at];
		if (a->is_start && !e->is_command) {
			e->link = e->link ? e->link : a->id;
			error = hashmap_set(&links, a->id, e->link);
		} else if (!a->is_start && e->is_command) {
			uint64_t link = hashmap_get(&links, a->id);
			e->link = link == HASHMAP_NONE ? 0 : link;
		}
	}
	return error;
}

static void find_start(struct chrome *c)
{
	const uint64_t in_2001 = 1000000000000000000ull;
	uint64_t first = c->is_own ? BIAS : UINT64_MAX;

	for (size_t i = 0; i < c->im->events.count; i++)
		if (c->im->events.items[i].begin < first)
			first = c->im->events.items[i].begin;
	int64_t ns = (int64_t)(first - BIAS);
	if (c->start_unix_ns)
		c->im->start_unix_ns = c->start_unix_ns + (uint64_t)ns;
	else if (c->base_ns > 0 && c->base_ns < 4e18 && ns >= 0)
		c->im->start_unix_ns = (uint64_t)c->base_ns + (uint64_t)ns;
	else if (ns > (int64_t)in_2001)
		c->im->start_unix_ns = (uint64_t)ns;
}

int import_chrome(
	struct imported *im, const struct import_source *source, struct import_error *error)
{
	static const struct json_events_target target = {chrome_skips, take_event, take_member};
	struct chrome c = {.im = im};

	im->tool = "a Chrome trace";
	int result = json_events_read(source, &target, &c, error);
	if (!result) {
		result = follow_arrows(&c);
		find_start(&c);
	}
	for (size_t i = 0; i < c.stacks.count; i++)
		array_fini(&c.stacks.items[i].open);
	array_fini(&c.stacks);
	array_fini(&c.arrows);
	hashmap_fini(&c.asynchronous);
	if (result == -ENOMEM)
		snprintf(error->text, sizeof(error->text), "not enough memory");
	return result;
}
