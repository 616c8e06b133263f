/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patched objects (patched.h). Entries of the list are only added, and marked when their object is
 * unloaded, so that looking an address up takes no lock. Patching an object starts a new generation
 * (ggml_shared.h): functions resolved before may lead to a hook now, which would call itself.
 *
 * Most objects of most programs have nothing to do with ggml, so an object is judged cheaply first:
 * by its dynamic symbols and relocations, as the dynamic linker has them in memory; and if it
 * exports none of the functions, by whether its file, or a debug file of it, has a .symtab with a
 * name of ggml's.
 */
#include "attach/ggml/engine/patched.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/loaded_tables.h"
#include "attach/common/notes_once.h"
#include "attach/ggml/engine/loader.h"
#include "attach/ggml/engine/ggml_shared.h"
#include "attach/patch/debug_file.h"
#include "base/array.h"
#include "base/scope.h"
#include "brick/error.h"
#include "lib/sys/functions.h"

/*
 * GNU's hash table: bloom words, buckets of first symbols, chains of hashes without their lowest
 * bit, which is set in a chain's last. The function that the object defines, or NULL. Programs with
 * hundreds of libraries have a million symbols, so none is looked at that is not asked for.
 */
static const ElfW(Sym) * find_function(const struct loaded_tables *tables, const char *name)
{
	uint32_t hash = 5381;

	if (!tables->hash || !tables->hash[0])
		return NULL;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	uint32_t buckets = tables->hash[0], first = tables->hash[1], words = tables->hash[2];
	const uint32_t *bucket = tables->hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;
	uint32_t i = bucket[hash % buckets];
	if (i < first || !i)
		return NULL;
	for (;; i++) {
		const ElfW(Sym) *symbol = &tables->symbols[i];
		if ((chain[i - first] | 1) == (hash | 1) &&
			!strcmp(tables->strings + symbol->st_name, name))
			return symbol->st_shndx != SHN_UNDEF &&
					       ELF64_ST_TYPE(symbol->st_info) == STT_FUNC
				       ? symbol
				       : NULL;
		if (chain[i - first] & 1)
			return NULL;
	}
}

/* Those of the functions that the object exports. */
struct own_functions {
	const ElfW(Sym) * symbol[GGML_SYMBOL_COUNT];
	size_t count;
};

/* Does the dynamic linker have to find one of the functions that the object itself defines? */
static int patched_is_own(void *functions, const struct loaded_tables *tables, uintptr_t *slot,
	const ElfW(Rela) * relocation)
{
	const struct own_functions *own = functions;

	for (size_t i = 0; i < own->count; i++)
		if (own->symbol[i] == loaded_symbol(tables, relocation))
			return true;
	return false;
}

static bool segment_mentions(const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
	const char *begin = (const char *)info->dlpi_addr + p->p_vaddr;

	return memmem(begin, p->p_filesz, "ggml", 4) || memmem(begin, p->p_filesz, "GGML", 4);
}

/*
 * Its asserts name its files and functions, also where no symbol does. Constants have segments of
 * their own, or lie beside the code.
 */
static bool mentions_ggml(const struct dl_phdr_info *info)
{
	bool has_constants = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD || p->p_flags != PF_R)
			continue;
		has_constants = true;
		if (segment_mentions(info, p))
			return true;
	}
	for (int i = 0; i < info->dlpi_phnum && !has_constants; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags == (PF_R | PF_X) &&
			segment_mentions(info, p))
			return true;
	}
	return false;
}

struct engine_search {
	uintptr_t function;
	bool is_engine;
};

static int look_for_engine(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct engine_search *search = argument;
	struct loaded_object object;

	object_describe(&object, info);
	if (search->function - object.low >= object.bytes)
		return 0;
	search->is_engine = mentions_ggml(info);
	return 1;
}

bool patched_is_engine(const void *function)
{
	struct engine_search search = {patched_home((uintptr_t)function), false};

	dl_iterate_phdr(look_for_engine, &search);
	return search.is_engine;
}

/* What an object may be, from what is in memory of it and the head of its file. */
enum kind {
	NOT_PATCHED,   /* it defines nothing of interest, or preloading works */
	MAYBE_PATCHED, /* its file has a table of symbols */
	BINDS_ITSELF,  /* it defines such functions, and reaches none through the dynamic linker */
};

/* It computes graphs, but calls nothing for their nodes that others could stand in front of. */
static bool hides_nodes(const struct loaded_tables *tables)
{
	return find_function(tables, ggml_symbols[GGML_GRAPH_COMPUTE].name) &&
	       !find_function(tables, ggml_symbols[GGML_NODE_FORWARD].name);
}

/* False: the object has no symbols. */
static bool patched_read(
	struct loaded_tables *tables, struct own_functions *own, const struct dl_phdr_info *info)
{
	own->count = 0;
	if (!loaded_tables_read(tables, info))
		return false;
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++) {
		const ElfW(Sym) *symbol = find_function(tables, ggml_symbols[i].name);
		if (symbol)
			own->symbol[own->count++] = symbol;
	}
	return true;
}

static enum kind patched_kind_of(const struct dl_phdr_info *info, const char *path)
{
	struct loaded_tables tables;
	struct own_functions own;

	(void)patched_read(&tables, &own, info);
	if (own.count && attach_shared.is_late)
		return BINDS_ITSELF;
	bool is_linked = own.count && loaded_each_slot(&tables, patched_is_own, &own);
	if (is_linked && !hides_nodes(&tables))
		return NOT_PATCHED;
	if (!is_linked && own.count)
		return BINDS_ITSELF;
	struct debug_file symbols;
	/* the names of its symbols are read sooner than megabytes of constants */
	return debug_file_find(&symbols, path) > 0 &&
			       (is_linked || debug_file_mentions(&symbols, "ggml_"))
		       ? MAYBE_PATCHED
		       : NOT_PATCHED;
}

/* libbrick-patch.so */
struct patcher {
	int (*open)(struct patch_object **out, const struct patch_place *place,
		const struct patch_wish *wishes, size_t count);
	const struct patch_result *(*results)(const struct patch_object *object, size_t *count);
	void *(*function)(const struct patch_object *object, const char *name);
	void (*forget)(struct patch_object *object);
	int (*off)(struct patch_object *object, int group, bool is_live);
	int (*on)(struct patch_object *object, int group, bool is_live);
	uintptr_t (*jumps)(const struct patch_object *object, patch_jump_fn each, void *context,
		size_t *bytes);
	int state; /* 0: not asked for; 1: here; -1: not to be had */
};

struct patched_object {
	struct patched_object *next;
	struct loaded_object object;
	uint32_t is_gone;
	struct patch_object *patches;
	struct patch_result results[GGML_SYMBOL_COUNT];
};

/* An object that may have to be patched. */
struct candidate {
	struct loaded_object object;
	uintptr_t bias;
	enum kind kind;
};

__thread void *patched_told __attribute__((tls_model("initial-exec")));
static struct patched_object *objects;
pthread_mutex_t patched_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct patcher patcher;
static struct object_list patched_seen;
static unsigned long long loads_seen; /* how many there had been when `seen` was made */
static int no_patcher;		      /* where it would have been needed */

/* Not under the lock: another thread may hold the loader's and wait for ours. */
static struct patcher load_patcher(void)
{
	static const struct sys_function functions[] = {
		SYS_NEEDED(patcher, open, "brick_patch_open"),
		SYS_NEEDED(patcher, results, "brick_patch_results"),
		SYS_NEEDED(patcher, function, "brick_patch_function"),
		SYS_NEEDED(patcher, forget, "brick_patch_forget"),
		SYS_NEEDED(patcher, off, "brick_patch_off"),
		SYS_NEEDED(patcher, on, "brick_patch_on"),
		SYS_NEEDED(patcher, jumps, "brick_patch_jumps"),
	};
	struct patcher loaded = {.state = -1};
	char path[sizeof(patched_seen.of.items->path) + 32];
	Dl_info info;

	if (!dladdr((void *)&load_patcher, &info) || !strrchr(info.dli_fname, '/'))
		return loaded;
	snprintf(path, sizeof(path), "%.*s/libbrick-patch.so",
		(int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	void *handle = loader_open(path, RTLD_NOW | RTLD_LOCAL);
	if (handle && !sys_functions_find(
			      handle, functions, sizeof(functions) / sizeof(*functions), &loaded))
		loaded.state = 1;
	if (!handle)
		dlerror();
	return loaded;
}

/* Under the lock. The node is there before the first jump is. */
static void patch(const struct candidate *c, const struct patch_wish *wishes, bool is_live)
{
	const struct loaded_object *object = &c->object;
	struct patch_place place = {.path = object->path[0] ? object->path : "/proc/self/exe",
		.low = object->low,
		.bytes = object->bytes,
		.bias = c->bias,
		.is_live = is_live && object->path[0], /* the program itself is patched first */
		.is_forced = attach_shared.is_late,
		.is_prepared = attach_shared.is_late};
	struct patched_object *o = calloc(1, sizeof(*o));
	size_t count;

	if (!o || patcher.open(&o->patches, &place, wishes, GGML_SYMBOL_COUNT) || !o->patches) {
		free(o);
		return;
	}
	o->object = *object;
	memcpy(o->results, patcher.results(o->patches, &count), sizeof(o->results));
	o->next = objects;
	__atomic_store_n(&objects, o, __ATOMIC_RELEASE);
	resolve_generation_next();
}

static bool patched_is_in(const struct object_list *list, const struct loaded_object *object)
{
	for (size_t i = 0; i < list->of.count; i++)
		if (list->of.items[i].low == object->low &&
			!strcmp(list->of.items[i].path, object->path))
			return true;
	return false;
}

struct look {
	struct object_list known;
	ARRAY(struct candidate) candidates; /* objects that were not known */
	unsigned long long loads;
	bool is_fresh, has_patcher, needs_patcher;
};

static int patched_look_at(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct look *look = argument;
	struct candidate c = {.bias = info->dlpi_addr};

	look->loads = info->dlpi_adds;
	object_describe(&c.object, info);
	if ((c.object.path[0] && !strchr(c.object.path, '/')) ||
		patched_is_in(&look->known, &c.object))
		return 0;
	bool is_ours = (uintptr_t)&patched_look_at - c.object.low < c.object.bytes;
	if (look->is_fresh && !is_ours)
		c.kind = patched_kind_of(info, c.object.path[0] ? c.object.path : "/proc/self/exe");
	look->needs_patcher |= c.kind != NOT_PATCHED;
	(void)array_push(&look->candidates, c);
	return 0;
}

/* False: nothing was loaded since the last look. */
static bool begin_look(struct look *look)
{
	unsigned long long loads = object_changes().loads;

	HOLD_UNCANCELLED(&patched_mutex);
	if (loads == loads_seen)
		return false;
	for (size_t i = 0; i < patched_seen.of.count; i++)
		(void)array_push(&look->known.of, patched_seen.of.items[i]);
	look->has_patcher = patcher.state != 0;
	return true;
}

/* Patch the candidates that no other thread has handled meanwhile. */
static void end_look(const struct look *look, const struct patch_wish *wishes,
	const struct patcher *loaded, bool is_live)
{
	HOLD_UNCANCELLED(&patched_mutex);
	if (!patcher.state)
		patcher = *loaded;
	for (size_t i = 0; i < look->candidates.count; i++) {
		const struct candidate *c = &look->candidates.items[i];
		if (patched_is_in(&patched_seen, &c->object) ||
			array_push(&patched_seen.of, c->object) || c->kind == NOT_PATCHED)
			continue;
		if (patcher.state > 0)
			patch(c, wishes, is_live);
		else if (c->kind == BINDS_ITSELF)
			__atomic_store_n(&no_patcher, 1, __ATOMIC_RELAXED);
	}
	if (look->loads > loads_seen)
		loads_seen = look->loads;
}

void patched_look(const struct patch_wish *wishes, bool is_live)
{
	struct look look = {.is_fresh = wishes != NULL};
	struct patcher loaded = {0};
	KEEP_ERRNO();

	if (begin_look(&look)) {
		dl_iterate_phdr(patched_look_at, &look);
		if (look.needs_patcher && !look.has_patcher)
			loaded = load_patcher();
		end_look(&look, wishes, &loaded, is_live);
	}
	array_fini(&look.known.of);
	array_fini(&look.candidates);
}

static void patched_list_jump(void *control, const struct patch_jump *jump)
{
	struct brick_enter_jump listed = {.site = jump->site,
		.bytes = (uint32_t)jump->bytes,
		.displaced = (uint32_t)jump->displaced};

	memcpy(listed.before, jump->before, jump->bytes);
	memcpy(listed.after, jump->after, jump->bytes);
	entry_add_jump(control, &listed);
}

struct patched_questions {
	struct brick_enter_control *control;
	const void *hook; /* of ggml_is_empty() */
};

static int patched_list_slot(void *argument, const struct loaded_tables *tables, uintptr_t *slot,
	const ElfW(Rela) * relocation)
{
	const struct patched_questions *q = argument;

	if (!strcmp(loaded_name(tables, relocation), ggml_symbols[GGML_IS_EMPTY].name))
		entry_add_word(q->control, (uintptr_t)slot, q->hook);
	return 0;
}

/*
 * A device's backend in a library of its own defines nothing that is hooked. Its question about
 * each node is seen by its slot: a jump in the function would be in the way of the CPU's, too.
 */
static int patched_list_slots(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct loaded_tables tables;
	struct own_functions own;

	return patched_read(&tables, &own, info) && !own.count
		       ? loaded_each_slot(&tables, patched_list_slot, argument)
		       : 0;
}

static void patched_list_jumps(struct brick_enter_control *control)
{
	size_t bytes;

	HOLD_UNCANCELLED(&patched_mutex);
	for (struct patched_object *o = objects; o; o = o->next) {
		if (o->is_gone)
			continue;
		uintptr_t code = patcher.jumps(o->patches, patched_list_jump, control, &bytes);
		entry_add_code(control, code, bytes);
	}
}

bool patched_enter(const struct patch_wish *wishes, struct brick_enter_control *control)
{
	struct patched_questions questions = {control, wishes[GGML_IS_EMPTY].hook};

	attach_shared.is_late++;
	resolve_generation_next(); /* each thread looks at its state anew */
	patched_look(wishes, false);
	patched_list_jumps(control);
	if (control->jump_count && questions.hook) /* no lock is held: it takes the linker's */
		dl_iterate_phdr(patched_list_slots, &questions);
	return control->jump_count > 0;
}

/* False: the list is older than the last look, whose new objects would seem unloaded. */
static bool forget_by(const struct object_list *now, unsigned long long loads)
{
	size_t kept = 0;

	HOLD_UNCANCELLED(&patched_mutex);
	if (loads_seen > loads)
		return false;
	for (size_t i = 0; i < patched_seen.of.count; i++)
		if (patched_is_in(now, &patched_seen.of.items[i]))
			patched_seen.of.items[kept++] = patched_seen.of.items[i];
	patched_seen.of.count = kept;
	for (struct patched_object *o = objects; o; o = o->next) {
		if (o->is_gone || patched_is_in(now, &o->object))
			continue;
		__atomic_store_n(&o->is_gone, 1, __ATOMIC_RELEASE);
		patcher.forget(o->patches);
		o->patches = NULL;
	}
	return true;
}

void patched_forget(void)
{
	bool is_done;

	do {
		struct object_list now = {0};
		unsigned long long loads = object_changes().loads;
		is_done = objects_list(&now) || forget_by(&now, loads);
		array_fini(&now.of);
	} while (!is_done);
}

static const struct patched_object *patched_first_of(const struct patched_object *o)
{
	while (o && __atomic_load_n(&o->is_gone, __ATOMIC_ACQUIRE))
		o = o->next;
	return o;
}

static const struct patched_object *first_object(void)
{
	return patched_first_of(__atomic_load_n(&objects, __ATOMIC_ACQUIRE));
}

void *patched_function(const struct loaded_object *object, const char *name)
{
	const struct patched_object *o = first_object();

	while (o && (o->object.low != object->low || strcmp(o->object.path, object->path)))
		o = patched_first_of(o->next);
	if (!o)
		return NULL;
	for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
		if (o->results[i].inner && !strcmp(o->results[i].name, name))
			return o->results[i].inner;
	HOLD_UNCANCELLED(&patched_mutex);
	return o->patches ? patcher.function(o->patches, name) : NULL;
}

void *patched_inner(void *function)
{
	for (const struct patched_object *o = first_object(); o; o = patched_first_of(o->next))
		for (int i = 0; i < GGML_SYMBOL_COUNT && function; i++)
			if (o->results[i].entry == function)
				return o->results[i].inner;
	return function;
}

uintptr_t patched_home(uintptr_t inner)
{
	for (const struct patched_object *o = first_object(); o; o = patched_first_of(o->next))
		for (int i = 0; i < GGML_SYMBOL_COUNT; i++)
			if ((uintptr_t)o->results[i].inner == inner)
				return (uintptr_t)o->results[i].entry;
	return inner;
}

bool patched_has(enum ggml_symbol_id symbol)
{
	for (const struct patched_object *o = first_object(); o; o = patched_first_of(o->next))
		if (o->results[symbol].inner)
			return true;
	return false;
}

int patched_switch(bool on, bool alone)
{
	int error = 0;

	for (const struct patched_object *o = first_object(); o && !error;
		o = patched_first_of(o->next))
		if (o->results[GGML_BARRIER].inner || o->results[GGML_COMPUTE_FORWARD].inner)
			error = alone ? (on ? patcher.on : patcher.off)(
						o->patches, (int)GGML_FOR_NODES, 0)
				      : -EBUSY;
	return error;
}

void patched_note(void)
{
	for (const struct patched_object *o = first_object(); o; o = patched_first_of(o->next)) {
		char refused[400] = "";
		size_t used = 0;
		int patched = 0;
		for (int i = 0; i < GGML_SYMBOL_COUNT; i++) {
			const struct patch_result *r = &o->results[i];
			patched += r->inner != NULL;
			if (r->refused && used < sizeof(refused))
				used += (size_t)snprintf(refused + used, sizeof(refused) - used,
					"%s%s: %s", used ? "; " : ", not ", r->name, r->refused);
		}
		if (patched || used)
			note_once("patched", "%d functions of %s%s", patched,
				o->object.path[0] ? o->object.path : "the program itself", refused);
	}
	if (__atomic_load_n(&no_patcher, __ATOMIC_RELAXED))
		note_once("patched", "nothing, though a library binds its calls within itself: "
				     "libbrick-patch.so was not built");
}
