/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instants on the run's own track (FORMAT_RUN and those after it in format.h): they describe
 * processes, lanes, statistics and the end of the run. One thread at a time.
 */
#pragma once

#include "trace/load_ids.h"

/*
 * Reads one of the run's own events. False: it could not be used. The first one sets build->format;
 * the rest of a file whose format is too new must not be read.
 */
bool load_own_event(struct load_ids *l, struct pb_reader event);
