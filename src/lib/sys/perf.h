/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to perf_event. It opens an event for the calling thread and reads it, through its page
 * if the kernel allows that, else through its descriptor. Functions return 0 or -errno and keep
 * errno. Only the thread that opened an event reads its page; any thread may read its descriptor.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* An open event of one thread. */
struct brick__perf {
	int fd;	     /* -1: not open */
	uint64_t id; /* of the event: the program may close fd, and get its number for a file */
	void *page;  /* the kernel shares it; NULL: there is none */
};

struct brick__perf_reading {
	uint64_t value;			 /* ns of the task clock, else a count */
	uint64_t enabled_ns, running_ns; /* equal unless other events shared the counter */
};

/* A test may put its own functions in place of the kernel and the CPU. */
struct brick__perf_system {
	int (*open)(uint32_t type, uint64_t config, int exclude_kernel); /* fd or -errno */
	void *(*map)(int fd);
	int (*read)(int fd, uint64_t words[3]); /* value, enabled, running; 0 or -errno */
	uint64_t (*id)(int fd);			/* 0: it is no event, or nobody may be asked */
	void (*close)(int fd, void *page);	/* fd: -1 if it is another's */
	uint64_t (*rdpmc)(uint32_t index);	/* NULL: this CPU has no such instruction */
	int (*paranoid)(void);			/* level, or -1: not known */
};

extern const struct brick__perf_system *brick__perf_system;

/* kind: enum brick_counter_kind. */
int brick__perf_open(struct brick__perf *perf, uint32_t kind);
void brick__perf_close(struct brick__perf *perf);

/* Reads the descriptor with system calls; any thread. */
int brick__perf_read(const struct brick__perf *perf, struct brick__perf_reading *reading);

/*
 * Reads the page without a system call, on the thread that is counted. -EAGAIN: the page cannot be
 * read, just now or at all; use the descriptor.
 */
int brick__perf_read_page(const struct brick__perf *perf, struct brick__perf_reading *reading);

/* Writes a sentence that says why an event could not be opened. */
void brick__perf_reason(uint32_t kind, int error, char *reason, size_t bytes);
