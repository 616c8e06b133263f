/* SPDX-License-Identifier: Apache-2.0 */
/* A brick and a category of one's own, and the source of a kernel by its hash. */
#include <brick/brick.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	const char *source = "__global__ void rope() {}";

	brick_session_start(NULL);
	/* begin */
	int vision = brick_category_register("Vision");
	int patches = brick_register("PatchEmbedding", (uint32_t)vision);
	uint64_t code = brick_code_register(source, strlen(source), "rope", "rope.cu");
	brick_end_elements(brick_begin((uint32_t)patches), 196);
	printf("%s is %s; ", brick_name((uint32_t)patches), brick_category_name((uint32_t)vision));
	printf("source %s\n", code == brick_code_hash(source, strlen(source)) ? "kept" : "lost");
	/* end */
	return brick_session_stop();
}
