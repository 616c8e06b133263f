/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed recorder leaves behind is removed by the processes that it recorded. */
#pragma once

#include "lib/sys/shared.h"

/*
 * This process ends. Where the recorder of its session has gone: remove the session's file, those
 * of processes that are gone as well, and the directory if no other is left. Under the session's
 * lock; keeps errno.
 */
void brick__orphan_remove(const char *directory, struct brick__shared *session);
