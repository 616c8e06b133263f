/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames are addresses until their names come, at the end of a recording. Then addresses of one
 * function become one, and the stacks' tree is made anew of functions. If the recorder was killed
 * before it told names, they come from the files that were mapped, where these are still there.
 */
#include "trace/load_stacks.h"

#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/order.h"
#include "format/format.h"

/* The most functions in one stack; no recorder writes more. */
enum { MAX_DEPTH = 1024 };

/* Texts and ids. */

/* Reads fields that are numbers into values[number], as far as there is room. */
static bool read_numbers(struct pb_reader in, uint64_t *values, uint32_t count)
{
	struct pb_field f;
	int more;

	while ((more = pb_next(&in, &f)) > 0)
		if (f.wire == PB_VARINT && f.number < count)
			values[f.number] = f.value;
	return !more;
}

static struct pb_reader load_stacks_cut(struct pb_reader text)
{
	return pb_reader(text.at, pb_size(text) < BUILD_MAX_TEXT ? pb_size(text) : BUILD_MAX_TEXT);
}

static bool load_stacks_set(struct build *b, struct hashmap *map, uint64_t id, size_t value)
{
	if (hashmap_set(map, id, value))
		build_no_memory(b);
	return !b->result;
}

/* Keeps a text of the sequence. */
static bool on_text(
	struct load_stacks *l, struct build *b, struct hashmap *map, struct pb_reader in)
{
	struct load_entry entry;

	if (!load_entry(in, &entry))
		return false;
	size_t bytes = pb_size(load_stacks_cut(entry.text));
	uint8_t *copy = malloc(bytes + 1);
	if (!copy || array_push(&l->texts, pb_reader(copy, bytes))) {
		free(copy);
		build_no_memory(b);
		return false;
	}
	memcpy(copy, entry.text.at, bytes);
	return load_stacks_set(b, map, entry.iid, l->texts.count - 1);
}

/* The text of that id; "" if there is none. */
static struct pb_reader load_stacks_text_of(
	const struct load_stacks *l, const struct hashmap *map, uint64_t id)
{
	uint64_t number = hashmap_get(map, id);

	return number == HASHMAP_NONE ? pb_reader("", 0) : l->texts.items[number];
}

/* Objects, frames, stacks. */

/* RUN_NONE: its build ID is none, or no memory. */
static uint32_t load_stacks_object_of(
	struct load_stacks *l, struct build *b, struct pb_reader path, struct pb_reader build_id)
{
	struct load_object object = {.build_id_bytes = pb_size(build_id)};

	if (object.build_id_bytes > sizeof(object.build_id))
		return RUN_NONE;
	memcpy(object.build_id, build_id.at, object.build_id_bytes);
	path = load_stacks_cut(path);
	uint64_t hash =
		fnv1a_add(fnv1a(path.at, pb_size(path)), build_id.at, object.build_id_bytes);
	struct hash_probe probe = hash_probe(hash);
	for (uint32_t i; (i = hash_index_next(&l->object_index, &probe)) != HASH_INDEX_NONE;) {
		const struct load_object *o = &l->objects.items[i];
		if (o->build_id_bytes == object.build_id_bytes && pb_is(path, o->path) &&
			!memcmp(o->build_id, object.build_id, sizeof(object.build_id)))
			return i;
	}
	object.path = build_text(b, (const char *)path.at, pb_size(path));
	if (!object.path || array_push(&l->objects, object)) {
		free(object.path);
		build_no_memory(b);
		return RUN_NONE;
	}
	if (hash_index_add(&l->object_index, hash, (uint32_t)l->objects.count - 1))
		build_no_memory(b);
	return b->result ? RUN_NONE : (uint32_t)l->objects.count - 1;
}

static bool on_mapping(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	uint64_t of[MAPPING_PATH + 1] = {0};

	if (!read_numbers(in, of, MAPPING_PATH + 1) || !of[MAPPING_IID])
		return false;
	uint32_t object =
		load_stacks_object_of(l, b, load_stacks_text_of(l, &l->paths, of[MAPPING_PATH]),
			load_stacks_text_of(l, &l->build_ids, of[MAPPING_BUILD_ID]));
	return object != RUN_NONE && load_stacks_set(b, &l->mappings, of[MAPPING_IID], object);
}

static bool on_frame(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	uint64_t of[FRAME_ADDRESS + 1] = {0};
	bool is_read = read_numbers(in, of, FRAME_ADDRESS + 1);
	uint64_t object = hashmap_get(&l->mappings, of[FRAME_MAPPING]);

	if (!is_read || !of[FRAME_IID] || object == HASHMAP_NONE)
		return false;
	const struct load_frame frame = {(uint32_t)object, of[FRAME_ADDRESS]};
	return !build_push(b, &l->all_frames, frame) &&
	       load_stacks_set(b, &l->frames, of[FRAME_IID], l->all_frames.count - 1);
}

/* The node of a frame below its caller; RUN_NONE: no memory. */
static uint32_t load_stacks_node_of(
	struct load_stacks *l, struct build *b, uint32_t caller, uint32_t frame)
{
	uint64_t key = (uint64_t)caller << 32 | frame;
	uint64_t known = hashmap_get(&l->node_index, key);

	if (known != HASHMAP_NONE)
		return (uint32_t)known;
	if (l->nodes.count >= RUN_NONE - 1 ||
		build_push(b, &l->nodes, (struct load_node){caller, frame}) ||
		!load_stacks_set(b, &l->node_index, key, l->nodes.count - 1))
		return RUN_NONE;
	return (uint32_t)l->nodes.count - 1;
}

static bool on_stack(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	uint32_t node = RUN_NONE, depth = 0;
	uint64_t id = 0;
	struct pb_field f;
	int more;

	while ((more = pb_next(&in, &f)) > 0) {
		if (f.wire != PB_VARINT)
			continue;
		if (f.number == STACK_IID)
			id = f.value;
		if (f.number != STACK_FRAME)
			continue;
		uint64_t frame = hashmap_get(&l->frames, f.value);
		if (frame == HASHMAP_NONE || ++depth > MAX_DEPTH)
			return false;
		node = load_stacks_node_of(l, b, node, (uint32_t)frame);
		if (node == RUN_NONE)
			return false;
	}
	return !more && id && node != RUN_NONE && load_stacks_set(b, &l->stacks, id, node);
}

/* Texts stand in front of entries that need them, mappings in front of frames, and so on. */
static bool on_interned(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	struct pb_field f;
	bool good = true;
	int more;

	while ((more = pb_next(&in, &f)) > 0) {
		if (f.wire != PB_LENGTH)
			continue;
		if (f.number == INTERNED_MAPPING_PATHS)
			good &= on_text(l, b, &l->paths, f.in);
		else if (f.number == INTERNED_BUILD_IDS)
			good &= on_text(l, b, &l->build_ids, f.in);
		else if (f.number == INTERNED_MAPPINGS)
			good &= on_mapping(l, b, f.in);
		else if (f.number == INTERNED_FRAMES)
			good &= on_frame(l, b, f.in);
		else if (f.number == INTERNED_STACKS)
			good &= on_stack(l, b, f.in);
	}
	return good && !more;
}

/* Samples and threads. */

static uint32_t thread_of(struct load_stacks *l, struct build *b, uint32_t pid, uint32_t tid)
{
	struct run *run = b->run;
	uint64_t key = (uint64_t)pid << 32 | tid, known = hashmap_get(&l->thread_index, key);

	if (known != HASHMAP_NONE)
		return (uint32_t)known;
	if (BUILD_GROW(b, stack_threads, stack_thread) ||
		!load_stacks_set(b, &l->thread_index, key, run->stack_thread_count))
		return RUN_NONE;
	run->stack_threads[run->stack_thread_count] =
		(struct run_stack_thread){.pid = pid, .tid = tid};
	return (uint32_t)run->stack_thread_count++;
}

static bool load_stacks_on_sample(
	struct load_stacks *l, struct build *b, uint64_t ns, struct pb_reader in)
{
	struct run *run = b->run;
	uint64_t of[PERF_STACK + 1] = {0};
	bool is_read = read_numbers(in, of, PERF_STACK + 1);
	uint64_t pid = of[PERF_PID], tid = of[PERF_TID];
	uint64_t node = of[PERF_STACK] ? hashmap_get(&l->stacks, of[PERF_STACK]) : RUN_NONE;

	if (!is_read || node == HASHMAP_NONE || pid > UINT32_MAX || tid > UINT32_MAX)
		return false;
	uint32_t thread = thread_of(l, b, (uint32_t)pid, (uint32_t)tid);
	if (thread == RUN_NONE || BUILD_GROW(b, stacks, stack))
		return false;
	run->stacks[run->stack_count++] = (struct run_stack){
		.ns = ns, .call = (uint32_t)node, .thread = thread, .lane = RUN_NONE};
	return true;
}

/* Names a thread; its last name counts. */
static bool load_stacks_on_thread(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	uint64_t tid = 0, pid = 0;
	struct pb_reader name = pb_reader("", 0);
	struct pb_field f;
	int more;

	while ((more = pb_next(&in, &f)) > 0) {
		if (f.number == TREE_THREAD_TID && f.wire == PB_VARINT)
			tid = f.value;
		else if (f.number == TREE_THREAD_PROCESS && f.wire == PB_VARINT)
			pid = f.value;
		else if (f.number == TREE_THREAD_NAME && f.wire == PB_LENGTH)
			name = f.in;
	}
	uint32_t thread = more || pid > UINT32_MAX || tid > UINT32_MAX
				  ? RUN_NONE
				  : thread_of(l, b, (uint32_t)pid, (uint32_t)tid);
	if (thread == RUN_NONE)
		return false;
	char **to = &b->run->stack_threads[thread].name;
	free(*to);
	*to = build_text(b, (const char *)name.at, pb_size(name));
	return *to != NULL;
}

static bool on_tree(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	struct pb_field f;
	bool good = true;
	int more;

	while ((more = pb_next(&in, &f)) > 0)
		if (f.number == PROCESS_TREE_THREADS && f.wire == PB_LENGTH)
			good &= load_stacks_on_thread(l, b, f.in);
	return good && !more;
}

/* Names. */

/* The run's function, new if need be; no name: NULL. RUN_NONE: no memory. */
static uint32_t load_stacks_function_of(
	struct load_stacks *l, struct build *b, const char *object, const char *name, size_t bytes)
{
	struct run *run = b->run;
	uint64_t hash = fnv1a_text(object ? object : "");
	hash = fnv1a_add(hash, "", 1);
	hash = fnv1a_add(hash, name ? name : "", bytes);
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&l->function_index, &probe)) != HASH_INDEX_NONE;) {
		const struct run_function *f = &run->functions[i];
		if (!f->name == !name && !f->object == !object &&
			(!object || !strcmp(f->object, object)) &&
			(!name || (strlen(f->name) == bytes && !memcmp(f->name, name, bytes))))
			return i;
	}
	if (BUILD_GROW(b, functions, function) ||
		hash_index_add(&l->function_index, hash, (uint32_t)run->function_count)) {
		build_no_memory(b);
		return RUN_NONE;
	}
	struct run_function *f = &run->functions[run->function_count];
	f->name = name ? build_text(b, name, bytes) : NULL;
	f->object = object ? build_text(b, object, strlen(object)) : NULL;
	run->function_count++;
	return b->result ? RUN_NONE : (uint32_t)run->function_count - 1;
}

/* The innermost of the functions that were inlined at an address stands first. */
static bool on_symbol(
	struct load_stacks *l, struct build *b, struct load_object *object, struct pb_reader in)
{
	uint64_t address = 0;
	struct pb_reader line = pb_reader("", 0), name = pb_reader("", 0);
	struct pb_field f;
	int more;

	while ((more = pb_next(&in, &f)) > 0) {
		if (f.number == ADDRESS_ADDRESS && f.wire == PB_VARINT)
			address = f.value;
		else if (f.number == ADDRESS_LINE && f.wire == PB_LENGTH && !pb_size(line))
			line = f.in;
	}
	if (more)
		return false;
	while ((more = pb_next(&line, &f)) > 0)
		if (f.number == SYMBOL_LINE_FUNCTION && f.wire == PB_LENGTH)
			name = f.in;
	if (more || !pb_size(name))
		return false;
	uint32_t function = load_stacks_function_of(
		l, b, object->path, (const char *)name.at, pb_size(load_stacks_cut(name)));
	return function != RUN_NONE && load_stacks_set(b, &object->names, address, function);
}

static bool on_symbols(struct load_stacks *l, struct build *b, struct pb_reader in)
{
	struct pb_reader path = pb_reader("", 0), build_id = pb_reader("", 0), rest = in;
	struct pb_field f;
	bool good = true;
	int more;

	while ((more = pb_next(&in, &f)) > 0) {
		if (f.number == SYMBOLS_PATH && f.wire == PB_LENGTH)
			path = f.in;
		else if (f.number == SYMBOLS_BUILD_ID && f.wire == PB_LENGTH)
			build_id = f.in;
	}
	uint32_t object = more ? RUN_NONE : load_stacks_object_of(l, b, path, build_id);
	while (object != RUN_NONE && pb_next(&rest, &f) > 0)
		if (f.number == SYMBOLS_ADDRESS && f.wire == PB_LENGTH)
			good &= on_symbol(l, b, &l->objects.items[object], f.in);
	return good && object != RUN_NONE;
}

static void load_stacks_forget(struct load_stacks *l)
{
	for (size_t i = 0; i < l->texts.count; i++)
		free((void *)l->texts.items[i].at);
	array_fini(&l->texts);
	hashmap_fini(&l->paths);
	hashmap_fini(&l->build_ids);
	hashmap_fini(&l->mappings);
	hashmap_fini(&l->frames);
	hashmap_fini(&l->stacks);
}

bool load_stack_packet(
	struct load_stacks *l, struct build *b, const struct load_stack_packet *packet)
{
	bool good = true;

	if (packet->is_new)
		load_stacks_forget(l);
	if (packet->interned.at)
		good &= on_interned(l, b, packet->interned);
	if (packet->sample.at)
		good &= load_stacks_on_sample(l, b, packet->ns, packet->sample);
	if (packet->symbols.at)
		good &= on_symbols(l, b, packet->symbols);
	if (packet->tree.at)
		good &= on_tree(l, b, packet->tree);
	return good;
}

/* At the end. */

static run_namer_fn namer;

void run_namer_set(run_namer_fn function)
{
	namer = function;
}

struct naming {
	struct load_stacks *stacks;
	struct build *build;
	struct load_object *object;
};

static int load_stacks_take_name(void *context, uint64_t address, const char *name)
{
	const struct naming *n = context;
	uint32_t function =
		load_stacks_function_of(n->stacks, n->build, n->object->path, name, strlen(name));

	if (function != RUN_NONE)
		load_stacks_set(n->build, &n->object->names, address, function);
	return n->build->result;
}

static void find_names(struct load_stacks *l, struct build *b)
{
	for (size_t i = 0; i < l->all_frames.count && !b->result; i++) {
		const struct load_frame *f = &l->all_frames.items[i];
		struct load_object *object = &l->objects.items[f->object];
		if (object->build_id_bytes &&
			hashmap_get(&object->names, f->address) == HASHMAP_NONE)
			load_stacks_set(b, &object->nameless, f->address, 0);
	}
	for (size_t i = 0; i < l->objects.count && !b->result; i++) {
		struct load_object *object = &l->objects.items[i];
		struct naming naming = {l, b, object};
		if (object->nameless.count &&
			namer(object->path, object->build_id, object->build_id_bytes,
				&object->nameless, load_stacks_take_name, &naming))
			build_no_memory(b);
	}
}

/* Nodes by frames become the run's calls, by functions; calls[node] is the new number. */
static void make_calls(struct load_stacks *l, struct build *b, uint32_t *calls)
{
	struct run *run = b->run;

	hashmap_clear(&l->node_index);
	run->calls = calloc(l->nodes.count + 1, sizeof(*run->calls));
	if (!run->calls)
		build_no_memory(b);
	for (size_t i = 0; i < l->nodes.count && !b->result; i++) {
		const struct load_node *node = &l->nodes.items[i];
		uint32_t caller = node->caller == RUN_NONE ? RUN_NONE : calls[node->caller];
		const struct load_frame *f = &l->all_frames.items[node->frame];
		const struct load_object *object = &l->objects.items[f->object];
		uint64_t named = hashmap_get(&object->names, f->address);
		uint32_t function = named != HASHMAP_NONE
					    ? (uint32_t)named
					    : load_stacks_function_of(l, b, object->path, NULL, 0);
		uint64_t key = (uint64_t)caller << 32 | function;
		uint64_t known = hashmap_get(&l->node_index, key);
		if (known == HASHMAP_NONE) {
			known = run->call_count;
			run->calls[run->call_count++] = (struct run_call){caller, function};
			load_stacks_set(b, &l->node_index, key, known);
		}
		calls[i] = (uint32_t)known;
	}
}

/* Stacks in no known code are in a function without name and file. */
static void set_calls(struct load_stacks *l, struct build *b, const uint32_t *calls)
{
	struct run *run = b->run;
	uint32_t none = RUN_NONE;

	for (size_t i = 0; i < run->stack_count && !b->result; i++) {
		struct run_stack *stack = &run->stacks[i];
		if (stack->call != RUN_NONE) {
			stack->call = calls[stack->call];
			continue;
		}
		if (none == RUN_NONE) {
			uint32_t function = load_stacks_function_of(l, b, NULL, NULL, 0);
			none = (uint32_t)run->call_count++; /* there is room for one more */
			run->calls[none] = (struct run_call){RUN_NONE, function};
		}
		stack->call = none;
	}
}

/* A thread has a lane from a moment on. */
struct lane_owner {
	uint64_t tid, ns;
	uint32_t pid, lane;
};

COMPARATOR(by_owner, struct lane_owner,
	ORDER(x->pid, y->pid)
		?: ORDER(x->tid, y->tid) ?: ORDER(x->ns, y->ns) ?: ORDER(x->lane, y->lane))
COMPARATOR(by_ns, struct run_stack, ORDER(x->ns, y->ns))
/* RUN_NONE is the largest */
COMPARATOR(faults_by_lane, struct run_fault,
	ORDER(x->lane, y->lane) ?: ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->tid, y->tid))

typedef ARRAY(struct lane_owner) owner_list;

static int add_owners(owner_list *owners, const struct run *run)
{
	int error = 0;

	for (uint32_t i = 0; i < run->lane_count && !error; i++) {
		const struct run_lane *lane = &run->lanes[i];
		const struct lane_owner one = {
			lane->first_tid, 0, run->processes[lane->process].pid, i};
		if (lane->kind == BRICK_LANE_THREAD)
			error = array_push(owners, one);
	}
	for (size_t i = 0; i < run->point_count && !error; i++) {
		const struct run_point *p = &run->points[i];
		if (p->kind != RUN_POINT_THREAD || p->lane >= run->lane_count)
			continue;
		const struct lane_owner one = {(uint64_t)p->value, p->ns,
			run->processes[run->lanes[p->lane].process].pid, p->lane};
		error = array_push(owners, one);
	}
	return error;
}

static uint32_t lane_of(const owner_list *owners, uint32_t pid, uint32_t tid, uint64_t ns)
{
	const struct lane_owner like = {tid, ns, pid, RUN_NONE};
	size_t i = BISECT(k, 0, owners->count, by_owner(&owners->items[k], &like) <= 0);
	const struct lane_owner *found = i ? &owners->items[i - 1] : NULL;

	return found && found->pid == pid && found->tid == tid ? found->lane : RUN_NONE;
}

static void set_lanes(struct build *b)
{
	struct run *run = b->run;
	owner_list owners = {0};

	if (!run->stack_count && !run->fault_count)
		return;
	if (add_owners(&owners, run))
		build_no_memory(b);
	array_sort(&owners, by_owner);
	for (size_t i = 0; i < run->stack_count && !b->result; i++) {
		const struct run_stack_thread *t = &run->stack_threads[run->stacks[i].thread];
		run->stacks[i].lane = lane_of(&owners, t->pid, t->tid, run->stacks[i].ns);
	}
	for (size_t i = 0; i < run->fault_count && !b->result; i++) {
		struct run_fault *f = &run->faults[i];
		f->lane = lane_of(&owners, f->pid, f->tid, f->begin_ns);
	}
	if (run->fault_count)
		qsort(run->faults, run->fault_count, sizeof(*run->faults), faults_by_lane);
	array_fini(&owners);
}

void load_stacks_finish(struct load_stacks *l, struct build *b)
{
	struct run *run = b->run;
	bool is_sorted = true;

	if (!run->stack_count) {
		set_lanes(b);
		return;
	}
	for (size_t i = 1; i < run->stack_count; i++)
		is_sorted &= run->stacks[i - 1].ns <= run->stacks[i].ns;
	if (!is_sorted)
		qsort(run->stacks, run->stack_count, sizeof(*run->stacks), by_ns);
	uint32_t *calls = calloc(l->nodes.count + 1, sizeof(*calls));
	if (!calls)
		build_no_memory(b);
	if (namer && !run->complete)
		find_names(l, b);
	if (!b->result)
		make_calls(l, b, calls);
	if (!b->result)
		set_calls(l, b, calls);
	free(calls);
	set_lanes(b);
}

void load_stacks_fini(struct load_stacks *l)
{
	load_stacks_forget(l);
	for (size_t i = 0; i < l->objects.count; i++) {
		free(l->objects.items[i].path);
		hashmap_fini(&l->objects.items[i].names);
		hashmap_fini(&l->objects.items[i].nameless);
	}
	array_fini(&l->objects);
	hash_index_fini(&l->object_index);
	array_fini(&l->all_frames);
	array_fini(&l->nodes);
	hashmap_fini(&l->node_index);
	hash_index_fini(&l->function_index);
	hashmap_fini(&l->thread_index);
}
