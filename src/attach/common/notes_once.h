/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes of the recording that hooks may write as often as they like: what has been written in the
 * running session is remembered, and a new one, after a fork for instance, hears it again. Any
 * thread; errno is kept.
 */
#pragma once

/* 64 notes at most; longer ones than 767 characters are cut. */
void note_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
