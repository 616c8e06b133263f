/* SPDX-License-Identifier: Apache-2.0 */
/* The format of `brick export` that is no other tool's. */
#pragma once

#include <stdio.h>
#include "trace/run.h"

/*
 * All of a run as one JSON object, schema brick/export/1: tables of bricks and sites, and lanes
 * whose samples are arrays of numbers in the order of "sample_fields". 0; write errors stay in out.
 */
int export_json(const struct run *run, FILE *out);
