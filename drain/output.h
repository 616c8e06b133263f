/* SPDX-License-Identifier: Apache-2.0 */
/* Where a recording may be written. Any thread. */
#ifndef BRICK_DRAIN_OUTPUT_H
#define BRICK_DRAIN_OUTPUT_H

/*
 * The absolute form of a recording's name, so that it stays the same when the program changes its
 * directory; the caller frees *out. -EISDIR, -EINVAL (a device, a pipe: a recording would take its
 * place), -ENAMETOOLONG, -errno.
 */
int drain_output_resolve(char **out, const char *path);

/*
 * Claim PATH.part, so that no second process writes to it. The descriptor to close once the
 * recording is complete or given up, or -errno; -EBUSY: another process is writing there. The claim
 * is this process's alone: a forked child does not share it.
 */
int drain_output_claim(const char *path);

/* Undo a claim to which nothing was written. */
void drain_output_disclaim(const char *path, int claim);

#endif
