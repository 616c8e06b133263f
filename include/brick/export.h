/* SPDX-License-Identifier: Apache-2.0 */
/* What every public header needs: symbol visibility, C linkage and branch hints. */
#ifndef BRICK_EXPORT_H
#define BRICK_EXPORT_H

#if defined(__GNUC__)
#define BRICK_API __attribute__((visibility("default")))
#define BRICK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define BRICK_LIKELY(x) __builtin_expect(!!(x), 1)
#define BRICK_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#error "Brick needs a compiler with GNU C extensions (gcc or clang)"
#endif

#ifdef __cplusplus
#define BRICK_BEGIN_DECLS extern "C" {
#define BRICK_END_DECLS }
#else
#define BRICK_BEGIN_DECLS
#define BRICK_END_DECLS
#endif

#endif
