/* SPDX-License-Identifier: Apache-2.0 */
/* What programs share that use llama.cpp by its own headers: its log is not shown, errors end. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "llama.h"

static void be_silent(enum ggml_log_level level, const char *text, void *context)
{
	(void)level, (void)text, (void)context;
}

static void *must(void *what, const char *name)
{
	if (!what) {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, name);
		exit(1);
	}
	return what;
}
