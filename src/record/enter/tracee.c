/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stopped processes (tracee.h). PTRACE_SEIZE sends no signal and changes nothing but that the
 * thread is traced. A signal that comes while a thread is being stopped is delivered first.
 */
#include "record/enter/tracee.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/file.h"

#define STOP_NS 2000000000ull /* a thread may wait for a disk so long */

enum {
	CLOSE_TRIES = 10,
	LEAST_LOOKS = 100, /* of a machine that stood still meanwhile */
};

static long tracee_request(int request, pid_t tid, uintptr_t address, uintptr_t data)
{
	return ptrace((enum __ptrace_request)request, tid, address, data);
}

int tracee_open(struct tracee *t, pid_t pid)
{
	char path[64];

	*t = (struct tracee){.pid = pid};
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	t->memory = open(path, O_RDWR | O_CLOEXEC);
	return t->memory < 0 ? -errno : 0;
}

void tracee_close(struct tracee *t)
{
	/* a thread that still waits in the kernel is let go when it comes out, or when we end */
	for (int i = 0; i < CLOSE_TRIES && (!i || t->threads.count); i++)
		tracee_go_on(t);
	if (t->memory >= 0)
		close(t->memory);
	t->memory = -1;
	array_fini(&t->threads);
}

/* The thread's next stop. False: it has ended, or time is up, and then *late is set. */
static bool wait_for_stop(pid_t tid, uint64_t until_ns, int *status, bool *late)
{
	for (int looks = 0;; looks++) {
		pid_t found = waitpid(tid, status, __WALL | WNOHANG);
		if (found == tid)
			return WIFSTOPPED(*status);
		if (found < 0 && errno != EINTR)
			return false;
		if (monotonic_ns() > until_ns && (looks >= LEAST_LOOKS || !until_ns)) {
			*late = true;
			return false;
		}
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
}

/* Signals that come meanwhile are delivered. */
static bool wait_for_interrupt(struct tracee_thread *thread, uint64_t until_ns, bool *late)
{
	int status;

	while (wait_for_stop(thread->tid, until_ns, &status, late)) {
		if (status >> 16 == PTRACE_EVENT_STOP) {
			thread->is_in_group_stop = WSTOPSIG(status) != SIGTRAP;
			return true;
		}
		tracee_request(PTRACE_CONT, thread->tid, 0, (uintptr_t)WSTOPSIG(status));
	}
	return false;
}

static bool has_thread(const struct tracee *t, pid_t tid)
{
	for (size_t i = 0; i < t->threads.count; i++)
		if (t->threads.items[i].tid == tid)
			return true;
	return false;
}

/* A thread that has ended may still be listed, until others have taken notice. */
static bool has_thread_ended(pid_t pid, pid_t tid)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	if (!file_begin(path, text, sizeof(text)))
		return true;
	const char *name_end = strrchr(text, ')');
	return name_end && (name_end[2] == 'Z' || name_end[2] == 'X');
}

/* Seize the threads that are not in the list. How many; or -errno. */
static int seize_new(struct tracee *t)
{
	char path[64];
	struct dirent *entry;
	int count = 0, error = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	DIR *list = opendir(path);
	if (!list)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!error && (entry = readdir(list))) {
		struct tracee_thread thread = {.tid = (pid_t)atoi(entry->d_name)};
		if (!thread.tid || has_thread(t, thread.tid))
			continue;
		if (tracee_request(PTRACE_SEIZE, thread.tid, 0, 0)) {
			error = -errno;
			if (error == -ESRCH || has_thread_ended(t->pid, thread.tid))
				error = 0;
			continue;
		}
		tracee_request(PTRACE_INTERRUPT, thread.tid, 0, 0);
		error = array_push(&t->threads, thread);
		count++;
	}
	closedir(list);
	return error ? error : count;
}

static bool get_registers(struct tracee_thread *thread)
{
	struct iovec part = {&thread->registers, sizeof(thread->registers)};

	return !tracee_request(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, (uintptr_t)&part);
}

bool tracee_lead(const struct tracee_thread *thread, const struct user_regs_struct *registers)
{
	struct iovec part = {(void *)(uintptr_t)registers, sizeof(*registers)};

	return !tracee_request(PTRACE_SETREGSET, thread->tid, NT_PRSTATUS, (uintptr_t)&part);
}

static void forget(struct tracee *t, size_t i)
{
	t->threads.items[i] = t->threads.items[--t->threads.count];
}

/*
 * Wait for all that have not stopped yet. Threads that have ended leave the list: not before
 * waitpid(2) has said so, as exec(2) and exit(2) in the process wait for that. A thread that is
 * killed while it is stopped has yet to be waited for.
 */
static int wait_for_all(struct tracee *t, uint64_t until_ns)
{
	int error = 0;

	for (size_t i = 0; i < t->threads.count; i++) {
		struct tracee_thread *thread = &t->threads.items[i];
		bool late = false;
		if (thread->is_stopped)
			continue;
		thread->is_stopped = wait_for_interrupt(thread, until_ns, &late);
		if (late)
			error = -ETIMEDOUT;
		else if (!thread->is_stopped)
			forget(t, i--);
		else if (!get_registers(thread)) {
			thread->is_stopped = false;
			i--;
		}
	}
	return error;
}

static bool is_any_in_group_stop(const struct tracee *t)
{
	for (size_t i = 0; i < t->threads.count; i++)
		if (t->threads.items[i].is_in_group_stop)
			return true;
	return false;
}

static int stop_all(struct tracee *t, bool is_group_stop_fine)
{
	uint64_t until_ns = monotonic_ns() + STOP_NS;
	int error = wait_for_all(t, until_ns), count = 1;

	while (!error && count > 0) {
		/* a thread that was not stopped yet may have started another one */
		count = seize_new(t);
		error = count < 0 ? count : wait_for_all(t, until_ns);
	}
	if (!error && !t->threads.count)
		error = -ESRCH;
	if (!error && !is_group_stop_fine && is_any_in_group_stop(t))
		error = -EBUSY;
	if (!error)
		error = tracee_mappings_read(&t->mappings, t->pid);
	if (error)
		tracee_go_on(t);
	return error;
}

int tracee_stop(struct tracee *t)
{
	return stop_all(t, false);
}

int tracee_hold(struct tracee *t)
{
	return stop_all(t, true);
}

static void let_stopped_go(struct tracee *t)
{
	for (size_t i = 0; i < t->threads.count; i++)
		if (t->threads.items[i].is_stopped) {
			if (!tracee_request(PTRACE_DETACH, t->threads.items[i].tid, 0, 0))
				forget(t, i--);
			else
				t->threads.items[i].is_stopped = false; /* it was killed */
		}
}

void tracee_go_on(struct tracee *t)
{
	let_stopped_go(t);
	if (t->threads.count) { /* these must stop to be let go */
		wait_for_all(t, monotonic_ns() + STOP_NS);
		let_stopped_go(t);
	}
	tracee_mappings_fini(&t->mappings);
}

void tracee_look(struct tracee *t)
{
	if (t->threads.count) {
		wait_for_all(t, 0);
		let_stopped_go(t);
	}
}

bool tracee_has_memory(const struct tracee *t)
{
	char byte;

	return pread(t->memory, &byte, 1, 0) != 0; /* an error where nothing is mapped */
}

bool tracee_read(const struct tracee *t, uint64_t address, void *to, size_t bytes)
{
	return pread(t->memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool tracee_write(struct tracee *t, uint64_t address, const void *from, size_t bytes)
{
	return pwrite(t->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

bool tracee_step_on(struct tracee_thread *thread, long ns)
{
	bool late = false;

	if (tracee_request(PTRACE_CONT, thread->tid, 0, 0))
		return false;
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
	thread->is_stopped = !tracee_request(PTRACE_INTERRUPT, thread->tid, 0, 0) &&
			     wait_for_interrupt(thread, monotonic_ns() + STOP_NS, &late);
	return thread->is_stopped && get_registers(thread);
}

/* Mappings. */

int tracee_mappings_read(struct tracee_mappings *list, pid_t pid)
{
	char name[64], rights[8], *line = NULL;
	size_t size = 0;
	int error = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(name, "re");
	if (!maps)
		return -errno;
	while (!error && getline(&line, &size, maps) > 0) {
		struct tracee_mapping m;
		int path = 0;
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &m.low,
			    &m.end, rights, &m.offset, &path) < 4)
			continue;
		m.is_readable = rights[0] == 'r';
		m.is_writable = rights[1] == 'w';
		m.is_executable = rights[2] == 'x';
		m.path = strdup(path ? line + path : "");
		error = m.path ? array_push(&list->of, m) : -ENOMEM;
	}
	free(line);
	fclose(maps);
	return error;
}

void tracee_mappings_fini(struct tracee_mappings *list)
{
	for (size_t i = 0; i < list->of.count; i++)
		free(list->of.items[i].path);
	array_fini(&list->of);
}

const struct tracee_mapping *tracee_mapping_at(const struct tracee_mappings *list, uint64_t address)
{
	for (size_t i = 0; i < list->of.count; i++)
		if (address >= list->of.items[i].low && address < list->of.items[i].end)
			return &list->of.items[i];
	return NULL;
}
