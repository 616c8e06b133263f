/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of a stopped process (system_calls.h). The thread is led to code which makes them
 * and leads it back, and that in one step: whatever becomes of us, it goes on as before. A wait in
 * the kernel that was interrupted begins again.
 */
#include "record/enter/system_calls.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include "lib/sys/tracing.h"
#include "record/enter/whereabouts.h"

SYS_CALLS_CODE;
extern const uint8_t sys_calls_begin[] __attribute__((visibility("hidden")));
extern const uint8_t sys_calls_back[] __attribute__((visibility("hidden")));
extern const uint8_t sys_calls_end[] __attribute__((visibility("hidden")));

enum {
	TRACEE_PAGE = 4096,
	STACK_ROOM = 1024, /* of the thread's stack that may be used */
};

/*
 * Behind the code of a library, up to the end of its last page, lie bytes that nobody reads or
 * executes. 0: there is no such place of TRACEE_CAVE_BYTES.
 */
static uint64_t cave_of(const struct tracee *t, const struct tracee_mapping *m)
{
	const struct tracee_mapping *first = NULL;
	Elf64_Ehdr elf;
	Elf64_Phdr p;

	for (size_t i = 0; i < t->mappings.of.count && !first; i++) {
		const struct tracee_mapping *other = &t->mappings.of.items[i];
		if (!other->offset && !strcmp(other->path, m->path))
			first = other;
	}
	if (!first || !tracee_read(t, first->low, &elf, sizeof(elf)) ||
		memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_phentsize != sizeof(p))
		return 0;
	for (unsigned i = 0; i < elf.e_phnum; i++) {
		if (!tracee_read(t, first->low + elf.e_phoff + i * sizeof(p), &p, sizeof(p)))
			return 0;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) ||
			(p.p_offset & ~(uint64_t)(TRACEE_PAGE - 1)) != m->offset ||
			p.p_memsz != p.p_filesz)
			continue;
		uint64_t end = m->low + (p.p_offset - m->offset) + p.p_filesz;
		uint64_t at = (end + 63) & ~UINT64_C(63);
		return at >= m->low && at + TRACEE_CAVE_BYTES <= m->end ? at : 0;
	}
	return 0;
}

static uint64_t find_cave(const struct tracee *t)
{
	uint64_t at = 0;

	for (size_t i = 0; i < t->mappings.of.count && !at; i++) {
		const struct tracee_mapping *m = &t->mappings.of.items[i];
		if (m->is_executable && m->path[0] == '/')
			at = cave_of(t, m);
	}
	return at;
}

/*
 * A thread whose stack has room. Best is one in a system call, on a stack of its own: it is in no
 * restartable sequence (rseq(2)), which the kernel would break off. NULL: none.
 */
static struct tracee_thread *find_caller(struct tracee *t)
{
	struct tracee_thread *found = NULL;
	int best = -1;

	for (size_t i = 0; i < t->threads.count; i++) {
		struct tracee_thread *thread = &t->threads.items[i];
		uint64_t sp = sys_registers_sp(&thread->registers);
		const struct tracee_mapping *m = tracee_mapping_at(&t->mappings, sp);
		if (!m || !m->is_writable || sp - m->low <= STACK_ROOM)
			continue;
		int rank = 2 * thread_has_own_stack(t, thread) +
			   sys_registers_in_call(&thread->registers);
		if (rank > best) {
			best = rank;
			found = thread;
		}
	}
	return found;
}

/*
 * Give the place of our code back, if no thread is in it or returns there. A thread that a signal
 * has interrupted in it is in the signal's handler first.
 */
static bool give_back(struct tracee *t, const struct tracee_thread *caller)
{
	const struct code_range cave = {t->cave, t->cave + TRACEE_CAVE_BYTES};
	bool is_in =
		caller ? thread_is_in(t, caller, &cave, 1) : any_thread_is_in(t, &cave, 1, NULL);

	if (is_in || !tracee_write(t, t->cave, t->cave_former, sizeof(t->cave_former)))
		return false;
	t->cave = 0;
	return true;
}

/* Another program may lie there by now. */
static bool has_code(const struct tracee *t)
{
	uint8_t now[TRACEE_CAVE_BYTES];
	size_t bytes = (size_t)(sys_calls_back - sys_calls_begin);

	return bytes <= sizeof(now) && tracee_read(t, t->cave, now, bytes) &&
	       !memcmp(now, sys_calls_begin, bytes);
}

bool system_calls_give_back(struct tracee *t)
{
	if (t->cave && !has_code(t))
		t->cave = 0;
	return !t->cave || give_back(t, NULL);
}

int system_calls_make(struct tracee *t, const struct system_call *calls, size_t count,
	bool (*is_done)(const struct tracee *t, const void *context), const void *context)
{
	enum { CAVE_TRIES = 200, STEP_NS = 100000, LONGEST_STEP_NS = 50000000 };
	const uint64_t end = UINT64_MAX;
	uint8_t code[TRACEE_CAVE_BYTES] = {0};
	struct tracee_thread *thread = find_caller(t);
	uint64_t at = find_cave(t), back;
	size_t bytes = (size_t)(sys_calls_end - sys_calls_begin);

	if (!system_calls_give_back(t)) /* of a call before */
		return -EIO;
	if (!at || !thread || count > SYSTEM_CALLS_MOST ||
		bytes + count * sizeof(*calls) + sizeof(end) > TRACEE_CAVE_BYTES)
		return -ENOSPC;
	struct user_regs_struct registers = thread->registers;
	sys_registers_lead(&registers, at, &back);
	memcpy(code, sys_calls_begin, bytes);
	memcpy(code + (sys_calls_back - sys_calls_begin), &back, sizeof(back));
	memcpy(code + bytes, calls, count * sizeof(*calls));
	memcpy(code + bytes + count * sizeof(*calls), &end, sizeof(end));
	if (!tracee_read(t, at, t->cave_former, sizeof(t->cave_former)))
		return -EIO;
	t->cave = at;
	if (!tracee_write(t, at, code, sizeof(code)) || !tracee_lead(thread, &registers))
		return -EIO;
	long ns = STEP_NS;
	for (int i = 0; i < CAVE_TRIES && tracee_step_on(thread, ns); i++) {
		uint64_t pc = sys_registers_pc(&thread->registers);
		if (pc == at && ns < LONGEST_STEP_NS) /* it was stopped before it got a CPU */
			ns *= 2;
		tracee_mappings_fini(&t->mappings);
		if (tracee_mappings_read(&t->mappings, t->pid))
			return -EIO;
		if (pc - at >= TRACEE_CAVE_BYTES && is_done(t, context) && give_back(t, thread))
			return 0;
	}
	return -EIO; /* the code stays: the thread may be in a signal's handler */
}
