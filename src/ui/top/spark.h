/* SPDX-License-Identifier: Apache-2.0 */
/* A brick's last minute as one line of characters, each as high as its share of the highest. */
#pragma once

#include <stdbool.h>
#include "ui/top/top_history.h"

enum { SPARK_BYTES = 3 * HISTORY_SLOTS + 1 };

/* width: at most HISTORY_SLOTS; several values share a character then. NULL: "". */
void spark_of(char out[SPARK_BYTES], const struct history_brick *brick, int width, bool utf8);
