/* SPDX-License-Identifier: Apache-2.0 */
/* Each names what is left of the recording: nobody would look for FILE.part. */
#include "record/messages.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "brick/error.h"
#include "record/signals.h"
#include "lib/writer/part_file.h"

enum { WHY_BYTES = 4096 };

void messages_refused(const struct recorder_options *o, const char *what, int error)
{
	char why[WHY_BYTES];

	if (what || !part_file_explain(o->output, error, why, sizeof why))
		snprintf(why, sizeof why, "%s", brick_strerror(error));
	o->warn("record: %s: %s; %s", what ? what : o->output, why,
		o->keep_going ? "the program runs unrecorded"
			      : "nothing was run (--keep-going runs it unrecorded)");
}

void messages_given_up(const struct recorder_options *o, int error)
{
	char why[WHY_BYTES], left[WHY_BYTES];
	struct stat st;

	if (!part_file_explain(o->output, error, why, sizeof why))
		snprintf(why, sizeof why, "%s", brick_strerror(error));
	snprintf(left, sizeof left, "%s.part", o->output);
	if (error == -ESTALE || lstat(left, &st))
		o->warn("record: %s: %s; recording was given up", o->output, why);
	else
		o->warn("record: %s: %s; recording was given up; what was recorded until then: "
			"brick report %s",
			o->output, why, left);
}

void messages_prepare_last(const struct recorder_options *o)
{
	char text[512];

	snprintf(text, sizeof text,
		"brick: record: ended by a signal; the program runs on; what was recorded until "
		"then: brick report %s.part",
		o->output);
	signals_last_words(text);
}
