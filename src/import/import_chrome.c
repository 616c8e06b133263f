/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads trace events in Chrome's format, as Kineto (PyTorch), ONNX Runtime and `brick export` write
 * them. A device's command names its launch by a correlation (Kineto) or by an arrow (Brick). ONNX
 * Runtime names a node's operator in its arguments.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "brick/error.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/scope.h"
#include "import/json_reader.h"

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
	struct json_reader reader;
	ARRAY(struct arrow) arrows;
	ARRAY(struct track_stack { ARRAY(size_t) open; }) stacks; /* by track: events to be ended */
	struct hashmap asynchronous; /* by id and name: the last span that is open */
	bool is_own;		     /* `brick export` wrote it */
	double base_ns;
	uint64_t start_unix_ns;
};

/* An event, valid until the next one is read. Members that it does not have are "" or NULL. */
struct chrome_event {
	const char *name, *phase, *category;
	const struct json_value *all, *args, *pid, *tid, *ts, *dur, *id, *id2;
	enum chrome_kind {
		CHROME_RANGE,
		CHROME_COMMAND,
		CHROME_OPERATOR,
		CHROME_PYTHON,
		CHROME_NODE,
		CHROME_SESSION,
		CHROME_LEFT_OUT, /* what the profiler says of itself, and ranges repeated on queues
				  */
		CHROME_ARROW,	 /* Kineto's; correlations say the same */
	} kind;
};

/* Members. */

static const char *chrome_text_of(const struct json_value *object, const char *key)
{
	const char *text = value_string(value_get(object, key));

	return text ? text : "";
}

/* The value of a number, which may stand in quotes. False: it is none. */
static bool chrome_number_of(const struct json_value *value, double *number)
{
	char *end = NULL;
	const char *text = value_string(value);

	if (!text)
		return value_real(value, number);
	if (!*text)
		return false;
	*number = strtod(text, &end);
	return !*end && *number - *number == 0;
}

static bool chrome_whole_of(const struct json_value *object, const char *key, uint64_t *whole)
{
	const struct json_value *value = value_get(object, key);
	int64_t exact = -1;
	double number;

	if (!value_whole(value, &exact) && chrome_number_of(value, &number) && number >= 0 &&
		number < 0x1p63)
		exact = (int64_t)number;
	if (exact < 0)
		return false;
	*whole = (uint64_t)exact;
	return true;
}

static uint32_t small_of(const struct json_value *object, const char *key)
{
	uint64_t whole = 0;

	return chrome_whole_of(object, key, &whole) && whole <= UINT32_MAX ? (uint32_t)whole : 0;
}

/* The number of a process or thread: files name these by numbers or by texts. */
static uint64_t chrome_id_of(const struct json_value *value)
{
	const char *text = value_string(value);
	int64_t whole;
	double number;

	if (value_whole(value, &whole))
		return (uint64_t)whole;
	if (chrome_number_of(value, &number) && number > -0x1p62 && number < 0x1p62)
		return (uint64_t)(int64_t)number;
	return text ? (1u << 30 | (fnv1a_text(text) & ((1u << 30) - 1))) : 0;
}

static uint32_t chrome_pid_of(const struct chrome_event *event)
{
	return (uint32_t)chrome_id_of(event->pid);
}

static uint64_t chrome_tid_of(const struct chrome_event *event)
{
	return chrome_id_of(event->tid);
}

static enum chrome_kind chrome_kind_of_category(const char *category)
{
	static const struct {
		const char *word;
		enum chrome_kind kind;
	} words[] = {{"cpu_op", CHROME_OPERATOR}, {"Operator", CHROME_OPERATOR},
		{"cpu_instant_event", CHROME_OPERATOR}, {"kernel", CHROME_COMMAND},
		{"gpu_memcpy", CHROME_COMMAND}, {"gpu_memset", CHROME_COMMAND},
		{"memcpy", CHROME_COMMAND}, {"memset", CHROME_COMMAND}, {"Trace", CHROME_LEFT_OUT},
		{"gpu_user_annotation", CHROME_LEFT_OUT}, {"overhead", CHROME_LEFT_OUT},
		{"cuda_sync", CHROME_LEFT_OUT}},
	  exact[] = {{"python_function", CHROME_PYTHON}, {"Node", CHROME_NODE},
		  {"Session", CHROME_SESSION}, {"ac2g", CHROME_ARROW}, {"fwdbwd", CHROME_ARROW}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!((*category ^ *words[i].word) & 0x1f) && !strcasecmp(category, words[i].word))
			return words[i].kind;
	for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
		if (!strcmp(category, exact[i].word))
			return exact[i].kind;
	return CHROME_RANGE;
}

/* Kernels. */

static void sizes(const struct json_value *args, const char *key, const char *first, uint32_t to[3])
{
	const struct json_value *array = value_get(args, key);
	bool is_array = array && array->kind == VALUE_ARRAY;
	const struct json_value *size = is_array ? value_first(array) : NULL;

	for (size_t i = 0; i < 3; i++) {
		char name[16];
		double number;
		to[i] = 0;
		if (size) {
			if (chrome_number_of(size, &number) && number >= 0 && number <= UINT32_MAX)
				to[i] = (uint32_t)number;
			size = value_behind(array, size);
		} else {
			snprintf(name, sizeof(name), "%s_%c", first, (int)('x' + i));
			to[i] = small_of(args, name);
		}
	}
}

static uint32_t chrome_kind_of(const char *name, const struct json_value *args)
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

static int chrome_kernel_of(struct imported *im, const char *name, const struct json_value *args)
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

static bool chrome_ends_with(const char *text, const char *end)
{
	size_t bytes = strlen(text), length = strlen(end);

	return bytes > length && !strcmp(text + bytes - length, end);
}

static bool chrome_is_left_out(const struct chrome_event *event)
{
	return event->kind == CHROME_LEFT_OUT ||
	       (event->kind == CHROME_NODE &&
		       (chrome_ends_with(event->name, "_fence_before") ||
			       chrome_ends_with(event->name, "_fence_after")));
}

static int chrome_own_name(
	struct chrome *c, const char *name, const char *category, const struct json_value *args)
{
	struct import_text text = {
		.naming = IMPORT_BRICK, .operation = category, .name = name, .layer = -1};
	double layer;

	if (chrome_number_of(value_get(args, "layer"), &layer) && layer >= -1 && layer <= INT16_MAX)
		text.layer = (int)layer;
	text.site_operation = value_string(value_get(args, "op"));
	text.label = value_string(value_get(args, "tensor"));
	text.flags |=
		chrome_whole_of(args, "elements", &text.elements) ? BRICK_SITE_HAS_ELEMENTS : 0;
	text.flags |= chrome_whole_of(args, "bytes", &text.bytes) ? BRICK_SITE_HAS_BYTES : 0;
	text.flags |= chrome_whole_of(args, "flops", &text.flops) ? BRICK_SITE_HAS_FLOPS : 0;
	return imported_name(c->im, &text);
}

static int node_name(struct chrome *c, const char *name, const char *operator)
{
	static const char suffix[] = "_kernel_time";
	size_t bytes = strlen(name);

	if (chrome_ends_with(name, suffix))
		bytes -= sizeof(suffix) - 1;
	SCOPED char *path = strndup(name, bytes);
	if (!path)
		return -ENOMEM;
	c->im->tool = "ONNX Runtime's profile";
	return imported_name(c->im,
		&(struct import_text){
			.naming = IMPORT_NODE, .operation = operator, .name = path, .layer = -1});
}

/* "[512,4096] [4096,1024] bf16": shapes of an operator's tensors, and the first one's type. */
static void chrome_shapes(const struct json_value *args, char *to, size_t size)
{
	static const char *const types[][2] = {{"c10::BFloat16", "bf16"}, {"c10::Half", "f16"},
		{"float", "f32"}, {"double", "f64"}, {"long int", "i64"}, {"long", "i64"},
		{"int", "i32"}, {"c10::Float8_e4m3fn", "f8"}, {"unsigned char", "u8"},
		{"bool", "bool"}};
	const struct json_value *shapes = value_get(args, "Input Dims");
	const struct json_value *types_of = value_get(args, "Input type"),
				*of = value_first(types_of);
	const char *type = NULL;
	size_t i, n = 0;

	*to = '\0';
	if (!shapes || shapes->kind != VALUE_ARRAY)
		return;
	VALUES_EACH (shape, shapes) {
		const struct json_value *own_type = of;
		size_t begin = n;
		double number;
		of = of ? value_behind(types_of, of) : NULL;
		if (shape->kind != VALUE_ARRAY || !value_real(value_first(shape), &number))
			continue;
		VALUES_EACH (dimension, shape) {
			if (n >= size)
				continue;
			number = 0;
			value_real(dimension, &number);
			n += (size_t)snprintf(to + n, size - n, "%s%.0f",
				dimension != value_first(shape) ? ","
				: begin				? " ["
								: "[",
				number);
		}
		if (n < size)
			n += (size_t)snprintf(to + n, size - n, "]");
		type = type ? type : value_string(own_type);
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
static int chrome_collective(
	struct chrome *c, const struct json_value *args, struct imported_event *e)
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
	char label[80] = "";
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
			!*group				 ? ""
			: isdigit((unsigned char)*group) ? " of group "
							 : " of ",
			group);
	return imported_name(c->im, &(struct import_text){.naming = IMPORT_BRICK,
					    .operation = "Communication",
					    .name = kinds[kind].brick,
					    .layer = -1,
					    .site_operation = name,
					    .label = label});
}

/* True if a device did it, by a file of Brick's own or of another tool's. */
static bool chrome_is_command(const struct chrome *c, const struct chrome_event *event)
{
	return c->is_own ? value_get(event->args, "kind") && value_get(event->args, "brick")
			 : event->kind == CHROME_COMMAND;
}

static int chrome_name_of(struct chrome *c, const struct chrome_event *event, bool is_command)
{
	const char *name = *event->name ? event->name : "(unnamed)";
	struct import_text text = {IMPORT_ANNOTATION, "", name, .layer = -1};
	char shapes[64];

	if (c->is_own)
		return chrome_own_name(c, is_command ? chrome_text_of(event->args, "brick") : name,
			event->category, event->args);
	if (event->kind == CHROME_NODE && *chrome_text_of(event->args, "op_name"))
		return node_name(c, name, chrome_text_of(event->args, "op_name"));
	if (event->kind == CHROME_SESSION && !strcmp(name, "model_run"))
		return chrome_own_name(c, "OtherStep", "Step", NULL);
	if (is_command)
		text.naming = IMPORT_KERNEL;
	else if (event->kind == CHROME_OPERATOR) {
		text.naming = IMPORT_OPERATOR;
		chrome_shapes(event->args, shapes, sizeof(shapes));
		text.label = *shapes ? shapes : NULL;
	} else if (event->kind == CHROME_PYTHON)
		text.naming = IMPORT_PYTHON;
	return imported_name(c->im, &text);
}

static int chrome_describe(
	struct chrome *c, const struct chrome_event *event, struct imported_event *e)
{
	const struct json_value *args = event->args;
	uint64_t stream = 0;

	e->is_command = chrome_is_command(c, event);
	bool is_collective =
		e->is_command && !c->is_own && *chrome_text_of(args, "Collective name");
	int said = is_collective ? chrome_collective(c, args, e)
				 : chrome_name_of(c, event, e->is_command);
	int track, kernel = 0;
	if (said < 0)
		return said;
	if (e->is_command) {
		if (!chrome_whole_of(args, "stream", &stream))
			stream = chrome_tid_of(event);
		uint32_t device = c->is_own		      ? 0
				  : value_get(args, "device") ? small_of(args, "device")
							      : chrome_pid_of(event);
		track = imported_queue(c->im, chrome_pid_of(event), c->is_own, device, stream);
		kernel = chrome_kernel_of(c->im, event->name, args);
		e->has_brick = c->is_own || is_collective;
		if (!c->is_own && !is_collective)
			chrome_whole_of(args, "bytes", &e->bytes);
	} else {
		track = imported_thread(c->im, chrome_pid_of(event), chrome_tid_of(event));
		if (c->im->is_capture && *chrome_text_of(args, "kernel"))
			kernel = chrome_kernel_of(c->im, chrome_text_of(args, "kernel"), args);
	}
	if (!c->is_own)
		chrome_whole_of(args, "correlation", &e->link);
	else if (brick_is_step(c->im->names.items[said].brick))
		chrome_whole_of(args, "elements", &e->tokens);
	e->name = (uint32_t)said;
	e->track = (uint32_t)track;
	e->kernel = kernel < 0 ? 0 : (uint16_t)kernel;
	return track < 0 ? track : kernel < 0 ? kernel : 0;
}

/*
 * Converts a number, which may stand in quotes, from us to ns. Digits are added up as integers,
 * because a double has too few. The 4th decimal rounds. False: no number, or too large.
 */
static bool chrome_ns(const struct json_value *value, int64_t *ns)
{
	if (!value || (value->kind != VALUE_NUMBER && value->kind != VALUE_TEXT))
		return false;
	const char *us = value->text;
	bool is_negative = *us == '-';
	uint64_t ns_of = 0;
	int digits = 0, places = -1;

	us += is_negative;
	const char *begin = us;
	for (;; us++) {
		if (*us == '.' && places < 0) {
			places = 0;
			continue;
		}
		if (*us < '0' || *us > '9')
			break;
		digits++;
		if (places >= 3) {
			ns_of += places == 3 && *us >= '5';
			places++;
			continue;
		}
		if (ns_of > (uint64_t)INT64_MAX / 20)
			return false;
		ns_of = ns_of * 10 + (uint64_t)(*us - '0');
		places += places >= 0;
	}
	for (int p = places < 0 ? 0 : places; p < 3; p++) {
		if (ns_of > (uint64_t)INT64_MAX / 20)
			return false;
		ns_of *= 10;
	}
	if (*us == 'e' || *us == 'E') {
		long double exact = strtold(begin, NULL) * 1000;
		if (!(exact >= 0 && exact < 4e18L))
			return false;
		ns_of = (uint64_t)(exact + 0.5L);
	}
	*ns = is_negative ? -(int64_t)ns_of : (int64_t)ns_of;
	return digits > 0;
}

static int slice(struct chrome *c, const struct chrome_event *event, uint64_t begin, bool is_begin)
{
	struct imported_event e = {.begin = begin, .end = UINT64_MAX, .is_open = true};
	int64_t length;

	if (!c->is_own && chrome_is_left_out(event)) {
		c->im->left_out++;
		return 0;
	}
	if (!is_begin && event->dur) {
		if (!chrome_ns(event->dur, &length) || length >= (int64_t)BIAS)
			return reader_fail_loaded(
				&c->reader, "\"dur\" must be a number of microseconds");
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

static int chrome_end_slice(struct chrome *c, const struct chrome_event *event, uint64_t ns)
{
	int track = imported_thread(c->im, chrome_pid_of(event), chrome_tid_of(event));

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
		return reader_fail_loaded(&c->reader, "it ends before it began");
	e->end = ns;
	e->is_open = false;
	return 0;
}

/*
 * A span that is no thread's. Its begin and its end have the same id, process, category and name;
 * of several open ones, the innermost ends first.
 */
static int chrome_asynchronous(
	struct chrome *c, const struct chrome_event *event, uint64_t ns, bool is_begin)
{
	const struct json_value *id = event->id;
	const char *name = event->name;
	uint32_t pid = chrome_pid_of(event);
	uint64_t key;

	if (!id)
		id = value_get(event->id2, "local");
	if (!id)
		id = value_get(event->id2, "global");
	key = hash_add(hash_add(pid, chrome_id_of(id)), fnv1a_text(name)) ^
	      fnv1a_text(event->category);
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
			.kernel = (uint16_t)kernel,
			.track = (uint32_t)track,
			.name = (uint32_t)said,
			/* until it ends: the span with its key that is open, too */
			.number = at == HASHMAP_NONE ? 0 : (uint32_t)at + 1};
		int error = imported_add(c->im, &e);
		return error ? error : hashmap_set(&c->asynchronous, key, c->im->events.count - 1);
	}
	if (at == HASHMAP_NONE || !c->im->events.items[at].is_open) {
		c->im->unmatched++;
		return 0;
	}
	struct imported_event *e = &c->im->events.items[at];
	if (ns < e->begin)
		return reader_fail_loaded(&c->reader, "it ends before it began");
	e->end = ns;
	e->is_open = false;
	return e->number ? hashmap_set(&c->asynchronous, key, e->number - 1) : 0;
}

static int say_name(struct chrome *c, const struct chrome_event *event)
{
	const char *text = chrome_text_of(event->args, "name");

	if (!strcmp(event->name, "process_name"))
		return imported_say_process(c->im, chrome_pid_of(event), text);
	if (!strcmp(event->name, "thread_name"))
		return imported_say_thread(c->im, chrome_pid_of(event), chrome_tid_of(event), text);
	return 0;
}

static int arrow(struct chrome *c, const struct chrome_event *event, uint64_t ns, bool is_start)
{
	struct arrow a = {.ns = ns,
		.pid = chrome_pid_of(event),
		.tid = chrome_tid_of(event),
		.is_start = is_start};

	if (!c->is_own || strcmp(event->name, "launch") != 0 ||
		!chrome_whole_of(event->all, "id", &a.id))
		return 0;
	return array_push(&c->arrows, a);
}

/* PyTorch tells of each allocation how much is allocated then; type 0 is the host's memory. */
static int chrome_allocated(struct chrome *c, const struct json_value *args)
{
	uint64_t type = 0, bytes = 0;

	c->im->left_out++;
	if (!chrome_whole_of(args, "Device Type", &type) || !type ||
		!chrome_whole_of(args, "Total Allocated", &bytes))
		return 0;
	return imported_say_allocated(c->im, small_of(args, "Device Id"), bytes);
}

/* The members of an event; of two that are called alike, the last one holds. */
static struct chrome_event chrome_members(const struct json_value *all)
{
	struct chrome_event event = {.name = "", .phase = "", .category = "", .all = all};

	VALUES_EACH (v, all) {
		const char *text = v->kind == VALUE_TEXT ? v->text : "";
		if (value_key_is(v, "ph"))
			event.phase = text;
		else if (value_key_is(v, "cat"))
			event.category = text;
		else if (value_key_is(v, "name"))
			event.name = text;
		else if (value_key_is(v, "pid"))
			event.pid = v;
		else if (value_key_is(v, "tid"))
			event.tid = v;
		else if (value_key_is(v, "ts"))
			event.ts = v;
		else if (value_key_is(v, "dur"))
			event.dur = v;
		else if (value_key_is(v, "args"))
			event.args = v;
		else if (value_key_is(v, "id"))
			event.id = v;
		else if (value_key_is(v, "id2"))
			event.id2 = v;
	}
	event.kind = chrome_kind_of_category(event.category);
	return event;
}

static int chrome_take_event(struct chrome *c, const struct json_value *all)
{
	if (all->kind != VALUE_OBJECT)
		return reader_fail_loaded(&c->reader, "an event must be an object");
	const struct chrome_event event = chrome_members(all);
	const char phase = *event.phase;
	int64_t ns = 0;

	if (event.kind == CHROME_ARROW && !c->is_own)
		return 0;
	if (!phase)
		return reader_fail_loaded(&c->reader, "an event must have a phase (\"ph\")");
	if (phase == 'M')
		return say_name(c, &event);
	if (phase == 'i' && !strcmp(event.name, "[memory]"))
		return chrome_allocated(c, event.args);
	if (!strchr("XBEsfbeSF", phase)) {
		c->im->left_out += phase != 't';
		return 0;
	}
	if (!chrome_ns(event.ts, &ns) || ns <= -(int64_t)BIAS || ns >= (int64_t)BIAS)
		return reader_fail_loaded(&c->reader, "\"ts\" must be a number of microseconds");
	uint64_t biased = (uint64_t)ns + BIAS;
	if (strchr("beSF", phase))
		return chrome_asynchronous(c, &event, biased, phase == 'b' || phase == 'S');
	if (phase == 's' || phase == 'f')
		return arrow(c, &event, biased, phase == 's');
	return phase == 'E' ? chrome_end_slice(c, &event, biased)
			    : slice(c, &event, biased, phase == 'B');
}

static int chrome_take_devices(struct chrome *c, const struct json_value *devices)
{
	VALUES_EACH (device, devices) {
		uint64_t processors = 0, bytes = 0;
		chrome_whole_of(device, "numSms", &processors);
		chrome_whole_of(device, "totalGlobalMem", &bytes);
		if (imported_say_device(c->im, small_of(device, "id"),
			    chrome_text_of(device, "name"), processors, bytes))
			return -ENOMEM;
	}
	return 0;
}

/* What `brick export` says of the recording. */
static int chrome_take_own(struct chrome *c, const struct json_value *said)
{
	if (!value_get(said, "start_monotonic_ns"))
		return 0;
	c->is_own = c->im->queues_are_threads = true;
	c->im->tool = "a Chrome export of Brick";
	c->im->begin = BIAS; /* not the first event, but the program's start */
	c->start_unix_ns = strtoull(chrome_text_of(said, "start_unix_ns"), NULL, 10);
	VALUES_EACH (word, value_get(said, "command")) {
		const char *text = value_string(word);
		if (text && imported_command_add(c->im, text))
			return -ENOMEM;
	}
	return 0;
}

/* Reads the array of events. */
static int chrome_take_events(struct chrome *c, bool may_be_cut)
{
	const struct json_value *event;
	struct json_walk walk;
	int error = reader_enter(&c->reader, '[', &walk);

	walk.may_be_cut = may_be_cut;
	while (!error && (error = reader_next(&c->reader, &walk)) > 0) {
		error = reader_load(&c->reader, &event);
		if (!error)
			error = chrome_take_event(c, event);
	}
	return error;
}

/* The process's rank in its job, as torch.distributed has it. */
static void chrome_take_rank(struct chrome *c, const struct json_value *info)
{
	uint64_t rank, world;

	if (!chrome_whole_of(info, "rank", &rank) || !chrome_whole_of(info, "world_size", &world) ||
		rank >= world || world > INT32_MAX)
		return;
	c->im->rank = (int32_t)rank;
	c->im->world = (int32_t)world;
}

/* Takes a member of the file's object. 1: it held events; 0: none; or an error. */
static int chrome_take_member(struct chrome *c)
{
	const char *name = c->reader.name;
	const struct json_value *value;
	int error;

	if (!strcmp(name, "traceEvents")) {
		error = chrome_take_events(c, false);
		return error ? error : 1;
	}
	if (!strcmp(name, "rocprofiler-sdk-tool")) {
		error = import_rocprof_json(c->im, &c->reader);
		return error ? error : 1;
	}
	bool is_base = !strcmp(name, "baseTimeNanoseconds");
	bool is_own = !strcmp(name, "otherData"), is_device = !strcmp(name, "deviceProperties");
	bool is_rank = !strcmp(name, "distributedInfo");
	if (is_device || !strcmp(name, "schemaVersion"))
		c->im->tool = "Kineto's trace";
	if (!is_base && !is_own && !is_device && !is_rank)
		return reader_skip(&c->reader);
	error = reader_load(&c->reader, &value);
	if (error)
		return error;
	if (is_base)
		chrome_number_of(value, &c->base_ns);
	if (is_rank)
		chrome_take_rank(c, value);
	return is_device ? chrome_take_devices(c, value) : is_own ? chrome_take_own(c, value) : 0;
}

/*
 * Reads an array of events, or an object that has one. An array at the top may lack its end, as
 * programs that are killed leave it.
 */
static int chrome_read(struct chrome *c)
{
	struct json_reader *r = &c->reader;
	struct json_walk walk;
	bool has_events = false;
	int first = reader_next_byte(r), found;

	if (first < 0)
		return first;
	if (first == '[') {
		found = chrome_take_events(c, true);
		return found ? found : reader_end(r);
	}
	if (first != '{')
		return reader_fail(r, "it begins with neither an array nor an object");
	found = reader_enter(r, '{', &walk);
	while (!found && (found = reader_next(r, &walk)) > 0) {
		found = chrome_take_member(c);
		has_events = has_events || found > 0;
		found = found > 0 ? 0 : found;
	}
	if (!found)
		found = reader_end(r);
	if (found || has_events)
		return found;
	snprintf(r->error->text, sizeof(r->error->text),
		"line 1, byte 0: there is no array \"traceEvents\" in it");
	return BRICK_EFORMAT;
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
	struct chrome c = {.im = im};

	im->tool = "a Chrome trace";
	reader_init(&c.reader, source, error);
	int result = chrome_read(&c);
	if (!result) {
		result = follow_arrows(&c);
		find_start(&c);
	}
	for (size_t i = 0; i < c.stacks.count; i++)
		array_fini(&c.stacks.items[i].open);
	array_fini(&c.stacks);
	array_fini(&c.arrows);
	reader_fini(&c.reader);
	hashmap_fini(&c.asynchronous);
	if (result == -ENOMEM)
		snprintf(error->text, sizeof(error->text), "not enough memory");
	return result;
}
