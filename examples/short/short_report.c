/* SPDX-License-Identifier: Apache-2.0 */
/* The report of what ran so far. */
#include <brick/brick.h>
#include <brick/report.h>

int main(void)
{
	brick_session_start(NULL);
	for (int i = 0; i < 3; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
	/* begin */
	brick_report_write(stdout, BRICK_REPORT_TEXT, NULL);
	/* end */
	return 0;
}
