/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol visibility, C linkage, branch hints and sized structs, for every public header. */
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

/* BRICK_SIZED(struct brick_x): an initialiser, all 0 but for its size. Use BRICK_X_INIT. */
#ifdef __cplusplus
#define BRICK_BEGIN_DECLS extern "C" {
#define BRICK_END_DECLS }
namespace brick
{
template <typename type> inline type sized()
{
	type value = type();
	value.size = sizeof(value);
	return value;
}
} // namespace brick
#define BRICK_SIZED(type) ::brick::sized<type>()
#else
#define BRICK_BEGIN_DECLS
#define BRICK_END_DECLS
#define BRICK_SIZED(type)            \
	{                            \
		.size = sizeof(type) \
	}
#endif

#endif
