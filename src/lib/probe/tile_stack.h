/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles, for the rest of the library. */
#pragma once

/* A session starts: the recorder may ask for tiles (BRICK_TILES). */
void brick__tiles_start(void);
