/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranges that a program opens and closes, as bricks. Those of a thread are kept on a stack, each
 * domain's in its own order; ranges that end elsewhere, or in any order, have numbers and go to the
 * lane "Asynchronous". errno is kept. Any thread, each for its own stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/annotate/annotations.h"

/* Begin one on this thread's stack: its level in its domain, from 0. */
int ranges_push(struct annotation_domain *domain, const struct annotation *annotation);

/* Sets the bytes that the domain's innermost range works on. */
void ranges_bytes(const struct annotation_domain *domain, uint64_t bytes);

/* End the innermost one of the domain: its level; -1: there is none. */
int ranges_pop(const struct annotation_domain *domain);

/* Begin one that ends anywhere. Returns its number, never 0. */
uint64_t ranges_start(const struct annotation *annotation);

/* End it, on any thread; a number that is not known is counted. */
void ranges_end(uint64_t number);

/* Records a range that is over: ticks of its begin and end. */
void ranges_took(const struct annotation *annotation, uint64_t begin, uint64_t end);

/* A point in time; with a value, also a point of the series of that name. */
void ranges_mark(const struct annotation *annotation);
void ranges_value(const struct annotation *annotation, double value);

/* The calling thread's name; or another's, from when that begins its next range. */
void ranges_name_thread(uint32_t tid, const char *name);

/*
 * When the program ends, the notes "LISTENER.ranges" and "LISTENER.names" tell which annotations
 * could not be recorded as they were given. Once in a process; its children tell nothing of its
 * counts. The name stays the caller's.
 */
void ranges_tell_at_exit(const char *listener);
