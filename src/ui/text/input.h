/* SPDX-License-Identifier: Apache-2.0 */
/* Goes when nothing below cli/ ends the program: see recording_file.h. */
#pragma once

#include "trace/run.h"
#include "ui/text/recording_file.h"

#define input_stat recording_stat
#define input_is_written recording_is_written
#define input_changed recording_changed

struct run *input_load(const char *path);
