/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for surveys where Brick is built without Zydis. */
#include <errno.h>
#include <stdbool.h>

#include "attach/patch/survey.h"

int survey_open(struct survey *survey, const char *path, const struct patch_name *names,
	size_t count, bool is_forced)
{
	(void)survey, (void)path, (void)names, (void)count, (void)is_forced;
	return -ENOSYS;
}

void survey_close(struct survey *survey)
{
}
