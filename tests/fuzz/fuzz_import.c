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

/* As a file that is unpacked on the way comes. */
static int read_part(void *from, char *to, size_t bytes)
{
	struct import_source *left = from;
	size_t part = left->bytes < bytes ? left->bytes : bytes;

	memcpy(to, left->text, part);
	left->text += part;
	left->bytes -= part;
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
	struct import_source whole = {.text = text, .bytes = size};
	const struct import_source source =
		size & 1 ? (struct import_source){.read = read_part, .from = &whole} : whole;
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
