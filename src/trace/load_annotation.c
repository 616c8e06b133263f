/* SPDX-License-Identifier: Apache-2.0 */
/* Debug annotations with plain names, as the run's own events carry them. */
#include "trace/load_annotation.h"

#include "format/perfetto.h"

static int read(struct pb_reader message, struct load_annotation *a)
{
	struct pb_field f;
	int more;

	*a = (struct load_annotation){pb_reader("", 0), {NULL, NULL}, 0, message};
	while ((more = pb_next(&message, &f)) > 0) {
		if (f.number == ANNOTATION_NAME && f.wire == PB_LENGTH)
			a->name = f.in;
		else if (f.number == ANNOTATION_STRING && f.wire == PB_LENGTH)
			a->text = f.in;
		else if ((f.number == ANNOTATION_UINT || f.number == ANNOTATION_INT ||
				 f.number == ANNOTATION_BOOL) &&
			 f.wire == PB_VARINT)
			a->value = f.value;
	}
	return more == 0;
}

int load_next(struct pb_reader *message, uint32_t field, struct load_annotation *a)
{
	struct pb_field f;
	int more;

	while ((more = pb_next(message, &f)) > 0)
		if (f.number == field && f.wire == PB_LENGTH)
			return read(f.in, a) ? 1 : -1;
	return more;
}

int load_find(struct pb_reader message, uint32_t field, const char *name, struct load_annotation *a)
{
	while (load_next(&message, field, a) > 0)
		if (pb_is(a->name, name))
			return 1;
	return 0;
}

uint64_t load_find_uint(
	struct pb_reader message, uint32_t field, const char *name, uint64_t fallback)
{
	struct load_annotation a;

	return load_find(message, field, name, &a) && !a.text.at ? a.value : fallback;
}

uint64_t load_uint(struct pb_reader event, const char *name, uint64_t fallback)
{
	return load_find_uint(event, EVENT_ANNOTATIONS, name, fallback);
}
