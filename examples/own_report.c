/* SPDX-License-Identifier: Apache-2.0 */
/* A program that asks the library about itself: cc own_report.c $(pkg-config --cflags --libs
 * brick-report) */
#include <brick/brick.h>
#include <brick/report.h>

static void work(void)
{
	volatile double sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += 1.0 / (i + 1);
}

int main(void)
{
	brick_session_start(NULL);
	for (int token = 0; token < 20; token++) {
		BRICK_SCOPE(BRICK_RMS_NORM);
		work();
	}
	return brick_report_write(stdout, BRICK_REPORT_TEXT, NULL) < 0;
}
