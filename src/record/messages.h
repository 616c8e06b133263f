/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder says when a recording cannot be made, or ends early. Its one thread. */
#pragma once

#include "record/recorder_options.h"

/* Before the program has run. what: else than the output could not be had, or NULL. */
void messages_refused(const struct recorder_options *options, const char *what, int error);

/* The recording could not be completed: why, and what is left of it. */
void messages_given_up(const struct recorder_options *options, int error);

/* To be said by a signal that ends the recorder. */
void messages_prepare_last(const struct recorder_options *options);
