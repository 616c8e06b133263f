/* SPDX-License-Identifier: Apache-2.0 */
/* A brick on a device, by the device's clock: launched now, asked for later. */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	brick_session_start(NULL);
	/* begin */
	struct brick_device *device;
	struct brick_stats stats = BRICK_STATS_INIT;

	if (brick_device_open(&device, brick_backend_find("cpu"), NULL, NULL, 0) < 0)
		return 4;
	brick_device_span span = brick_device_begin(device, NULL, BRICK_ATTENTION_SCORE, 0);
	/* launch the kernels into the queue that NULL stands for */
	brick_device_end(device, NULL, span, 4096, 16384, 8192);
	brick_device_finish(device);
	brick_device_stats_get(BRICK_ATTENTION_SCORE, &stats);
	printf("%llu on a device, %llu elements\n", (unsigned long long)stats.count,
		(unsigned long long)stats.elements);
	brick_device_close(device);
	/* end */
	return brick_session_stop();
}
