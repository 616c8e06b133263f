/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros that do the same to several members of a struct, for structs that have members of the same
 * names, and for members whose name is also their key in a format. Pointers are evaluated once for
 * each member.
 */
#pragma once

/* to->m += from->m, or to->m = from->m, for each of them. */
#define members_add(to, from, ...)                     \
	do {                                           \
		EACH(EACH__ADD, to, from, __VA_ARGS__) \
	} while (0)
#define members_copy(to, from, ...)                     \
	do {                                            \
		EACH(EACH__COPY, to, from, __VA_ARGS__) \
	} while (0)
/* free(from->m) for each of them; the pointers stay as they are. */
#define members_free(from, ...)                       \
	do {                                          \
		EACH(EACH__FREE, from, , __VA_ARGS__) \
	} while (0)
#define EACH__FREE(from, none, m) free((from)->m);
#define EACH__ADD(to, from, m) (to)->m += (from)->m;
#define EACH__COPY(to, from, m) (to)->m = (from)->m;

/* X(m) for each of them: of lists of names, in a macro that takes X. */
#define EACH_NAME(X, ...) EACH(EACH__ONE, X, , __VA_ARGS__)
#define EACH__ONE(X, none, m) X(m)

/* EACH(X, a, b, m, n) is X(a, b, m) X(a, b, n); up to 27 members. */
#define EACH(X, a, b, ...) EACH__27(EACH__STEP(X, a, b, __VA_ARGS__))
#define EACH__STEP(X, a, b, m, ...) \
	X(a, b, m) __VA_OPT__(EACH__NEXT EACH__CALL(X, a, b, __VA_ARGS__))
#define EACH__NEXT() EACH__STEP
#define EACH__CALL () /* expanded late: each rescan of EACH__27() makes one more step */
#define EACH__27(...) EACH__9(EACH__9(EACH__9(__VA_ARGS__)))
#define EACH__9(...) EACH__3(EACH__3(EACH__3(__VA_ARGS__)))
#define EACH__3(...) EACH__1(EACH__1(EACH__1(__VA_ARGS__)))
#define EACH__1(...) __VA_ARGS__
