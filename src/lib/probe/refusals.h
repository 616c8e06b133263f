/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was to be recorded and could not be, since the process could have no session or the thread
 * no lane (descriptors, memory, limits, a directory out of reach). Nothing may vanish without being
 * counted: with a session its ledger counts; without one a page does that the recorder made and
 * that every process maps when it is attached, before the program can lock itself in.
 */
#pragma once

/* Map the recorder's page, if BRICK_SESSION_DIR names a recorder; once, in the constructor. */
void brick__refusals_open(void);

/* Is there a place to count what is refused without a session? */
int brick__refusals_counted(void);

/* There was no session to be had: why (-errno). Under the session lock. */
void brick__refusals_session(int error);

/* One record of this thread is lost; nothing is counted while recording is off. */
void brick__refusals_record(void);

/* In the child of a fork. */
void brick__refusals_abandon(void);
