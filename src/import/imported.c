/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what a file says, and decides which brick each name becomes. */
#include "import/imported.h"

#include <stdio.h>
#include <string.h>
#include "base/fnv.h"
#include "base/hash.h"
#include "base/utf8.h"

enum {
	NAME_BYTES = 48, /* of a brick or category, as in the session */
	MAX_TEXT = 2048, /* of a name in the file that is looked at; see imported_key_of() */
};

static void index_brick(struct imported *im, uint32_t brick)
{
	hash_index_add(&im->brick_index, fnv1a_text(im->bricks[brick].name), brick);
}

static void imported_well_known(struct imported *im)
{
	static const struct {
		const char *name;
		uint16_t category;
	} bricks[] = {
#define BRICK_X(id, identifier, text, kind, aliases) [id] = {text, BRICK_CATEGORY_##kind},
		BRICK_WELL_KNOWN(BRICK_X) BRICK_BUILT_IN(BRICK_X)
#undef BRICK_X
	};
	static const char *const categories[] = {"Norm", "Attention", "FFN", "Other", "Sparse",
		"FFT", "Solver", "Engine", "Wait", "Step", "Tile"};

	for (size_t i = 0; i < sizeof(bricks) / sizeof(bricks[0]); i++) {
		utf8_field(im->bricks[i].name, NAME_BYTES, bricks[i].name);
		im->bricks[i].category = bricks[i].category;
		index_brick(im, (uint32_t)i);
	}
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		utf8_field(im->categories[i].name, NAME_BYTES, categories[i]);
	im->brick_count = sizeof(bricks) / sizeof(bricks[0]);
	im->category_count = sizeof(categories) / sizeof(categories[0]);
}

int imported_init(struct imported *im)
{
	struct rules_error error;

	memset(im, 0, sizeof(*im));
	im->brick_index = (struct hash_index){.slots = im->brick_slots,
		.capacity = sizeof(im->brick_slots) / sizeof(*im->brick_slots),
		.is_fixed = true};
	imported_well_known(im);
	if (rules_parse(&im->annotations, rule_set_import_annotations_text,
		    rule_set_import_annotations_bytes, &error) ||
		rules_parse(&im->operators, rule_set_import_torch_text, rule_set_import_torch_bytes,
			&error) ||
		rules_parse(&im->files, rule_set_import_files_text, rule_set_import_files_bytes,
			&error))
		return -ENOMEM;
	/* index 0 means "none" in both */
	return array_push(&im->sites, (struct brick_session_site){0}) ||
			       array_push(&im->kernels, (struct brick_session_kernel){0})
		       ? -ENOMEM
		       : 0;
}

void imported_fini(struct imported *im)
{
	for (size_t i = 0; i < im->keys.count; i++)
		free(im->keys.items[i].bytes);
	array_fini(&im->keys);
	array_fini(&im->key);
	array_fini(&im->processes);
	array_fini(&im->tracks);
	array_fini(&im->events);
	array_fini(&im->names);
	array_fini(&im->kernels);
	array_fini(&im->launched);
	array_fini(&im->said);
	for (size_t i = 0; i < im->command.count; i++)
		free(im->command.items[i]);
	array_fini(&im->command);
	array_fini(&im->sites);
	hash_index_fini(&im->name_index);
	hash_index_fini(&im->track_index);
	hash_index_fini(&im->kernel_index);
	hash_index_fini(&im->process_index);
	hashmap_fini(&im->layer_sites);
	hashmap_fini(&im->device_of);
	array_fini(&im->devices);
	rules_destroy(im->annotations);
	rules_destroy(im->operators);
	rules_destroy(im->files);
}

/* Processes, tracks and kernels. */

int imported_process(struct imported *im, uint32_t pid)
{
	struct hash_probe probe = hash_probe(hash_u64(pid));

	for (uint32_t i; (i = hash_index_next(&im->process_index, &probe)) != HASH_INDEX_NONE;)
		if (im->processes.items[i].pid == pid)
			return (int)i;
	if (hash_index_reserve(&im->process_index) ||
		array_push(&im->processes, (struct imported_process){.pid = pid}))
		return -ENOMEM;
	hash_index_add(&im->process_index, hash_u64(pid), (uint32_t)im->processes.count - 1);
	return (int)im->processes.count - 1;
}

static int track(struct imported *im, const struct imported_track *wanted)
{
	uint64_t hash = hash_u64(hash_u64(wanted->process * 2 + wanted->is_queue) + wanted->tid) +
			wanted->device;
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&im->track_index, &probe)) != HASH_INDEX_NONE;) {
		const struct imported_track *t = &im->tracks.items[i];
		if (t->process == wanted->process && t->tid == wanted->tid &&
			t->is_queue == wanted->is_queue && t->device == wanted->device)
			return (int)i;
	}
	if (hash_index_reserve(&im->track_index) || array_push(&im->tracks, *wanted))
		return -ENOMEM;
	hash_index_add(&im->track_index, hash, (uint32_t)im->tracks.count - 1);
	return (int)im->tracks.count - 1;
}

int imported_thread(struct imported *im, uint32_t pid, uint64_t tid)
{
	int process = imported_process(im, pid);

	return process < 0 ? process
			   : track(im, &(struct imported_track){.process = (uint64_t)process,
					       .tid = tid,
					       .has_process = true});
}

int imported_queue(
	struct imported *im, uint32_t pid, bool has_process, uint32_t device, uint64_t stream)
{
	struct imported_track queue = {
		.tid = stream, .is_queue = true, .device = device, .has_process = has_process};
	int process = has_process ? imported_process(im, pid) : 0;

	if (process < 0)
		return process;
	/* UINT64_MAX: the launches of its commands will tell whose the queue is */
	queue.process = has_process ? (uint64_t)process : UINT64_MAX;
	snprintf(queue.name, sizeof(queue.name), "device %u stream %llu", device,
		(unsigned long long)stream);
	return track(im, &queue);
}

int imported_asynchronous(struct imported *im, uint32_t pid)
{
	int process = imported_process(im, pid);

	return process < 0 ? process
			   : track(im, &(struct imported_track){.process = (uint64_t)process,
					       .is_queue = true,
					       .has_process = true,
					       .is_asynchronous = true,
					       .device = UINT32_MAX,
					       .name = "Asynchronous"});
}

void imported_kernel_init(
	struct brick_session_kernel *kernel, uint32_t kind, const char *backend, const char *name)
{
	memset(kernel, 0, sizeof(*kernel));
	kernel->kind = kind;
	utf8_field(kernel->backend, sizeof(kernel->backend), backend);
	imported_fit(kernel->name, sizeof(kernel->name), name);
}

int imported_host_kernel(struct imported *im, const char *name)
{
	struct brick_session_kernel kernel;

	imported_kernel_init(&kernel, BRICK_KERNEL_OTHER, BRICK_HOST_BACKEND, name);
	return imported_kernel(im, &kernel);
}

int imported_kernel(struct imported *im, const struct brick_session_kernel *kernel)
{
	uint64_t hash = hash_bytes(kernel, sizeof(*kernel));
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&im->kernel_index, &probe)) != HASH_INDEX_NONE;)
		if (!memcmp(&im->kernels.items[i], kernel, sizeof(*kernel)))
			return (int)i;
	if (im->kernels.count == BRICK_MAX_KERNELS)
		return 0;
	if (hash_index_reserve(&im->kernel_index) || array_push(&im->kernels, *kernel))
		return -ENOMEM;
	hash_index_add(&im->kernel_index, hash, (uint32_t)im->kernels.count - 1);
	return (int)im->kernels.count - 1;
}

/* Names. */

static uint16_t category_of(struct imported *im, const char *name)
{
	for (uint32_t i = 0; i < im->category_count; i++)
		if (!strncmp(im->categories[i].name, name, NAME_BYTES - 1))
			return (uint16_t)i;
	if (im->category_count == BRICK_MAX_CATEGORIES)
		return BRICK_CATEGORY_OTHER;
	utf8_field(im->categories[im->category_count].name, NAME_BYTES, name);
	return (uint16_t)im->category_count++;
}

/* Names that do not fit keep both ends: what differs stands at the end of many. */
static void imported_shorten(char *to, const char *name)
{
	size_t bytes = strlen(name);

	if (bytes < NAME_BYTES) {
		memcpy(to, name, bytes + 1);
		return;
	}
	size_t head = utf8_cut(name, NAME_BYTES / 2 - 4), tail = bytes - (NAME_BYTES / 2);
	while (((unsigned char)name[tail] & 0xc0) == 0x80)
		tail++;
	snprintf(to, NAME_BYTES, "%.*s..%s", (int)head, name, name + tail);
}

void imported_fit(char *to, size_t size, const char *name)
{
	size_t bytes = strlen(name);

	if (bytes < size) {
		utf8_field(to, size, name);
		return;
	}
	size_t head = utf8_cut(name, size / 2 - 8), tail = bytes - (size / 2 - 4);
	while (((unsigned char)name[tail] & 0xc0) == 0x80)
		tail++;
	snprintf(to, size, "%.*s..%04x..%s", (int)head, name, (unsigned)(fnv1a_text(name) & 0xffff),
		name + tail);
}

static uint16_t imported_brick_of(struct imported *im, const char *text, const char *category)
{
	char name[NAME_BYTES] = "";

	imported_shorten(name, text);
	struct hash_probe probe = hash_probe(fnv1a_text(name));
	for (uint32_t i; (i = hash_index_next(&im->brick_index, &probe)) != HASH_INDEX_NONE;)
		if (!strcmp(im->bricks[i].name, name))
			return (uint16_t)i;
	/* the last brick stands for all names for which none is left */
	bool is_last = im->brick_count >= BRICK_MAX_BRICKS - 1;
	im->unnamed += is_last;
	if (im->brick_count == BRICK_MAX_BRICKS)
		return BRICK_MAX_BRICKS - 1;
	struct brick_session_brick *brick = &im->bricks[im->brick_count];
	utf8_field(brick->name, NAME_BYTES, is_last ? "OtherRanges" : name);
	brick->category = is_last || !category ? BRICK_CATEGORY_OTHER : category_of(im, category);
	index_brick(im, im->brick_count);
	return (uint16_t)im->brick_count++;
}

/* As imported_brick_of(), for names in a file: a brick that is called like a step is not one. */
static uint16_t brick_of_own_name(struct imported *im, const char *text, const char *category)
{
	char other[MAX_TEXT + 8];
	uint16_t brick = imported_brick_of(im, text, category);

	if (!brick_is_step(brick))
		return brick;
	snprintf(other, sizeof(other), "%s range", text);
	return imported_brick_of(im, other, category);
}

static bool imported_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Copies the text with '#' in place of numbers that touch no letter. */
static void imported_family(char to[MAX_TEXT + 1], const char *text)
{
	size_t n = 0, bytes = utf8_cut(text, MAX_TEXT);

	for (size_t i = 0; i < bytes;) {
		size_t end = i;
		while (end < bytes && text[end] >= '0' && text[end] <= '9')
			end++;
		bool alone = end > i && !(i && imported_is_letter(text[i - 1])) &&
			     !(end < bytes && imported_is_letter(text[end]));
		if (alone) { /* "Step#3" is "Step#" */
			if (!n || to[n - 1] != '#')
				to[n++] = '#';
			i = end;
		} else {
			do
				to[n++] = text[i++];
			while (i < end);
		}
	}
	to[n] = '\0';
}

static void imported_ask(const struct rules *rules, const char *operation, const char *name,
	struct rules_verdict *verdict)
{
	const struct rules_source none = {"-", "-"};
	const struct rules_node node = {operation, name, &none, 1};
	struct rules_verdict one;

	rules_apply(rules, &node, &one);
	if (verdict->layer < 0)
		verdict->layer = one.layer;
	if (!verdict->brick) {
		verdict->brick = one.brick;
		verdict->category = one.category;
	}
}

static const uint16_t phase_bricks[] = {[BRICK_PHASE_PREFILL] = BRICK_PREFILL,
	[BRICK_PHASE_DECODE] = BRICK_DECODE,
	[BRICK_PHASE_MIXED] = BRICK_MIXED,
	[BRICK_PHASE_WARM_UP] = BRICK_WARM_UP,
	[BRICK_PHASE_OTHER] = BRICK_OTHER_STEP};

/* A step by a rule, or by the user's pattern. */
static bool imported_is_step(struct imported *im, const struct import_text *text, const char *label,
	struct imported_name *to)
{
	struct rules_step step = {.phase = BRICK_PHASE_OTHER};
	int number;

	if (im->steps ? !rules_pattern_matches(im->steps, text->name, &number)
		      : text->naming != IMPORT_ANNOTATION ||
				!rules_step(im->annotations, label, &step))
		return false;
	to->brick = phase_bricks[step.phase];
	to->tokens = (uint64_t)step.prompt + step.output;
	if (to->tokens)
		to->brick = !step.output ? BRICK_PREFILL : step.prompt ? BRICK_MIXED : BRICK_DECODE;
	if (to->brick == BRICK_MIXED && to->tokens)
		to->tokens = brick_mixed_tokens(step.prompt, step.output);
	return true;
}

/* Cuts the address of an object off the name of a frame of Python. */
static void imported_cut_address(char *label)
{
	char *address = strstr(label, " at 0x");

	if (address)
		snprintf(address, 2, ">");
}

/* Asks the rules about a text. True: it is a step, which has no site. */
static bool imported_judge(struct imported *im, const struct import_text *text,
	struct imported_name *to, char label[MAX_TEXT + 1])
{
	struct rules_verdict verdict = {NULL, NULL, IMPORT_NO_LAYER};
	char own[MAX_TEXT + 1];
	const char *name = text->name, *operation = text->operation, *category = NULL;

	snprintf(label, MAX_TEXT + 1, "%s", text->name);
	if (text->naming == IMPORT_ANNOTATION) {
		const char *part;
		size_t bytes = rules_name(im->annotations, name, strnlen(name, MAX_TEXT), &part);
		snprintf(label, MAX_TEXT + 1, "%.*s", (int)bytes, part);
	}
	if (imported_is_step(im, text, label, to))
		return true;
	if (text->naming == IMPORT_ANNOTATION) {
		imported_ask(im->annotations, *operation ? operation : "-", label, &verdict);
		imported_ask(im->operators, label, "-", &verdict);
		imported_ask(im->files, "range", label, &verdict);
	} else if (text->naming == IMPORT_OPERATOR) {
		imported_ask(im->operators, name, "-", &verdict);
		imported_ask(im->files, "operator", name, &verdict);
	} else if (text->naming == IMPORT_NODE) {
		/* paths of modules are written with dots in the rules */
		for (char *c = label; *c; c++)
			if (*c == '/')
				*c = '.';
		imported_ask(im->files, operation, label, &verdict);
		imported_ask(im->annotations, operation, label, &verdict);
		snprintf(label, MAX_TEXT + 1, "%s", text->name);
	} else if (text->naming == IMPORT_KERNEL) {
		imported_ask(im->files, "kernel", name, &verdict);
	} else if (text->naming == IMPORT_PYTHON) {
		imported_cut_address(label);
		imported_ask(im->files, "python", label, &verdict);
		category = strncmp(name, "nn.Module: ", 11) != 0 ? "Python" : "Module";
		to->is_python = true;
	}
	to->layer = (int16_t)verdict.layer;
	to->is_known = verdict.brick;
	imported_family(own, text->naming == IMPORT_NODE ? operation : label);
	to->brick = verdict.brick ? imported_brick_of(im, verdict.brick, verdict.category)
				  : brick_of_own_name(im, *own ? own : "(unnamed)", category);
	uint16_t kind = im->bricks[to->brick].category;
	to->is_engine = kind == BRICK_CATEGORY_ENGINE || kind == BRICK_CATEGORY_WAIT;
	return false;
}

static int make_name(struct imported *im, const struct import_text *text)
{
	struct brick_session_site site = {.layer = IMPORT_NO_LAYER};
	struct imported_name name = {.layer = IMPORT_NO_LAYER};
	char label[MAX_TEXT + 1];
	bool is_step = false;
	const char *operation = text->operation;

	if (text->naming == IMPORT_BRICK) {
		name.brick = imported_brick_of(im, text->name, text->operation);
		name.layer = (int16_t)text->layer;
		name.is_known = name.has_own_layer = true;
		site.flags = text->flags;
		site.elements = text->elements;
		site.bytes = text->bytes;
		site.flops = text->flops;
		snprintf(label, sizeof(label), "%s", text->label ? text->label : "");
		operation = text->site_operation ? text->site_operation : "";
		is_step = brick_is_step(name.brick);
	} else {
		is_step = imported_judge(im, text, &name, label);
		if (text->naming == IMPORT_OPERATOR)
			operation = text->name;
		if (text->naming == IMPORT_OPERATOR && text->label)
			snprintf(label, sizeof(label), "%s", text->label);
	}
	if (!is_step && im->sites.count < BRICK_MAX_SITES) {
		site.brick = name.brick;
		site.layer = name.layer;
		utf8_field(site.operation, sizeof(site.operation), operation);
		utf8_field(site.label, sizeof(site.label), label);
		name.site = (uint32_t)im->sites.count;
		if (array_push(&im->sites, site))
			return -ENOMEM;
	}
	return array_push(&im->names, name);
}

uint32_t imported_site_in_layer(struct imported *im, uint32_t site, int16_t layer)
{
	uint64_t key = (uint64_t)site << 16 | (uint16_t)layer;
	uint64_t found = hashmap_get(&im->layer_sites, key);

	if (found != HASHMAP_NONE)
		return (uint32_t)found;
	if (im->sites.count == BRICK_MAX_SITES)
		return site;
	struct brick_session_site copy = im->sites.items[site];
	copy.layer = layer;
	if (array_push(&im->sites, copy) || hashmap_set(&im->layer_sites, key, im->sites.count - 1))
		return site;
	return (uint32_t)im->sites.count - 1;
}

/* Makes im->key the key of a text: equal keys become one name. 0 or -ENOMEM. */
static int imported_key_of(struct imported *im, const struct import_text *text)
{
	const uint64_t numbers[] = {text->naming, (uint64_t)text->layer, text->flags,
		text->elements, text->bytes, text->flops};
	const char *const texts[] = {text->operation, text->name,
		text->site_operation ? text->site_operation : "", text->label ? text->label : ""};

	im->key.count = 0;
	if (array_append(&im->key, (const char *)numbers, sizeof(numbers)))
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (array_append(&im->key, texts[i], strnlen(texts[i], MAX_TEXT)) ||
			array_push(&im->key, '\0'))
			return -ENOMEM;
	return 0;
}

int imported_name(struct imported *im, const struct import_text *text)
{
	if (imported_key_of(im, text))
		return -ENOMEM;
	uint64_t hash = hash_bytes(im->key.items, im->key.count);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&im->name_index, &probe)) != HASH_INDEX_NONE;)
		if (im->keys.items[i].count == im->key.count &&
			!memcmp(im->keys.items[i].bytes, im->key.items, im->key.count))
			return (int)i;
	struct imported_key key = {malloc(im->key.count), im->key.count};
	if (!key.bytes || hash_index_reserve(&im->name_index) || array_push(&im->keys, key)) {
		free(key.bytes);
		return -ENOMEM;
	}
	memcpy(key.bytes, im->key.items, key.count);
	if (make_name(im, text))
		return -ENOMEM;
	hash_index_add(&im->name_index, hash, (uint32_t)im->names.count - 1);
	return (int)im->names.count - 1;
}

int imported_add(struct imported *im, const struct imported_event *event)
{
	_Static_assert(BRICK_MAX_KERNELS <= UINT16_MAX, "a kernel's index fits into an event");
	/* events are found by numbers of 32 bits */
	return im->events.count < UINT32_MAX - 1 ? array_push(&im->events, *event) : -ENOMEM;
}

static int imported_say(struct imported *im, struct imported_said said, const char *name)
{
	utf8_field(said.text, sizeof(said.text), name);
	return array_push(&im->said, said);
}

int imported_say_process(struct imported *im, uint32_t pid, const char *name)
{
	return imported_say(im, (struct imported_said){.pid = pid, .is_process = true}, name);
}

int imported_say_thread(struct imported *im, uint32_t pid, uint64_t tid, const char *name)
{
	return *name ? imported_say(im, (struct imported_said){.pid = pid, .tid = tid}, name) : 0;
}

/* The device of that number, made if there is none; NULL: no memory. */
static struct imported_device *imported_device_of(struct imported *im, uint32_t number)
{
	uint64_t at = hashmap_get(&im->device_of, number);

	if (at == HASHMAP_NONE) {
		at = im->devices.count;
		if (array_push(&im->devices, (struct imported_device){.device = number}) ||
			hashmap_set(&im->device_of, number, at))
			return NULL;
	}
	return &im->devices.items[at];
}

int imported_say_device(struct imported *im, uint32_t number, const char *name, uint64_t processors,
	uint64_t memory_bytes)
{
	struct imported_device *device = imported_device_of(im, number);

	if (!device)
		return -ENOMEM;
	utf8_field(device->name, sizeof(device->name) - 32, name);
	if (*name && processors)
		snprintf(device->name + strlen(device->name), 32, ", %llu SMs",
			(unsigned long long)processors);
	device->memory_bytes = memory_bytes;
	return 0;
}

int imported_say_allocated(struct imported *im, uint32_t number, uint64_t bytes)
{
	struct imported_device *device = imported_device_of(im, number);

	if (!device)
		return -ENOMEM;
	device->peak_bytes = bytes > device->peak_bytes ? bytes : device->peak_bytes;
	return 0;
}

int imported_command_add(struct imported *im, const char *word)
{
	char *copy = strdup(word);

	if (!im->command.count && array_push(&im->command, NULL)) {
		free(copy);
		return -ENOMEM;
	}
	if (!copy || array_push(&im->command, NULL)) {
		free(copy);
		return -ENOMEM;
	}
	im->command.items[im->command.count - 2] = copy;
	return 0;
}
