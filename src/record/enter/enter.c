/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entering a process (enter.h). Memory is mapped near the engine: a page of code and one of data
 * (lib/sys/tracing.h), and the stack of the thread that it starts. Some functions of the engine get
 * a jump there. It is safe to load a library where such a function is called, as hooks of a
 * preloaded library would do so there, too. The thread that loads it waits for locks like any
 * other.
 *
 * A jump is written while all threads are stopped, and only if no thread is between the
 * instructions that it replaces, or will return there. When we leave, the memory of the hooks is
 * given back once no thread is in a hook or will return to one.
 */
#include "record/enter/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "attach/patch/insn.h"
#include "base/clock_ns.h"
#include "base/process_start.h"
#include "base/scope.h"
#include "brick/abi/enter.h"
#include "lib/sys/tracing.h"
#include "record/enter/refusal.h"
#include "record/enter/system_calls.h"
#include "record/enter/target.h"
#include "record/enter/tracee.h"
#include "record/enter/unwind.h"
#include "record/enter/whereabouts.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

SYS_PLANT_CODE;
extern const uint8_t sys_plant_begin[] __attribute__((visibility("hidden")));
extern const uint8_t sys_plant_end[] __attribute__((visibility("hidden")));

enum {
	PAGE = 4096,
	ENTRIES_AT = 1024, /* in the page of code */
	ENTRY_BYTES = PLAN_ENTRY_BYTES + 16,
	MOST_ENTRIES = 9,	/* which fill the page */
	SLOTS_AT = PAGE + 3072, /* words with the entries' addresses */
	STACK_AT = 3 * PAGE,
	STACK_BYTES = 1 << 20,
	REGION_BYTES = STACK_AT + STACK_BYTES,
	TRIES = 60,		/* of writing jumps, and of finding threads out of them */
	LONGEST_PAUSE_MS = 100, /* between tries, each of which stops the process */
};

/* A jump to the plant. */
struct lead {
	uint64_t site;
	uint8_t before[INSN_MAX_BYTES], after[INSN_MAX_BYTES], bytes;
	uint8_t displaced; /* 0: a word, which holds a function's address */
};

struct enter {
	struct target target;
	struct tracee tracee;
	unsigned long long start_time; /* another process may get its number */
	int pidfd; /* readable once the process has ended; -1: this kernel has none */
	const struct drain_guard *guard;
	void (*meanwhile)(void *context);	  /* NULL: nothing is to be done */
	void (*enters)(void *context, pid_t pid); /* NULL: it was called */
	void *context;
	struct brick_enter_control *control; /* the process may write it at any time */
	uint32_t control_lost;		     /* 1: somebody has cut the file */
	/* copies of what it lists, made before the first jump is written */
	struct brick_enter_jump jumps[BRICK_ENTER_JUMPS];
	struct code_range codes[BRICK_ENTER_CODES];
	uint32_t jump_count, code_count;
	struct sys_plant plant; /* but for the stack's address */
	uint64_t region;	/* 0: nothing is mapped */
	struct lead leads[MOST_ENTRIES];
	size_t lead_count;
	bool is_planted, is_in;
	int tries;
};

/* Longer after each try. */
static void enter_pause(const struct enter *e, int tries)
{
	long ms = tries < 4 ? 5 : tries < 10 ? 20 : LONGEST_PAUSE_MS;

	if (e->meanwhile)
		e->meanwhile(e->context);
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* The control page. */

static int make_control(
	struct enter *e, const char *directory, const struct environment *environment)
{
	char path[PATH_MAX];
	size_t at = 0;

	snprintf(path, sizeof(path), "%s/" BRICK_ENTER_CONTROL, directory, (int)e->target.pid);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	int error = -posix_fallocate(fd, 0, sizeof(*e->control));
	void *page =
		error ? MAP_FAILED
		      : mmap(NULL, sizeof(*e->control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!error && page == MAP_FAILED)
		error = -errno;
	close(fd);
	if (!error && !e->guard->add(page, sizeof(*e->control), &e->control_lost)) {
		munmap(page, sizeof(*e->control));
		error = -ENOMEM;
	}
	if (error)
		return error;
	e->control = page;
	e->control->version = BRICK_ENTER_VERSION;
	for (size_t i = 0; i < environment->variables.count; i++) {
		const char *variable = environment->variables.items[i];
		size_t bytes = strlen(variable) + 1;
		if (at + bytes + 2 > sizeof(e->control->environment))
			return -E2BIG;
		memcpy(e->control->environment + at, variable, bytes);
		at += bytes;
	}
	return 0;
}

static void enter_command(struct enter *e, enum brick_enter_command command)
{
	__atomic_store_n(&e->control->command, (uint32_t)command, __ATOMIC_RELEASE);
	syscall(SYS_futex, &e->control->command, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static bool is_control_lost(const struct enter *e)
{
	return __atomic_load_n(&e->control_lost, __ATOMIC_ACQUIRE);
}

static enum brick_enter_state enter_state(const struct enter *e)
{
	return (enum brick_enter_state)__atomic_load_n(&e->control->state, __ATOMIC_ACQUIRE);
}

/* Planting. All threads are stopped. */

/* A free range for the region, so near that jumps reach it. 0: none. */
static uint64_t find_gap(const struct tracee_mappings *list, uint64_t near)
{
	enum { APART = 16 * PAGE };
	uint64_t last = 1 << 20, best = 0, best_distance = insn_reach / 2;

	for (size_t i = 0; i < list->of.count; i++) {
		const struct tracee_mapping *m = &list->of.items[i];
		uint64_t from = last + APART;
		last = m->end;
		if (m->low < from + REGION_BYTES + APART)
			continue;
		uint64_t at = m->low <= near ? m->low - REGION_BYTES - APART : from;
		uint64_t distance = at > near ? at - near : near - at;
		if (distance < best_distance) {
			best = at;
			best_distance = distance;
		}
	}
	return best & ~(uint64_t)(PAGE - 1);
}

static bool is_mapped(const struct tracee *t, const void *range)
{
	return tracee_mapping_at(&t->mappings, ((const struct code_range *)range)->end - 1);
}

static bool is_unmapped(const struct tracee *t, const void *range)
{
	return !tracee_mapping_at(&t->mappings, ((const struct code_range *)range)->low) &&
	       !is_mapped(t, range);
}

static struct system_call enter_mmap(uint64_t at, uint64_t bytes, uint64_t rights)
{
	return (struct system_call){{SYS_mmap, at, bytes, rights,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, UINT64_MAX, 0}};
}

/* What jumps from the region must reach. */
static uint64_t target_code(const struct target *t)
{
	const struct target_function *f = t->functions.items;

	return t->functions.count ? f->plan->entry + f->bias : t->words.items[0].function;
}

/* A region of a former entry, whose code and data have stayed (unmap_region()). 0: none. */
static uint64_t find_former_region(const struct enter *e)
{
	const uint64_t near = target_code(&e->target);
	const struct tracee_mappings *list = &e->tracee.mappings;
	const size_t bytes = (size_t)(sys_plant_end - sys_plant_begin);
	uint8_t now[ENTRIES_AT];

	for (size_t i = 0; i + 1 < list->of.count; i++) {
		const struct tracee_mapping *m = &list->of.items[i];
		uint64_t distance = m->low > near ? m->low - near : near - m->low;
		if (m->is_executable && !*m->path && m->end == m->low + PAGE && m[1].is_writable &&
			m[1].low == m->end && m[1].end == m->end + PAGE &&
			distance < insn_reach / 2 && tracee_read(&e->tracee, m->low, now, bytes) &&
			!memcmp(now, sys_plant_begin, bytes))
			return m->low;
	}
	return 0;
}

/* A page between data and stack stays free. */
static int map_region(struct enter *e)
{
	uint64_t former = e->target.words.count ? find_former_region(e) : 0;
	uint64_t at = former ? former : find_gap(&e->tracee.mappings, target_code(&e->target));
	const struct code_range range = {at, at + REGION_BYTES};
	const struct system_call calls[] = {
		enter_mmap(at + STACK_AT, STACK_BYTES, PROT_READ | PROT_WRITE),
		enter_mmap(at, PAGE, PROT_READ | PROT_EXEC),
		enter_mmap(at + PAGE, PAGE, PROT_READ | PROT_WRITE)};

	if (!at)
		return -ENOMEM;
	e->region = at; /* before it is there: if we are killed, it is looked for */
	int error = system_calls_make(&e->tracee, calls, former ? 1 : 3, is_mapped, &range);
	if (!error && (!tracee_mapping_at(&e->tracee.mappings, at) ||
			      !tracee_mapping_at(&e->tracee.mappings, at + PAGE)))
		error = -ENOMEM;
	return error;
}

/* The way from a function to the plant, and back. False: it cannot be led there. */
static bool write_entry(struct enter *e, const struct target_function *f)
{
	uint64_t at = e->region + ENTRIES_AT + e->lead_count * ENTRY_BYTES;
	uint64_t slot = e->region + SLOTS_AT + 8 * e->lead_count, site = f->plan->site + f->bias;
	uint8_t code[ENTRY_BYTES] = {0}, *entry = code + 16;
	const struct plan_thunk thunk = {.slot = slot - f->bias};
	struct lead *lead = &e->leads[e->lead_count];
	uint64_t available;
	const uint8_t *file = image_bytes(f->image, f->plan->site, &available);
	size_t inner, n = plan_write(f->plan, f->image, &thunk, at + 16 - f->bias, entry, &inner);

	*lead = (struct lead){
		.site = site, .bytes = insn_jump_bytes, .displaced = f->plan->displaced};
	if (!n || !file || available < insn_jump_bytes ||
		!plan_verify(f->plan, f->image, at + 16 - f->bias, inner, entry, n) ||
		!insn_jump(code + 5, at + 5, at + 16 + inner) ||
		!insn_jump(lead->after, site, at + 16))
		return false;
	sys_plant_call(code, (int32_t)(at - e->region));
	memcpy(lead->before, file, insn_jump_bytes);
	if (!tracee_write(&e->tracee, at, code, sizeof(code)) ||
		!tracee_write(&e->tracee, slot, &at, sizeof(at)))
		return false;
	e->lead_count++;
	return true;
}

/*
 * The same of a word: its function is where it was. An entry of a former recorder for another
 * function stays.
 */
static bool write_word_entry(struct enter *e, const struct target_word *word)
{
	static const uint8_t empty[ENTRY_BYTES];
	struct lead *lead = &e->leads[e->lead_count];

	for (int i = 0; i < MOST_ENTRIES; i++) {
		uint64_t at = e->region + ENTRIES_AT + (uint64_t)i * ENTRY_BYTES;
		uint8_t code[ENTRY_BYTES] = {0}, now[ENTRY_BYTES];
		sys_plant_call(code, (int32_t)(at - e->region));
		if (!insn_jump(code + 5, at + 5, word->function) ||
			!tracee_read(&e->tracee, at, now, sizeof(now)))
			return false;
		if (memcmp(now, code, sizeof(now)) && memcmp(now, empty, sizeof(now)))
			continue;
		*lead = (struct lead){.site = word->at, .bytes = sizeof(at)};
		memcpy(lead->before, &word->function, sizeof(at));
		memcpy(lead->after, &at, sizeof(at));
		e->lead_count++;
		return tracee_write(&e->tracee, at, code, sizeof(code));
	}
	return false;
}

static bool code_is(const struct enter *e, uint64_t at, const uint8_t *bytes, size_t count)
{
	uint8_t now[INSN_MAX_BYTES];

	return tracee_read(&e->tracee, at, now, count) && !memcmp(now, bytes, count);
}

static int write_plant(struct enter *e, char why[REFUSAL_BYTES])
{
	struct sys_plant *plant = &e->plant;

	plant->stack = e->region + STACK_AT;
	if (!tracee_write(&e->tracee, e->region, sys_plant_begin,
		    (size_t)(sys_plant_end - sys_plant_begin)) ||
		!tracee_write(&e->tracee, e->region + PAGE, plant, sizeof(*plant)))
		return refusal(why, -EIO, "its memory cannot be written");
	for (size_t i = 0; i < e->target.functions.count && e->lead_count < MOST_ENTRIES; i++)
		write_entry(e, &e->target.functions.items[i]);
	for (size_t i = 0; i < e->target.words.count && e->lead_count < MOST_ENTRIES; i++)
		write_word_entry(e, &e->target.words.items[i]);
	return e->lead_count ? 0
			     : refusal(why, -ENOTSUP,
				       "the first instructions of its functions cannot be moved");
}

static size_t lead_ranges(const struct enter *e, struct code_range ranges[MOST_ENTRIES])
{
	for (size_t i = 0; i < e->lead_count; i++)
		ranges[i] = (struct code_range){
			e->leads[i].site + 1, e->leads[i].site + e->leads[i].displaced};
	return e->lead_count;
}

/* -EAGAIN: a thread stands where a jump is to be written. */
static int write_leads(struct enter *e, char why[REFUSAL_BYTES])
{
	struct code_range ranges[MOST_ENTRIES];

	for (size_t i = 0; i < e->lead_count; i++)
		if (!code_is(e, e->leads[i].site, e->leads[i].before, e->leads[i].bytes))
			return refusal(why, -ENOTSUP,
				"its code is not that of its file any more: another tool patches "
				"it, or a recorder was killed in it; restart it");
	if (any_thread_is_in(&e->tracee, ranges, lead_ranges(e, ranges), NULL))
		return refusal(why, -EAGAIN,
			"a thread stands where a jump is to be written, or runs on a stack that is "
			"not its own; try again");
	e->is_planted = true;
	for (size_t i = 0; i < e->lead_count; i++)
		if (!tracee_write(
			    &e->tracee, e->leads[i].site, e->leads[i].after, e->leads[i].bytes))
			return refusal(why, -EIO, "its code cannot be written");
	return 0;
}

/* Legal at any time: a jump is one instruction, so no thread is within it. */
static void take_leads_away(struct enter *e)
{
	for (size_t i = 0; e->is_planted && i < e->lead_count; i++)
		if (code_is(e, e->leads[i].site, e->leads[i].after, e->leads[i].bytes))
			tracee_write(&e->tracee, e->leads[i].site, e->leads[i].before,
				e->leads[i].bytes);
	e->is_planted = false;
}

/* Leaving. */

/*
 * True: the region is gone, but for code and data where words led to it: the program may have read
 * one, and call it later. No thread is in it.
 */
static bool unmap_region(struct enter *e)
{
	const struct code_range range = {
		e->region + (e->target.words.count ? STACK_AT : 0), e->region + REGION_BYTES};
	const struct system_call call = {{SYS_munmap, range.low, range.end - range.low}};

	if (system_calls_make(&e->tracee, &call, 1, is_unmapped, &range))
		return false;
	e->region = 0;
	return true;
}

/* Is a thread in the region, or may it return there? */
static bool is_in_region(const struct enter *e)
{
	const struct code_range region = {e->region, e->region + REGION_BYTES};

	for (size_t i = 0; i < e->tracee.threads.count; i++) {
		uint64_t sp = sys_registers_sp(&e->tracee.threads.items[i].registers);
		if (sp >= region.low && sp < region.end)
			return true;
	}
	/* addresses of its data and stack may lie anywhere; only its code is returned to */
	const struct code_range code = {e->region, e->region + PAGE};
	return any_thread_is_in(&e->tracee, &code, 1, NULL);
}

/* All our code that threads may be in. Returns how many ranges. */
static size_t code_ranges(const struct enter *e, struct code_range *ranges, size_t most)
{
	const struct tracee_mappings *list = &e->tracee.mappings;
	const char *slash = strrchr(e->target.library, '/');
	size_t folder = (size_t)(slash - e->target.library) + 1, n = 0;

	for (size_t i = 0; i < list->of.count && n < most; i++) {
		const struct tracee_mapping *m = &list->of.items[i];
		if (m->is_executable && !strncmp(m->path, e->target.library, folder) &&
			!strncmp(m->path + folder, "libbrick", 8))
			ranges[n++] = (struct code_range){m->low, m->end};
	}
	for (uint32_t i = 0; i < e->code_count && n < most; i++)
		ranges[n++] = e->codes[i];
	return n;
}

/*
 * The thread of ours is in our library all the time, and no hook of another thread hands it
 * anything to return to: it does not count.
 */
static int is_in_hooks(const struct enter *e)
{
	enum { MOST = 128 };
	const struct code_range own = {e->region, e->region + REGION_BYTES};
	struct code_range ranges[MOST];

	return any_thread_is_in(&e->tracee, ranges, code_ranges(e, ranges, MOST), &own);
}

static void take_jumps_away(struct enter *e)
{
	bool is_left = false;

	for (uint32_t i = 0; i < e->jump_count; i++) {
		const struct brick_enter_jump *j = &e->jumps[i];
		/* another library may lie there by now */
		if (code_is(e, j->site, j->after, j->bytes))
			is_left |= !tracee_write(&e->tracee, j->site, j->before, j->bytes);
	}
	e->is_in = is_left;
}

/* Has it ended, or begun another program by exec(2)? */
static bool enter_has_ended(const struct enter *e)
{
	struct pollfd fd = {.fd = e->pidfd, .events = POLLIN};

	if (!tracee_has_memory(&e->tracee))
		return true;
	return e->pidfd >= 0 ? poll(&fd, 1, 0) > 0
			     : process_start_time(e->target.pid) != e->start_time;
}

/* Tries until the process is stopped. False: it has ended, or cannot be stopped. */
static bool try_to_stop(struct enter *e, int (*stop)(struct tracee *t))
{
	for (int i = 0; i < TRIES && !enter_has_ended(e); i++) {
		if (!stop(&e->tracee))
			return true;
		enter_pause(e, i);
	}
	return false;
}

static bool stop_at_last(struct enter *e)
{
	return try_to_stop(e, tracee_stop);
}

/* Also where a signal has stopped it: memory can be written, but no system call made. */
static bool hold_at_last(struct enter *e)
{
	return try_to_stop(e, tracee_hold);
}

/* True: no thread is in a hook. */
static bool wait_for_quiet(struct enter *e)
{
	for (int i = 0; i < TRIES && hold_at_last(e); i++) {
		int is_in = is_in_hooks(e);
		tracee_go_on(&e->tracee);
		if (!is_in)
			return true;
		enter_pause(e, i);
	}
	return false;
}

static uint32_t plant_state(const struct enter *e)
{
	uint32_t state = SYS_PLANT_WAITS;

	tracee_read(&e->tracee, e->region + PAGE, &state, sizeof(state));
	return state;
}

/* Also true once its thread ends, which it does by itself where it has lost the control page. */
static bool wait_for_state(const struct enter *e, enum brick_enter_state state, int tries)
{
	for (int i = 0; i < tries && !enter_has_ended(e); i++) {
		if (enter_state(e) >= state || plant_state(e) == SYS_PLANT_DONE)
			return true;
		enter_pause(e, i);
	}
	return false;
}

/* Is there a thread of ours that answers, or will there be one? */
static bool has_answerer(const struct enter *e)
{
	struct sys_plant plant;

	if (enter_state(e) != BRICK_ENTER_ASKED)
		return true;
	if (!tracee_read(&e->tracee, e->region + PAGE, &plant, sizeof(plant)))
		return false;
	return plant.state == SYS_PLANT_TAKEN || (plant.state == SYS_PLANT_RUNS && !plant.error);
}

/* True: nothing is left of the plant. */
static bool remove_plant(struct enter *e)
{
	if (e->is_planted && hold_at_last(e)) {
		take_leads_away(e);
		tracee_go_on(&e->tracee);
	}
	for (int i = 0; i < TRIES && e->region && stop_at_last(e); i++) {
		bool is_gone =
			plant_state(e) != SYS_PLANT_TAKEN && !is_in_region(e) && unmap_region(e);
		tracee_go_on(&e->tracee);
		if (is_gone)
			return true;
		/* the thread was started just now: it is told to leave */
		enter_command(e, BRICK_ENTER_LEAVE);
		enter_pause(e, i);
	}
	return !e->region;
}

static void enter_free(struct enter *e)
{
	if (e->tracee.memory >= 0)
		flock(e->tracee.memory, LOCK_UN); /* also for the child that outlives us */
	tracee_close(&e->tracee);
	if (e->pidfd >= 0)
		close(e->pidfd);
	target_fini(&e->target);
	if (e->control) {
		e->guard->remove(e->control, sizeof(*e->control));
		munmap(e->control, sizeof(*e->control));
	}
	munmap(e, sizeof(*e));
}

static bool leave(struct enter *e, char why[REFUSAL_BYTES])
{
	enum { PATIENCE = 2 * BRICK_ENTER_PATIENCE_MS / LONGEST_PAUSE_MS };

	enter_command(e, BRICK_ENTER_PAUSE);
	bool has_paused = wait_for_state(e, BRICK_ENTER_PAUSED, TRIES + PATIENCE);
	/* jumps that nobody answers for go, too: from then on no thread enters a hook */
	if (e->is_in && hold_at_last(e)) {
		take_jumps_away(e);
		tracee_go_on(&e->tracee);
	}
	bool is_quiet = has_paused && !e->is_in && wait_for_quiet(e);
	enter_command(e, is_quiet ? BRICK_ENTER_LEAVE_QUIET : BRICK_ENTER_LEAVE);
	bool has_left = wait_for_state(e, BRICK_ENTER_REFUSED, TRIES);
	bool is_clean = remove_plant(e);
	if (enter_has_ended(e) || (is_quiet && has_left && is_clean && !is_control_lost(e)))
		return true;
	if (e->is_in)
		refusal(why, -EBUSY, "its threads could not be stopped: jumps to hooks stay in it");
	else if (!has_left)
		refusal(why, -EBUSY, "its thread 'brick' does not answer, and stays in it");
	else if (is_control_lost(e))
		refusal(why, -EBUSY,
			"somebody has cut its control page in the recorder's directory: memory of "
			"rings stays in it");
	else if (!has_paused)
		refusal(why, -EBUSY,
			"its thread 'brick' answered too late: memory of rings stays in it");
	else if (!is_quiet)
		refusal(why, -EBUSY,
			"a thread stayed in a function of the engine: memory of rings stays in it "
			"until that thread ends");
	else
		refusal(why, -EBUSY, "%d kB of memory stay in it", REGION_BYTES / 1024);
	return false;
}

/* Takes everything away that can be. True: all of it. */
static bool get_out(struct enter *e, char why[REFUSAL_BYTES])
{
	*why = '\0';
	if (enter_has_ended(e)) { /* the child that outlives us must look for nothing */
		e->region = e->tracee.cave = e->jump_count = 0;
		return true;
	}
	if (e->is_in || has_answerer(e))
		return leave(e, why);
	if (remove_plant(e) || enter_has_ended(e))
		return true;
	refusal(why, -EBUSY, "%d kB of memory stay in it", REGION_BYTES / 1024);
	return false;
}

bool enter_end(struct enter *e, char why[REFUSAL_BYTES])
{
	bool is_clean = get_out(e, why);

	enter_free(e);
	return is_clean;
}

/* Where a thread was just making system calls for the parent, it has gone on by itself. */
static void give_cave_back(struct enter *e)
{
	bool is_done = !e->tracee.cave;

	for (int i = 0; i < TRIES && !is_done && stop_at_last(e); i++) {
		is_done = system_calls_give_back(&e->tracee);
		tracee_go_on(&e->tracee);
		if (!is_done)
			enter_pause(e, i);
	}
}

/*
 * Is the page of code there, which is empty until the plant is written? After exec(2) other things
 * may lie at its address, which the process must keep.
 */
static bool has_region(const struct enter *e)
{
	uint8_t now[ENTRIES_AT];
	static const uint8_t empty[ENTRIES_AT];
	struct tracee_mappings list = {0};
	size_t bytes = (size_t)(sys_plant_end - sys_plant_begin);

	if (!e->region || tracee_mappings_read(&list, e->target.pid))
		return false;
	const struct tracee_mapping *m = tracee_mapping_at(&list, e->region);
	bool is_there = m && m->low == e->region && m->end == e->region + PAGE &&
			m->is_executable && !m->is_writable && !*m->path &&
			tracee_read(&e->tracee, e->region, now, bytes) &&
			(!memcmp(now, sys_plant_begin, bytes) || !memcmp(now, empty, bytes));
	tracee_mappings_fini(&list);
	return is_there;
}

/* The parent may have gone further than e says: jumps are known by their bytes. Or the process may
 * have ended before the parent, or begun another program, and another one have its number. Or the
 * parent has left it, and another recorder may be in. */
void enter_abandoned(struct enter *e)
{
	char why[REFUSAL_BYTES];
	const struct tracee former = e->tracee;

	if (former.memory < 0 || flock(former.memory, LOCK_EX | LOCK_NB))
		return;
	e->meanwhile = NULL;
	e->pidfd = (int)syscall(SYS_pidfd_open, e->target.pid, 0);
	if (tracee_open(&e->tracee, e->target.pid))
		return;
	if (process_start_time(e->target.pid) != e->start_time) {
		tracee_close(&e->tracee);
		return;
	}
	e->tracee.cave = former.cave;
	memcpy(e->tracee.cave_former, former.cave_former, sizeof(former.cave_former));
	give_cave_back(e);
	e->is_planted = true;
	e->is_in = e->jump_count > 0;
	if (has_region(e))
		get_out(e, why);
	tracee_close(&e->tracee);
}

/* Entering. */

/* Does the thread wait in the C library, called by this interpreter or a module of its own? */
static bool waits_for(const struct tracee *t, const struct tracee_thread *thread, const char *file)
{
	const struct tracee_mapping *m = NULL;
	struct unwind u;

	for (unwind_begin(&u, t, thread); u.state == UNWIND_FRAME; unwind_next(&u)) {
		m = tracee_mapping_at(&t->mappings, u.pc);
		if (!m || !strstr(m->path, "/libc.so.6"))
			break;
	}
	return u.state == UNWIND_FRAME && m &&
	       (!strcmp(m->path, file) || strstr(m->path, "/lib-dynload/"));
}

/*
 * An interpreter that waits for a lock may do so for hours. Its own code takes every wait up again
 * that a signal has ended (PEP 475), and passes by the plant for that.
 */
static void wake_interpreter(struct enter *e)
{
	for (size_t i = 0; e->target.interpreter && i < e->tracee.threads.count; i++) {
		struct tracee_thread *thread = &e->tracee.threads.items[i];
		if (thread->tid == e->target.pid &&
			waits_for(&e->tracee, thread, e->target.interpreter) &&
			sys_registers_end_wait(&thread->registers))
			tracee_lead(thread, &thread->registers);
	}
}

static int enter_plant(struct enter *e, char why[REFUSAL_BYTES])
{
	int error = e->region ? 0 : map_region(e); /* it is there if a try could not unmap it */

	if (error)
		refusal(why, error, "it gets no memory for code near its engine: %s",
			strerror(-error));
	if (!error)
		error = write_plant(e, why);
	if (!error)
		error = write_leads(e, why);
	if (!error) {
		wake_interpreter(e);
	} else { /* no thread has run since the first jump was written */
		take_leads_away(e);
		if (e->region)
			unmap_region(e);
	}
	return error;
}

/*
 * One recorder at a time, or the child that outlives it: what it has written would be taken for
 * ours, and ours be taken away with it.
 */
static int enter_lock(
	const struct enter *e, pid_t pid, target_is_left_fn is_left, char why[REFUSAL_BYTES])
{
	struct tracee_mappings mappings = {0};
	int recorded = 0;

	for (int i = 0; i < TRIES && recorded != -EALREADY; i++) {
		if (!flock(e->tracee.memory, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
			return 0;
		if (i)
			enter_pause(e, i);
		recorded = tracee_mappings_read(&mappings, pid);
		if (!recorded)
			recorded = target_examine_recorded(pid, &mappings, is_left, why);
		tracee_mappings_fini(&mappings);
	}
	return recorded ? recorded
			: refusal(why, -EBUSY, "another recorder enters or leaves it; try again");
}

int enter_open(struct enter **out, pid_t pid, const struct enter_recorder *recorder,
	char why[REFUSAL_BYTES])
{
	/* a child that outlives us must know how far we got */
	struct enter *e =
		mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (e == MAP_FAILED)
		return refusal(why, -ENOMEM, "%s", strerror(ENOMEM));
	e->tracee.memory = e->pidfd = -1;
	e->guard = recorder->guard;
	e->meanwhile = recorder->meanwhile;
	e->enters = recorder->enters;
	e->context = recorder->context;
	e->start_time = process_start_time(pid);
	int no_memory = tracee_open(&e->tracee, pid);
	int error = no_memory ? 0 : enter_lock(e, pid, recorder->is_left, why);
	if (!error)
		error = target_examine(&e->target, pid, recorder->is_left, why);
	if (!error)
		error = target_symbols(&e->target, &e->plant, why);
	if (!error) {
		e->plant.stack_bytes = STACK_BYTES;
		/* all but two of the C library, which waits for each thread to take them: numbers
		   32 and 33 end a thread, and change all threads' user */
		e->plant.all_signals = ~(UINT64_C(3) << 31);
		snprintf(e->plant.symbol, sizeof(e->plant.symbol), "%s", BRICK_ENTER_SYMBOL);
		snprintf(e->plant.library, sizeof(e->plant.library), "%s", e->target.library);
		snprintf(e->plant.argument, sizeof(e->plant.argument), "%s", recorder->directory);
		e->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		error = no_memory;
		if (!error && process_start_time(pid) != e->start_time)
			error = -ESRCH; /* another one has its number */
		if (error)
			target_refusal(pid, error, why);
	}
	if (!error) {
		error = make_control(e, recorder->directory, recorder->environment);
		if (error)
			refusal(why, error, "%s: %s", recorder->directory, strerror(-error));
	}
	if (error)
		enter_free(e);
	else
		*out = e;
	return error;
}

int enter_descriptor(const struct enter *e)
{
	return e->tracee.memory;
}

pid_t enter_pid(const struct enter *e)
{
	return e->target.pid;
}

int enter_begin(struct enter *e, char why[REFUSAL_BYTES])
{
	int error = -EAGAIN;

	for (int i = 0; error == -EAGAIN && i < TRIES; i++) {
		error = tracee_stop(&e->tracee);
		if (error) {
			target_refusal(e->target.pid, error, why);
			break;
		}
		e->lead_count = 0;
		error = enter_plant(e, why);
		tracee_go_on(&e->tracee);
		if (error == -EAGAIN)
			enter_pause(e, i);
	}
	if (error)
		enter_free(e);
	return error;
}

static int write_jumps(struct enter *e, char why[REFUSAL_BYTES])
{
	const volatile struct brick_enter_control *c = e->control;
	uint32_t count = c->jump_count, codes = c->code_count;
	struct code_range ranges[BRICK_ENTER_JUMPS];

	if (count > BRICK_ENTER_JUMPS)
		return refusal(why, -EIO, "its library lists %u jumps", count);
	e->jump_count = 0;
	e->code_count = codes < BRICK_ENTER_CODES ? codes : BRICK_ENTER_CODES;
	for (uint32_t i = 0; i < e->code_count; i++)
		e->codes[i] = (struct code_range){c->code[i].low, c->code[i].end};
	for (uint32_t i = 0; i < count; i++) {
		struct brick_enter_jump *j = &e->jumps[i];
		*j = c->jumps[i];
		if (j->bytes > BRICK_ENTER_JUMP_BYTES)
			return refusal(why, -EIO, "its library lists a jump of %u bytes", j->bytes);
		if (!j->displaced) /* the dynamic linker may have filled it in meanwhile */
			tracee_read(&e->tracee, j->site, j->before, j->bytes);
		if (!code_is(e, j->site, j->before, j->bytes))
			return refusal(why, -EIO, "its code has changed meanwhile");
		ranges[i] = (struct code_range){j->site + 1, j->site + j->displaced};
	}
	if (any_thread_is_in(&e->tracee, ranges, count, NULL))
		return -EAGAIN;
	if (is_control_lost(e))
		return -EAGAIN;
	e->jump_count = count;
	e->is_in = true;
	for (uint32_t i = 0; i < count; i++)
		if (!tracee_write(
			    &e->tracee, e->jumps[i].site, e->jumps[i].after, e->jumps[i].bytes))
			return refusal(why, -EIO, "its code cannot be written");
	return 0;
}

static enum enter_progress enter_write(struct enter *e, char why[REFUSAL_BYTES])
{
	int error = tracee_stop(&e->tracee);

	if (!error) {
		if (e->enters)
			e->enters(e->context, e->target.pid);
		e->enters = NULL;
		error = write_jumps(e, why);
		if (error && e->is_in)
			take_jumps_away(e);
		tracee_go_on(&e->tracee);
		if (!error)
			enter_command(e, BRICK_ENTER_BEGIN);
	} else if (error == -ESRCH) {
		return ENTER_ENDED;
	} else if (error == -ETIMEDOUT || error == -EBUSY) {
		error = -EAGAIN;
	} else {
		target_refusal(e->target.pid, error, why);
	}
	if (!error)
		return ENTER_IS_IN;
	if (enter_has_ended(e)) /* its code was that of another program */
		return ENTER_ENDED;
	if (error == -EAGAIN && ++e->tries < TRIES)
		return ENTER_COMES;
	if (error == -EAGAIN)
		refusal(why, error,
			"a thread always stands where a jump is to be written, or runs on a stack "
			"that is not its own; start it by brick record -- CMD");
	return ENTER_FAILED;
}

/* The library is there: it must find the engine's code as it was. */
static enum enter_progress enter_prepare(struct enter *e)
{
	if (tracee_stop(&e->tracee))
		return enter_has_ended(e) ? ENTER_ENDED : ENTER_COMES;
	take_leads_away(e);
	tracee_go_on(&e->tracee);
	enter_command(e, BRICK_ENTER_PREPARE);
	return ENTER_COMES;
}

enum enter_progress enter_turn(struct enter *e, char why[REFUSAL_BYTES])
{
	struct sys_plant plant;
	char text[sizeof(e->control->text)];

	tracee_look(&e->tracee);
	if (enter_has_ended(e))
		return ENTER_ENDED;
	enum brick_enter_state state = enter_state(e);
	if (is_control_lost(e)) {
		refusal(why, -EIO,
			"somebody has cut its control page in the recorder's directory; it is "
			"left");
		return ENTER_FAILED;
	}
	if (e->is_in)
		return ENTER_IS_IN;
	switch (state) {
	case BRICK_ENTER_LOADED:
		return e->is_planted ? enter_prepare(e) : ENTER_COMES;
	case BRICK_ENTER_READY:
		return enter_write(e, why);
	case BRICK_ENTER_PAUSED:
	case BRICK_ENTER_REFUSED:
	case BRICK_ENTER_LEFT:
		memcpy(text, e->control->text, sizeof(text)); /* the process may write it */
		text[sizeof(text) - 1] = '\0';
		refusal(why, -ENOTSUP, "%s", text[0] ? text : "its library left it");
		return ENTER_FAILED;
	case BRICK_ENTER_ASKED:
		break;
	}
	if (!tracee_read(&e->tracee, e->region + PAGE, &plant, sizeof(plant)))
		return enter_has_ended(e) ? ENTER_ENDED : ENTER_WAITS;
	plant.text[sizeof(plant.text) - 1] = '\0';
	if (plant.state == SYS_PLANT_RUNS && plant.error)
		refusal(why, -plant.error, "it gets no thread: %s", strerror(plant.error));
	else if (plant.state == SYS_PLANT_REFUSED)
		refusal(why, -ENOTSUP, "its dynamic linker does not load our library: %s",
			plant.text);
	else if (plant.state == SYS_PLANT_DONE && enter_state(e) == BRICK_ENTER_ASKED)
		refusal(why, -ENOTSUP, "its library does not reach this recorder's files");
	else
		return plant.state == SYS_PLANT_WAITS ? ENTER_WAITS : ENTER_COMES;
	return ENTER_FAILED;
}
