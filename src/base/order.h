/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order of records, and places in lists that are in order. Header only; any thread.
 *
 *	COMPARATOR(by_begin, struct span, ORDER(x->begin_ns, y->begin_ns))
 *
 *	qsort(spans, count, sizeof(*spans), by_begin);
 *	size_t later = BISECT(i, 0, count, spans[i].begin_ns <= now);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares as qsort() wants it, the smaller first. ORDER(b, a) puts the larger first. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* A function for qsort() by an expression of `x` and `y`, pointers to two records. */
#define COMPARATOR(name, type, order)                                 \
	static inline int name(const void *first, const void *second) \
	{                                                             \
		const type *x = first;                                \
		const type *y = second;                               \
		return order;                                         \
	}

COMPARATOR(order_doubles, double, ORDER(*x, *y))
COMPARATOR(order_u64, uint64_t, ORDER(*x, *y))
COMPARATOR(order_texts, char *const, strcmp(*x, *y))

/* NULL is the same as NULL only. */
static inline bool text_is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * The first `i` in [from, to) for which the expression `is_before` is false; `to` if there is none.
 * `is_before` must be true up to some place, and false from there on.
 */
#define BISECT(i, from, to, is_before)                              \
	__extension__({                                             \
		size_t low_ = (from), high_ = (to);                 \
		while (low_ < high_) {                              \
			const size_t i = low_ + (high_ - low_) / 2; \
			if (is_before)                              \
				low_ = i + 1;                       \
			else                                        \
				high_ = i;                          \
		}                                                   \
		low_;                                               \
	})
