/* SPDX-License-Identifier: Apache-2.0 */
/* stub */
#include "trace/deflate.h"
struct deflater *deflate_create(size_t chunk_bytes){(void)chunk_bytes;return NULL;}
void deflate_destroy(struct deflater *d){(void)d;}
void deflate_start(struct deflater *d, const uint8_t *data){(void)d;(void)data;}
void deflate_packet(struct deflater *d, uint32_t end, uint32_t source){(void)d;(void)end;(void)source;}
void deflate_finish(struct deflater *d, struct pb_buffer *out){(void)d;(void)out;}
