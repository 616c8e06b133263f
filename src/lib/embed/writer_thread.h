/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded consumer: a thread of the profiled process that drains the process's own session
 * into a recording. start and stop from one thread at a time.
 */
#pragma once

#include "lib/session/consumer.h"

extern const struct consumer_type writer_thread;
