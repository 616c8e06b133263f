/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of an engine (note_engine.h), once per thread and session. */
#include "attach/ggml/note_engine.h"

#include "attach/ggml/method.h"
#include "attach/ggml/ggml_notes.h"
#include "brick/brick.h"

void note_engine(struct node_thread *t)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (t->session == session || !t->engine || brick_thread_ready())
		return;
	t->session = session;
	notes_engine(t->engine);
	method_note();
}
