/* SPDX-License-Identifier: Apache-2.0 */
/* The part of tile.c that sessions call. */
#pragma once

/* Call it when a session starts: switches on the levels that BRICK_TILES names. */
void brick__tiles_start(void);
