/* SPDX-License-Identifier: Apache-2.0 */
/* Looks from the middle to both sides for a build that is not skipped. */
#include "analysis/compare/bisection.h"

bool bisection_is_doubtful(const struct difference *d)
{
	return !(d->low > d->threshold || d->high <= d->threshold);
}

long bisection_next(const struct bisection *b)
{
	size_t middle = b->good + (b->bad - b->good) / 2;

	for (size_t away = 0; away < b->bad - b->good; away++) {
		if (middle + away < b->bad && middle + away > b->good &&
			!b->is_skipped[middle + away])
			return (long)(middle + away);
		if (middle > b->good + away && !b->is_skipped[middle - away])
			return (long)(middle - away);
	}
	return BISECTION_END;
}

void bisection_note(struct bisection *b, size_t build, bool is_bad)
{
	*(is_bad ? &b->bad : &b->good) = build;
}
