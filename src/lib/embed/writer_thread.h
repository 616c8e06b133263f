/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The embedded consumer: a thread of the profiled process that drains a session of this process
 * into a recording. Each session with an output has one. lib/session/consumer.h says how it is
 * called.
 */
#pragma once

#include "lib/session/consumer.h"

extern const struct consumer_type writer_thread;
