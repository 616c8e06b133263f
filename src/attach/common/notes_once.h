/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of the recording that hooks may write as often as they like: those of the running session
 * are remembered, and a new session, after a fork for instance, gets them again. Any thread; errno
 * is kept.
 */
#pragma once

/* 64 notes at most; longer ones than 767 characters are cut. */
void note_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
