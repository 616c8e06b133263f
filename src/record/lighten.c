/* SPDX-License-Identifier: Apache-2.0 */
/* After the fork: the program has its own limits and timer slack. */
#include "record/lighten.h"

#include <sys/prctl.h>
#include <sys/resource.h>

enum { TIMER_SLACK_NS = 1000000 };

void lighten(void)
{
	struct rlimit files;

	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}
