/* SPDX-License-Identifier: Apache-2.0 */
/* Tells each session which engine a thread has found itself in. Owner thread. */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

/* The session on this thread may be a new one, or its first: its notes shall name the engine. */
void note_engine(struct node_thread *t);
