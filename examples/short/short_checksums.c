/* SPDX-License-Identifier: Apache-2.0 */
/* Did two backends compute the same? A checksum says yes or no, a digest says how far off. */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	/* begin */
	float here[64] = {1, 2, 3}, there[64] = {1, 2, 3.001F};
	struct brick_tensor tensor = BRICK_TENSOR_INIT;
	struct brick_digest own, other;

	tensor.dtype = BRICK_DTYPE_F32;
	tensor.ne[0] = 64, tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
	tensor.data = here, brick_digest_compute(&own, &tensor);
	tensor.data = there, brick_digest_compute(&other, &tensor);
	printf("%s, error about %.0e\n", own.fnv64 == other.fnv64 ? "same" : "not the same",
		brick_digest_error(&own, &other));
	/* end */
	return 0;
}
