/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of descriptors for a thread of ours alone, inside of somebody else's program: what the
 * program closes, and what number it gets for a file of its own, cannot be a descriptor of ours,
 * and its forked children inherit none. Threads that this one starts share its table.
 */
#pragma once

/*
 * From here on the calling thread has its own table, with nothing open but `kept`, under its
 * number. -errno: it goes on with the program's (before Linux 5.9, or forbidden).
 */
int brick__descriptors_leave(int kept);
