/* SPDX-License-Identifier: Apache-2.0 */
/* Steps as people count them: those that ended, from 1, in the order in which they began. */
#include "ui/text/step_number.h"

#include <stdlib.h>

uint32_t step_number(const struct run *run, const struct step_index *index, uint32_t step)
{
	uint32_t number = 0;

	if (run->steps[step].number)
		return run->steps[step].number;
	for (uint32_t i = 0; i <= step; i++)
		number += index->finished[i];
	return number;
}

uint32_t *step_number_list(const struct run *run, const struct step_index *index)
{
	uint32_t *numbers = calloc(run->step_count + 1, sizeof(*numbers)), number = 0;

	for (size_t i = 0; numbers && i < run->step_count; i++) {
		number = run->steps[i].number ? run->steps[i].number : number + index->finished[i];
		numbers[i] = number;
	}
	return numbers;
}

uint32_t step_numbers(const struct run *run, const struct step_index *index)
{
	return run->all_steps ? run->all_steps : index->count;
}
