/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread of ours does in a process that a recorder attaches to while it runs. The thread has
 * all signals blocked, and ends when the recorder leaves, or is gone. That thread alone.
 */
#pragma once

#include <stdint.h>
#include "brick/abi/enter.h"
#include "brick/attach.h"

/* Lists the jumps of hooks. NULL, or why the process cannot be recorded; the text stays. */
typedef const char *(*entry_prepare_fn)(struct brick_enter_control *control);

/* An attacher's part. It may be prepared again after it has left. */
struct entry_engine {
	entry_prepare_fn prepare;
	void (*begin)(void); /* the jumps are written. NULL: nothing is to be done */
	/*
	 * After prepare(), which may have failed, and while the session still records: undo what
	 * the recorder cannot. NULL: nothing.
	 */
	void (*leave)(void);
	/* Then no thread is in a hook, or will be: give memory back. NULL: nothing. */
	void (*forget)(void);
};

/*
 * Nonzero: the recorder leaves, and waits for what is open to end. A step that begins meanwhile is
 * not recorded: recording pauses there if nothing is open on other threads. Atomic.
 */
extern uint32_t entry_leaving __attribute__((visibility("hidden")));
void entry_leave_here(void);

/* Where a step begins, outside of steps: follow the recorder. */
static inline void entry_heed(void)
{
	brick_recorder_heed();
	if (BRICK_UNLIKELY(__atomic_load_n(&entry_leaving, __ATOMIC_RELAXED)))
		entry_leave_here();
}

/* Bricks that are open, on all threads. */
uint32_t entry_open(void);

/* Until no brick is open in any thread; BRICK_ENTER_PATIENCE_MS at most. */
void entry_wait_for_ends(void);

/*
 * An attacher that records beside the engine's exports brick_enter_beside(): it begins before the
 * engine's jumps are written, so that a step that is seen has all of its commands, looks at what
 * was loaded every half second, pauses when the recorder is about to leave (nothing of its own
 * begins), leaves while the session still records, once commands have ended, and forgets when no
 * thread is in our code.
 */
enum entry_beside {
	ENTRY_BESIDE_BEGIN,
	ENTRY_BESIDE_LOOK,
	ENTRY_BESIDE_PAUSE,
	ENTRY_BESIDE_LEAVE,
	ENTRY_BESIDE_FORGET,
};
typedef void (*entry_beside_fn)(int what);

/* directory: the recorder's. Returns when the recorder has left. */
void entry_serve(const char *directory, const struct entry_engine *engine);

/* Add to the control page what the recorder is to write, and where our code is. */
void entry_add_jump(struct brick_enter_control *control, const struct brick_enter_jump *jump);
void entry_add_code(struct brick_enter_control *control, uint64_t low, uint64_t bytes);

/* The same of a word, such as a slot of the dynamic linker's, that is to hold `function`. */
void entry_add_word(struct brick_enter_control *control, uintptr_t site, const void *function);
