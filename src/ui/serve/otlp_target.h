/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of an OTLP signal, and its headers: from an option, and from OpenTelemetry's
 * environment variables, by their specification. One thread at a time: it reads the environment.
 */
#pragma once

struct otlp_target {
	char *url;
	char *headers; /* lines, for http_post() */
};

/* As an option for a collector: what OTEL_EXPORTER_OTLP_ENDPOINT names, or else localhost. */
#define OTLP_TARGET_ENVIRONMENT "env"

/*
 * collector: a URL, which /v1/traces or /v1/metrics is appended to, or OTLP_TARGET_ENVIRONMENT.
 * signal: "traces" or "metrics". -EINVAL: *why says what is wrong, to be freed; -ENOMEM. The target
 * is to be finished in each case.
 */
int otlp_target_init(
	struct otlp_target *target, const char *collector, const char *signal, char **why);
void otlp_target_fini(struct otlp_target *target);
