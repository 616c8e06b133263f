/* SPDX-License-Identifier: Apache-2.0 */
/* Works on logarithms of times: positive is slower, whatever the values are. */
#include "analysis/compare/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/statistics/statistics.h"
#include "base/scope.h"

/* standard deviation of logarithms that identical processes are assumed to have */
static const double difference_processes = 0.1;
static const double power_z = 0.841621; /* normal quantile of 80 %: 4 of 5 trials */

/* The spread around the shift. */
struct spread {
	double error;	  /* standard error */
	unsigned freedom; /* degrees of freedom */
};

/* Sum of squared deviations from the mean. */
static double squares(const double *values, size_t n)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

static struct spread difference_spread_of(
	const double *logs, size_t in_a, size_t in_b, double least)
{
	double sum = squares(logs, in_a) + squares(logs + in_a, in_b);
	size_t freedom = in_a + in_b - 2;

	if (difference_assumes(in_a, in_b)) {
		double assumed = difference_processes * difference_processes + least * least;
		sum += (double)(DIFFERENCE_FREEDOM_MIN - freedom) * assumed;
		freedom = DIFFERENCE_FREEDOM_MIN;
	}
	return (struct spread){sqrt(sum / (double)freedom * (1 / (double)in_a + 1 / (double)in_b)),
		(unsigned)freedom};
}

/* shift, half: of logarithms of times. */
static enum compare_verdict difference_judge(const struct difference *d, double shift, double half)
{
	double matters = log1p(d->threshold);

	return fabs(shift) + half <= matters ? COMPARE_SAME
	       : shift - half > matters	     ? COMPARE_SLOWER
	       : shift + half < -matters     ? COMPARE_FASTER
	       : fabs(shift) > half	     ? COMPARE_BEYOND
					     : COMPARE_UNSURE;
}

/*
 * Half the interval: that of one row, or wider, so that all rows of identical sides stay within the
 * threshold.
 */
static double half_of(const struct spread *s, const struct difference_rule *rule, double tests)
{
	double one = s->error * statistics_t_bound(rule->alpha, s->freedom);
	double all = s->error * statistics_t_bound(rule->alpha / tests, s->freedom);

	return fmax(one, all - log1p(rule->threshold));
}

static void difference_fill(struct difference *d, double shift, const struct spread *s,
	const struct difference_rule *rule)
{
	double tests = rule->tests ? (double)rule->tests : 1;
	double sign = d->kind == DIFFERENCE_TIME ? 1 : -1;
	double half = half_of(s, rule, tests);

	if (!(sign * (d->b - d->a) * shift > 0))
		half = fmax(half, fabs(shift));

	d->effect = expm1(sign * shift);
	d->low = expm1(sign * shift - half);
	d->high = expm1(sign * shift + half);
	d->p = s->error > 0
		       ? fmin(1, tests * statistics_t_tails(fabs(shift) / s->error, s->freedom))
	       : shift == 0.0 ? 1
			      : 0;
	d->detectable = expm1(log1p(rule->threshold) + half + power_z * s->error);
	d->verdict = difference_judge(d, shift, half);
}

int difference_of(struct difference *d, enum difference_kind kind, const double *a, size_t in_a,
	const double *b, size_t in_b, const struct difference_rule *rule)
{
	SCOPED double *logs = calloc(in_a + in_b, sizeof(*logs));
	double sign = kind == DIFFERENCE_TIME ? 1 : -1;
	struct statistics_shift shift;
	bool known = true;

	if (!logs)
		return -ENOMEM;
	*d = (struct difference){.kind = kind,
		.a = statistics_median_of(a, in_a, logs),
		.b = statistics_median_of(b, in_b, logs),
		.effect = NAN,
		.low = NAN,
		.high = NAN,
		.p = NAN,
		.threshold = rule->threshold,
		.detectable = NAN};
	for (size_t i = 0; i < in_a + in_b; i++) {
		double value = i < in_a ? a[i] : b[i - in_a];
		known &= value > 0 && isfinite(value);
		logs[i] = sign * log(value);
	}
	if (!known)
		return 0;
	int rc = statistics_shift(&shift, logs, in_a, logs + in_a, in_b, rule->alpha);
	if (rc == 0) {
		const struct spread s = difference_spread_of(logs, in_a, in_b, rule->spread);
		difference_fill(d, shift.shift, &s, rule);
	}
	return rc;
}

const char *compare_verdict_name(enum compare_verdict verdict)
{
	static const char *const names[] = {
		[COMPARE_UNSURE] = "not enough data",
		[COMPARE_BEYOND] = "beyond zero",
		[COMPARE_SAME] = "same",
		[COMPARE_FASTER] = "faster",
		[COMPARE_SLOWER] = "slower",
		[COMPARE_ONLY_A] = "only in A",
		[COMPARE_ONLY_B] = "only in B",
	};
	return names[verdict];
}
