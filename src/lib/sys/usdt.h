/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static probes for bpftrace, perf and SystemTap (provider "brick"): an instruction that does
 * nothing, which a tracer replaces, and a note in the file about what is where then. Arguments are
 * taken where they are, so that nothing is done for them. Without <sys/sdt.h> (Debian:
 * systemtap-sdt-dev) there are none.
 */
#pragma once

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>

#define USDT_1(name, a) DTRACE_PROBE1(brick, name, a)
#define USDT_2(name, a, b) DTRACE_PROBE2(brick, name, a, b)
#else
#define USDT_1(name, a) ((void)(a))
#define USDT_2(name, a, b) ((void)(a), (void)(b))
#endif
