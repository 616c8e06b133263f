/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serving a recorder that attaches to the running process (entry.h). The control page is the one
 * thing that both write. When the recorder is gone without a word, threads may be in hooks: the
 * session ends, and what they may still touch stays. The same where somebody cuts the page's file:
 * the kernel copies from the page and to it, and tells it by an error, where an access of ours
 * would end the process.
 */
#include "attach/common/entry.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "brick/abi/thread.h"
#include "brick/brick.h"
#include "brick/session.h"
#include "lib/sys/environment.h"
#include "lib/sys/functions.h"
#include "lib/sys/shared.h"

void entry_add_jump(struct brick_enter_control *control, const struct brick_enter_jump *jump)
{
	uint32_t at = control->jump_count++;

	if (at < BRICK_ENTER_JUMPS)
		control->jumps[at] = *jump;
}

void entry_add_code(struct brick_enter_control *control, uint64_t low, uint64_t bytes)
{
	uint32_t at = control->code_count++;

	if (at >= BRICK_ENTER_CODES)
		return;
	control->code[at].low = low;
	control->code[at].end = low + bytes;
}

uint32_t entry_leaving;

uint32_t entry_open(void)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;

	return brick_losses_get(&losses) ? 0 : (uint32_t)losses.open;
}

void entry_leave_here(void)
{
	const struct brick_lane *lane = brick__thread.lane;

	if (brick_enabled() && entry_open() == (lane ? brick_lane_open(lane) : 0))
		brick_pause();
}

void entry_wait_for_ends(void)
{
	enum { LEAST_LOOKS = 1000 }; /* of a busy machine, where each takes long */
	const struct timespec pause = {.tv_nsec = 1000000};
	const uint64_t until_ns = monotonic_ns() + BRICK_ENTER_PATIENCE_MS * UINT64_C(1000000);

	for (int looks = 0; entry_open() && (looks < LEAST_LOOKS || monotonic_ns() < until_ns);
		looks++)
		nanosleep(&pause, NULL);
}

struct entry {
	struct brick_enter_control *control; /* shared */
	const char *directory;
	bool is_lost; /* the page is not there any more */
	struct brick_enter_control own;
};

void entry_add_word(struct brick_enter_control *control, uintptr_t site, const void *function)
{
	struct brick_enter_jump jump = {.site = site, .bytes = sizeof(function)};

	memcpy(jump.before, (const void *)site, sizeof(function));
	memcpy(jump.after, &function, sizeof(function));
	entry_add_jump(control, &jump);
}

/* A part of the page, between the shared one and our own. */
static void entry_copy(struct entry *e, size_t offset, size_t bytes, bool is_from_shared)
{
	struct iovec own = {(char *)&e->own + offset, bytes};
	struct iovec shared = {(char *)e->control + offset, bytes};
	ssize_t copied = is_from_shared ? process_vm_readv(getpid(), &own, 1, &shared, 1, 0)
					: process_vm_writev(getpid(), &own, 1, &shared, 1, 0);

	e->is_lost |= copied != (ssize_t)bytes;
}

#define ENTRY_GET(e, member) \
	entry_copy(e, offsetof(struct brick_enter_control, member), sizeof((e)->own.member), true)
#define ENTRY_PUT(e, member) \
	entry_copy(e, offsetof(struct brick_enter_control, member), sizeof((e)->own.member), false)

/* The attachers beside the engine's: CUDA's where the process has the driver, and NVTX's. */
static const struct {
	const char *driver, *library; /* driver: NULL: none is needed */
} entry_besides[] = {{"libcuda.so.1", "libbrick-cuda.so"}, {NULL, "libbrick-nvtx.so"}};

enum { BESIDES = sizeof(entry_besides) / sizeof(*entry_besides) };
static entry_beside_fn entry_beside_functions[BESIDES]; /* NULL: it is not there */

static void entry_beside(int what)
{
	for (int i = 0; i < BESIDES; i++)
		if (entry_beside_functions[i])
			entry_beside_functions[i](what);
}

/* The next command; BRICK_ENTER_LEAVE also when the recorder has gone. */
static uint32_t wait_for_command(struct entry *e, uint32_t former)
{
	enum { LOOKS = 10 }; /* what the recorder leaves behind may still leave in good order */
	const struct timespec while_it_lives = {.tv_nsec = 500000000};
	int missed = 0;

	while (missed < LOOKS && !e->is_lost) {
		/* it says first whether the page is there, and then whether it has another word */
		int why = syscall(SYS_futex, &e->control->command, FUTEX_WAIT, former,
				  &while_it_lives, NULL, 0)
				  ? errno
				  : 0;
		e->is_lost = why == EFAULT;
		ENTRY_GET(e, command);
		if (!e->is_lost && e->own.command != former)
			return e->own.command;
		if (why == ETIMEDOUT) { /* signals of the C library's own end waits, too */
			missed = brick__shared_is_held(e->directory, "lock") ? 0 : missed + 1;
			entry_beside(ENTRY_BESIDE_LOOK);
		}
	}
	return BRICK_ENTER_LEAVE;
}

/* All that was put before is there by then. */
static void say(struct entry *e, enum brick_enter_state state)
{
	e->own.state = state;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	ENTRY_PUT(e, state);
}

/* NULL, or why nothing can be recorded. */
static const char *entry_prepare(struct entry *e, entry_prepare_fn prepare)
{
	struct brick_enter_control *own = &e->own;

	ENTRY_GET(e, environment);
	own->environment[sizeof(own->environment) - 1] =
		own->environment[sizeof(own->environment) - 2] = '\0';
	brick__environment_hand_over(own->environment);
	const char *refused = prepare(own);
	if (!refused && own->jump_count > BRICK_ENTER_JUMPS)
		refused = "it has too many copies of the engine";
	ENTRY_PUT(e, jumps);
	ENTRY_PUT(e, code);
	ENTRY_PUT(e, jump_count);
	ENTRY_PUT(e, code_count);
	return refused;
}

/*
 * The dynamic linker's own functions: an engine's attacher stands in front of them for the program,
 * and would look for new engines.
 */
static void entry_beside_open(void)
{
	static void *next_open, *next_close;
	void *(*open)(const char *, int) =
		(void *(*)(const char *, int))sys_function_next(&next_open, "dlopen");
	int (*close)(void *) = (int (*)(void *))sys_function_next(&next_close, "dlclose");
	Dl_info own;
	const char *slash =
		dladdr((const void *)entry_beside, &own) ? strrchr(own.dli_fname, '/') : NULL;

	for (int i = 0; i < BESIDES && open && close; i++) {
		const char *driver = entry_besides[i].driver, *library = entry_besides[i].library;
		void *there = driver ? open(driver, RTLD_NOW | RTLD_NOLOAD) : NULL, *beside = NULL;
		char path[PATH_MAX];
		if (driver && !there)
			continue;
		if (there)
			close(there);
		if (slash &&
			snprintf(path, sizeof(path), "%.*s%s", (int)(slash - own.dli_fname) + 1,
				own.dli_fname, library) < (int)sizeof(path))
			beside = open(path, RTLD_NOW | RTLD_LOCAL);
		if (!beside || !sys_function_find(
				       beside, "brick_enter_beside", &entry_beside_functions[i]))
			brick_note("entered.beside", "%s is not beside the engine's attacher",
				library);
	}
}

static enum brick_enter_state entry_record(struct entry *e, const struct entry_engine *engine)
{
	uint32_t command = wait_for_command(e, BRICK_ENTER_STAY);

	if (command != BRICK_ENTER_PREPARE)
		return BRICK_ENTER_LEFT;
	const char *refused = entry_prepare(e, engine->prepare);
	if (!refused) {
		brick_note("entered", "it ran already");
		/* before the first step: all of its commands are seen */
		entry_beside_open();
		entry_beside(ENTRY_BESIDE_BEGIN);
		say(e, BRICK_ENTER_READY);
		command = wait_for_command(e, BRICK_ENTER_PREPARE);
	}
	if (command == BRICK_ENTER_BEGIN) {
		if (engine->begin)
			engine->begin();
		command = wait_for_command(e, BRICK_ENTER_BEGIN);
	}
	entry_beside(ENTRY_BESIDE_PAUSE);
	if (engine->leave)
		engine->leave();
	if (command == BRICK_ENTER_PAUSE) {
		__atomic_store_n(&entry_leaving, 1, __ATOMIC_RELAXED);
		if (brick_enabled()) /* else the engine has waited already */
			entry_wait_for_ends();
		entry_beside(ENTRY_BESIDE_LEAVE);
		brick_pause();
		__atomic_store_n(&entry_leaving, 0, __ATOMIC_RELAXED);
		say(e, BRICK_ENTER_PAUSED);
		command = wait_for_command(e, BRICK_ENTER_PAUSE);
	}
	/* once: where it was told to pause, it has left already */
	entry_beside(ENTRY_BESIDE_LEAVE);
	if (command == BRICK_ENTER_LEAVE_QUIET) {
		/* queues have lanes, which go with the session */
		entry_beside(ENTRY_BESIDE_FORGET);
		brick__environment_hand_over("BRICK_LEAVE=quiet\0");
		if (engine->forget)
			engine->forget();
	}
	brick__environment_hand_over("");
	if (refused) {
		snprintf(e->own.text, sizeof(e->own.text), "%s", refused);
		ENTRY_PUT(e, text);
	}
	return refused ? BRICK_ENTER_REFUSED : BRICK_ENTER_LEFT;
}

void entry_serve(const char *directory, const struct entry_engine *engine)
{
	char name[64];

	snprintf(name, sizeof(name), BRICK_ENTER_CONTROL, (int)getpid());
	struct entry e = {.directory = directory,
		.control = brick__shared_attach(directory, name, sizeof(e.own))};

	if (!e.control)
		return; /* the recorder is gone */
	prctl(PR_SET_NAME, "brick", 0, 0, 0);
	say(&e, BRICK_ENTER_LOADED);
	ENTRY_GET(&e, version);
	say(&e, !e.is_lost && e.own.version == BRICK_ENTER_VERSION ? entry_record(&e, engine)
								   : BRICK_ENTER_REFUSED);
	munmap(e.control, sizeof(e.own));
}
