/* SPDX-License-Identifier: Apache-2.0 */
/* A session of an embedding program: the library's, with the writer thread as its consumer. */
#include "brick/session.h"

#include "lib/embed/writer_thread.h"
#include "lib/session/consumer.h"

int brick_session_start(const struct brick_session_options *options)
{
	return brick__session_start(options, &writer_thread);
}
