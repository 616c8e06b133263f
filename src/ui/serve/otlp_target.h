/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of an OTLP signal, and its headers: from an option, and from OpenTelemetry's
 * environment variables, by their specification. One thread at a time: it reads the environment.
 */
#pragma once

struct otlp_target {
	char *url;
	char *headers; /* "NAME: VALUE" lines for http_post(), Content-Type first */
};

/* A value of `collector`: take the URL of OpenTelemetry's variables, or localhost without them. */
#define OTLP_TARGET_ENVIRONMENT "env"

/*
 * collector: a URL, to which "/v1/" and the signal are appended, or OTLP_TARGET_ENVIRONMENT.
 * signal: "traces" or "metrics". -EINVAL: *why tells the fault, and the caller frees it; -ENOMEM.
 * otlp_target_fini() is due also after an error.
 */
int otlp_target_init(
	struct otlp_target *target, const char *collector, const char *signal, char **why);
void otlp_target_fini(struct otlp_target *target);
