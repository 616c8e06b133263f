/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of `brick flame`, and the profile that `brick export` writes. Main thread. */
#pragma once

#include <stdio.h>
#include "analysis/accounts/stacks.h"

/* Each returns 0 or -ENOMEM; errors of the stream stay with it. */
int flame_svg(const struct call_tree *stacks, FILE *out);
int flame_folded(const struct call_tree *stacks, FILE *out);
int flame_speedscope(const struct call_tree *stacks, FILE *out);

/* A profile of pprof (profile.proto), not compressed, which pprof reads as well. */
int flame_pprof(const struct call_tree *stacks, FILE *out);
