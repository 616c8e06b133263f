/* SPDX-License-Identifier: Apache-2.0 */
/* How long did a device take? A timer needs no session, and may be used again. */
#include <brick/brick.h>
#include <stdio.h>

int main(void)
{
	/* begin */
	struct brick_device *device;
	struct brick_timer *timer;
	uint64_t ns;

	brick_device_open(&device, brick_backend_find("cpu"), NULL, NULL, 0);
	brick_timer_create(&timer, device);
	for (int i = 0; i < 2; i++) {
		brick_timer_start(timer, NULL);
		brick_timer_stop(timer, NULL);
		brick_device_finish(device);
		printf("%s\n", brick_timer_elapsed_ns(timer, &ns) ? "not measured" : "measured");
	}
	brick_timer_destroy(timer);
	brick_device_close(device);
	/* end */
	return 0;
}
