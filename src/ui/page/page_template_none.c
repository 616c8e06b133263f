/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for the bundled page where npm, or what it fetches, was not there at configure time. */
#include "ui/page/page_template.h"

const char page_template_text[] = "";
const size_t page_template_bytes = 0;
