/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of descriptors for one thread of ours inside of somebody else's program. The program
 * cannot close our descriptors or get their numbers, and its forked children inherit none.
 * Threads that this one starts share its table.
 */
#pragma once

/*
 * Gives the calling thread its own table, with nothing open but `kept`, under the same number. 0.
 * -errno: the thread goes on with the program's table (before Linux 5.9, or forbidden).
 */
int brick__descriptors_leave(int kept);
