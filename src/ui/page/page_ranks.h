/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of a job whose ranks have a recording each, schema brick/ranks-page/1 (docs/HTML.md):
 * the sentences and the JSON of `brick report DIRECTORY`. Main thread.
 */
#pragma once

#include <jansson.h>
#include "ui/text/ranks_view.h"

/* All of the page's numbers: a new reference, to be written by page_write(). -ENOMEM. */
int page_ranks_json(json_t **out, const struct ranks_view *view);
