/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to members of structs that have the same name in both, or to each by its name, said
 * once for each. Up to 24 members; the pointers are evaluated once for each of them.
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

/* EACH(X, a, b, m, n) is X(a, b, m) X(a, b, n). */
#define EACH(X, a, b, ...)                                                                        \
	EACH__NAME(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, \
		7, 6, 5, 4, 3, 2, 1)                                                              \
	(X, a, b, __VA_ARGS__)
#define EACH__NAME(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, \
	_18, _19, _20, _21, _22, _23, _24, n, ...)                                             \
	EACH__##n

#define EACH__1(X, a, b, m) X(a, b, m)
#define EACH__2(X, a, b, m, ...) X(a, b, m) EACH__1(X, a, b, __VA_ARGS__)
#define EACH__3(X, a, b, m, ...) X(a, b, m) EACH__2(X, a, b, __VA_ARGS__)
#define EACH__4(X, a, b, m, ...) X(a, b, m) EACH__3(X, a, b, __VA_ARGS__)
#define EACH__5(X, a, b, m, ...) X(a, b, m) EACH__4(X, a, b, __VA_ARGS__)
#define EACH__6(X, a, b, m, ...) X(a, b, m) EACH__5(X, a, b, __VA_ARGS__)
#define EACH__7(X, a, b, m, ...) X(a, b, m) EACH__6(X, a, b, __VA_ARGS__)
#define EACH__8(X, a, b, m, ...) X(a, b, m) EACH__7(X, a, b, __VA_ARGS__)
#define EACH__9(X, a, b, m, ...) X(a, b, m) EACH__8(X, a, b, __VA_ARGS__)
#define EACH__10(X, a, b, m, ...) X(a, b, m) EACH__9(X, a, b, __VA_ARGS__)
#define EACH__11(X, a, b, m, ...) X(a, b, m) EACH__10(X, a, b, __VA_ARGS__)
#define EACH__12(X, a, b, m, ...) X(a, b, m) EACH__11(X, a, b, __VA_ARGS__)
#define EACH__13(X, a, b, m, ...) X(a, b, m) EACH__12(X, a, b, __VA_ARGS__)
#define EACH__14(X, a, b, m, ...) X(a, b, m) EACH__13(X, a, b, __VA_ARGS__)
#define EACH__15(X, a, b, m, ...) X(a, b, m) EACH__14(X, a, b, __VA_ARGS__)
#define EACH__16(X, a, b, m, ...) X(a, b, m) EACH__15(X, a, b, __VA_ARGS__)
#define EACH__17(X, a, b, m, ...) X(a, b, m) EACH__16(X, a, b, __VA_ARGS__)
#define EACH__18(X, a, b, m, ...) X(a, b, m) EACH__17(X, a, b, __VA_ARGS__)
#define EACH__19(X, a, b, m, ...) X(a, b, m) EACH__18(X, a, b, __VA_ARGS__)
#define EACH__20(X, a, b, m, ...) X(a, b, m) EACH__19(X, a, b, __VA_ARGS__)
#define EACH__21(X, a, b, m, ...) X(a, b, m) EACH__20(X, a, b, __VA_ARGS__)
#define EACH__22(X, a, b, m, ...) X(a, b, m) EACH__21(X, a, b, __VA_ARGS__)
#define EACH__23(X, a, b, m, ...) X(a, b, m) EACH__22(X, a, b, __VA_ARGS__)
#define EACH__24(X, a, b, m, ...) X(a, b, m) EACH__23(X, a, b, __VA_ARGS__)
