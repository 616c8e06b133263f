/* SPDX-License-Identifier: Apache-2.0 */
/* Links between samples and commands, once all commands are known. One thread at a time. */
#pragma once

#include "trace/build.h"

/* The samples are the run's already. An error is kept in b->result. */
void build_links_finish(struct build *b);
