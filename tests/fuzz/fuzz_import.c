/* SPDX-License-Identifier: Apache-2.0 */
/* Other tools' trace events, tables and planes: any text gives a recording, or an error that says
 * where. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int swallow(void *context, const void *data, size_t bytes)
{
	(void)context, (void)data, (void)bytes;
	return 0;
}

struct text {
	const char *at;
	size_t left;
};

static int read_part(void *from, char *to, size_t bytes)
{
	struct text *text = from;
	size_t part = text->left < bytes ? text->left : bytes;

	memcpy(to, text->at, part);
	text->at += part;
	text->left -= part;
	return (int)part;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct imported *im = calloc(1, sizeof *im);
	struct trace_writer_options options = {.output = swallow};
	struct import_error error = {""};
	char *text = calloc(1, size + 1);

	if (!im || !text || imported_init(im))
		abort();
	memcpy(text, data, size);
	/* a small window moves often */
	struct text left = {text, size};
	const struct import_source source = {
		read_part, &left, size ? (data[size - 1] & 127) + 1u : 1};
	int rc = size && *text == '\n'		   ? import_xplane(im, text, size, &error)
		 : size && memchr("\"K", *text, 2) ? import_rocprof_csv(im, text, size, &error)
						   : import_chrome(im, &source, &error);
	if (rc && !*error.text)
		abort();
	if (!rc)
		imported_write(im, &options);
	imported_fini(im);
	free(im);
	free(text);
	return 0;
}
