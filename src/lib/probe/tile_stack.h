/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles, as the rest of the library sees them. */
#pragma once

/* Tiles as the recorder wants them; at the start of a session. */
void brick__tiles_start(void);
