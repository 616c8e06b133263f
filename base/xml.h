/* SPDX-License-Identifier: Apache-2.0 */
/* Text from outside in XML: SVG pictures. Main thread. */
#ifndef BRICK_BASE_XML_H
#define BRICK_BASE_XML_H

#include <stdio.h>

/*
 * Write text for an element or a quoted attribute. What XML cannot hold, or acts on whoever reads
 * it (base/utf8.h), becomes U+FFFD. NULL is nothing.
 */
void xml_text(FILE *out, const char *text);

#endif
