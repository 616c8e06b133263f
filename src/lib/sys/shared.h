/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of shared memory inside of somebody else's program. The program may close any descriptor
 * and get its number again for a file of its own, so: a file with a name is open only while it is
 * worked on, and whatever is open is known by device and inode before it is touched. Limits of the
 * program on the size of files are asked first: to exceed one is a signal that ends the program. A
 * recorder's directory is looked at each time that something in it is opened: it must be this
 * user's, and closed to others, who may have made another one of its name since the recorder has
 * gone. Functions return 0 or -errno, keep errno, and are called under the caller's lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

struct brick__shared {
	int fd;			/* kept open; -1: the file is opened by its path for each use */
	bool is_private;	/* it lies in a recorder's directory */
	uint64_t device, inode; /* of the file: fd is checked against them before each use */
	uint64_t ready_from, ready_to; /* bytes [from, to) that have memory ahead of their use */
	char path[512];		       /* "": it has no name, and is lost with fd */
};

/* The value of a struct without a file. */
#define BRICK__SHARED_NONE \
	{                  \
		.fd = -1   \
	}

/* Makes a file in a directory, or without a name (directory NULL). is_private: a recorder's one. */
int brick__shared_create(
	struct brick__shared *out, const char *directory, const char *name, bool is_private);

/* Gives the file another name in its directory. */
int brick__shared_rename(struct brick__shared *file, const char *name);

/* Makes the file at least `bytes` bytes long; it never shrinks. -ESTALE: it is not ours any more.
 */
int brick__shared_extend(struct brick__shared *file, uint64_t bytes);

/* Make sure that a range has memory behind it, so that touching it cannot fail. */
int brick__shared_reserve(struct brick__shared *file, uint64_t offset, uint64_t bytes);

/* Map a range for reading and writing; NULL with *error. */
void *brick__shared_map(struct brick__shared *file, uint64_t offset, uint64_t bytes, int *error);

/* Keeps the file open from now on, and returns its descriptor, which stays the file's; or -errno.
 */
int brick__shared_keep(struct brick__shared *file);

/* Returns another descriptor of the file, which the caller closes; or -errno. */
int brick__shared_open(struct brick__shared *file);

/* Closes the descriptor that is kept open, if it is still the file's. The name stays. */
void brick__shared_close(struct brick__shared *file);

/* Remove the name, if it is this file's. */
void brick__shared_unlink(struct brick__shared *file);

/* Map a file of a recorder's directory whole, for reading and writing: `bytes` bytes or NULL. */
BRICK_API void *brick__shared_attach(const char *directory, const char *name, uint64_t bytes);

/* Send a datagram to the abstract socket that is named after a directory. Waits for a second. */
int brick__shared_tell(const char *directory, const void *message, size_t bytes);

/*
 * Does a process hold the lock `name` in a recorder's directory? False: nobody does, or it is gone
 * from where the process attached to a recorder's file before.
 */
BRICK_API bool brick__shared_is_held(const char *directory, const char *name);
