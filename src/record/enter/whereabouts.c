/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whereabouts (whereabouts.h). Frames are followed by the tables of the code. Where these end, as
 * in code that was generated at run time, each word of the rest of the stack counts as an address
 * to return to. That rest must be all of it: the C library keeps a thread's own data behind its
 * stack, and the kernel has put the first thread's where it says [stack].
 */
#include "record/enter/whereabouts.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "lib/sys/tracing.h"
#include "record/enter/unwind.h"

static bool is_in_ranges(uint64_t address, const struct code_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (address >= ranges[i].low && address < ranges[i].end)
			return true;
	return false;
}

static bool is_own_stack(const struct tracee_mapping *m, const struct tracee_thread *thread)
{
	uint64_t own = sys_registers_thread(&thread->registers);

	return m && (!strcmp(m->path, "[stack]") || (own >= m->low && own < m->end));
}

bool thread_has_own_stack(const struct tracee *t, const struct tracee_thread *thread)
{
	uint64_t sp = sys_registers_sp(&thread->registers);

	return is_own_stack(tracee_mapping_at(&t->mappings, sp), thread);
}

/* 0: no word from sp on looks like an address in the ranges. */
static int search_words(const struct tracee *t, const struct tracee_thread *thread, uint64_t sp,
	const struct code_range *ranges, size_t count)
{
	enum { WORDS = 512 };
	uint64_t words[WORDS];
	const struct tracee_mapping *m = tracee_mapping_at(&t->mappings, sp);

	if (!is_own_stack(m, thread))
		return -EAGAIN;
	for (sp &= ~UINT64_C(7); sp < m->end;) {
		size_t n = (m->end - sp) / 8 < WORDS ? (size_t)(m->end - sp) / 8 : WORDS;
		if (!tracee_read(t, sp, words, n * 8))
			return -EAGAIN;
		for (size_t i = 0; i < n; i++)
			if (is_in_ranges(words[i], ranges, count))
				return -EAGAIN;
		sp += n * 8;
	}
	return 0;
}

int thread_is_in(const struct tracee *t, const struct tracee_thread *thread,
	const struct code_range *ranges, size_t count)
{
	struct unwind u;

	unwind_begin(&u, t, thread);
	while (u.state == UNWIND_FRAME) {
		if (is_in_ranges(u.pc, ranges, count))
			return 1;
		unwind_next(&u);
	}
	return u.state == UNWIND_END
		       ? 0
		       : search_words(t, thread, u.registers[SYS_DWARF_SP], ranges, count);
}

int any_thread_is_in(const struct tracee *t, const struct code_range *ranges, size_t count,
	const struct code_range *except)
{
	int found = 0;

	for (size_t i = 0; i < t->threads.count && found != 1; i++) {
		const struct tracee_thread *thread = &t->threads.items[i];
		uint64_t sp = sys_registers_sp(&thread->registers);
		if (except && sp >= except->low && sp < except->end)
			continue;
		int is = thread_is_in(t, thread, ranges, count);
		found = is ? is : found;
	}
	return found;
}
