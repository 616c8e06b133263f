/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes in the recording that hooks may write again and again: each note is recorded once per
 * session. A new session, after a fork for instance, gets the notes again. Any thread; errno is
 * kept.
 */
#pragma once

/* At most 64 notes per session; a note is cut behind 767 characters. */
void note_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));
