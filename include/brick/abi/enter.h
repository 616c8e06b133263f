/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder attaches to a running process: the page that both share, a file in the recorder's
 * directory. A thread of ours in the process serves it: it gets ready, waits, and cleans up.
 * Recorder and libraries must be of one version.
 */
#ifndef BRICK_ABI_ENTER_H
#define BRICK_ABI_ENTER_H

#include <stdint.h>

#define BRICK_ENTER_CONTROL "enter.%d.control" /* the file, by the number of the process */
#define BRICK_ENTER_SYMBOL "brick_enter" /* what the process calls in the attacher's library */

enum {
	BRICK_ENTER_VERSION = 2,
	BRICK_ENTER_JUMPS = 512,
	BRICK_ENTER_CODES = 64,
	BRICK_ENTER_TEXT_BYTES = 512,
	BRICK_ENTER_ENVIRONMENT_BYTES = 16384,
	BRICK_ENTER_JUMP_BYTES = 8,
	BRICK_ENTER_PATIENCE_MS = 3000, /* of a library for bricks to end, twice at most */
};

/* What the process says. */
enum brick_enter_state {
	BRICK_ENTER_ASKED,   /* nothing yet */
	BRICK_ENTER_LOADED,  /* the library is there; it waits for the command */
	BRICK_ENTER_READY,   /* the jumps may be written; it waits for the command */
	BRICK_ENTER_PAUSED,  /* nothing is recorded any more: the jumps may be taken away */
	BRICK_ENTER_REFUSED, /* `text` says why; its thread ends */
	BRICK_ENTER_LEFT,    /* its thread ends */
};

/* What the recorder says. */
enum brick_enter_command {
	BRICK_ENTER_STAY,
	BRICK_ENTER_PREPARE, /* list the jumps */
	BRICK_ENTER_BEGIN,   /* they are written */
	BRICK_ENTER_PAUSE,   /* record nothing from now on, so that no step is half seen */
	BRICK_ENTER_LEAVE,   /* stop recording; threads may still be in hooks */
	/* stop recording; it has paused, and no thread is in a hook, or ever will be */
	BRICK_ENTER_LEAVE_QUIET,
};

/* A jump over a function's first instructions, or a word of data that leads to a function. */
struct brick_enter_jump {
	uint64_t site;
	uint32_t bytes;	    /* of the jump */
	uint32_t displaced; /* bytes of the whole instructions that it replaces; 0: a word, whatever
			       is in it */
	uint8_t before[BRICK_ENTER_JUMP_BYTES], after[BRICK_ENTER_JUMP_BYTES];
};

/* The page through which the recorder tells the library inside of a running process to record. */
struct brick_enter_control {
	uint32_t version;
	uint32_t command;    /* enum brick_enter_command; a futex */
	uint32_t state;	     /* enum brick_enter_state */
	uint32_t jump_count; /* of all; those from BRICK_ENTER_JUMPS on are left out */
	uint32_t code_count; /* the same of `code` and BRICK_ENTER_CODES */
	char text[BRICK_ENTER_TEXT_BYTES];
	struct brick_enter_jump jumps[BRICK_ENTER_JUMPS];
	struct {
		uint64_t low, end;
	} code[BRICK_ENTER_CODES];			 /* our code outside of libraries */
	char environment[BRICK_ENTER_ENVIRONMENT_BYTES]; /* "NAME=VALUE" strings, each ended by NUL,
							    the last by an empty one */
};

#endif
