/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that a program opens and closes, as bricks. Pushed ranges are on a stack per thread, and
 * nest within each domain. Started ranges have numbers, may end on any thread and in any order, and
 * go to the lane "Asynchronous". errno is kept. Any thread; a stack by its own thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/annotate/annotations.h"

/* Begin a range on this thread's stack. Returns its level in its domain, from 0. */
int ranges_push(struct annotation_domain *domain, const struct annotation *annotation);

/* Set the bytes that the domain's innermost range on this thread works on. */
void ranges_bytes(const struct annotation_domain *domain, uint64_t bytes);

/* End the domain's innermost range. Returns its level; -1: no range is open. */
int ranges_pop(const struct annotation_domain *domain);

/* Begin a range that may end on any thread. Returns its number, never 0. */
uint64_t ranges_start(const struct annotation *annotation);

/* End a started range. An unknown number is counted for the notes. */
void ranges_end(uint64_t number);

/* Record a finished range: ticks of its begin and end. */
void ranges_took(const struct annotation *annotation, uint64_t begin, uint64_t end);

/* Record a point in time; with a value, also a point of the series with the annotation's name. */
void ranges_mark(const struct annotation *annotation);
void ranges_value(const struct annotation *annotation, double value);

/* Name a thread by its kernel id. Another thread than the caller has the name from its next range
 * on. */
void ranges_name_thread(uint32_t tid, const char *name);

/*
 * At the program's end, write the notes "LISTENER.ranges" and "LISTENER.names" on annotations that
 * could not be recorded as given. Call it once in a process; a forked child does not tell its
 * parent's counts. listener must stay valid.
 */
void ranges_tell_at_exit(const char *listener);

/*
 * A recorder that enters the running process, by its thread: ranges of a former one are forgotten.
 * end_only: outermost ranges that begin from now on are not recorded. leave: write the notes; what
 * calls come from now on touch nothing of the session.
 */
void ranges_enter(const char *listener);
void ranges_end_only(void);
void ranges_leave(void);
