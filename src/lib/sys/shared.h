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

struct brick__shared {
	int fd;		 /* that is kept open; -1: none, it is opened by its path */
	bool is_private; /* it lies in a recorder's directory */
	uint64_t device, inode;
	uint64_t ready_from, ready_to; /* what has memory ahead of its use */
	char path[512];		       /* "": it has no name */
};

/* All 0 but this: there is no file. */
#define BRICK__SHARED_NONE \
	{                  \
		.fd = -1   \
	}

/* A new file in a directory, or without a name (directory NULL). is_private: in a recorder's. */
int brick__shared_create(
	struct brick__shared *out, const char *directory, const char *name, bool is_private);

/* Give it another name in its directory. */
int brick__shared_rename(struct brick__shared *file, const char *name);

/* At least `bytes` bytes of length; never shrinks. -ESTALE: the file is not ours any more. */
int brick__shared_extend(struct brick__shared *file, uint64_t bytes);

/* Make sure that a range has memory behind it, so that touching it cannot fail. */
int brick__shared_reserve(struct brick__shared *file, uint64_t offset, uint64_t bytes);

/* Map a range for reading and writing; NULL with *error. */
void *brick__shared_map(struct brick__shared *file, uint64_t offset, uint64_t bytes, int *error);

/* Have it open from now on, for a consumer that wants a descriptor: that, or -errno. */
int brick__shared_keep(struct brick__shared *file);

/* Another descriptor of it, the caller's to close; or -errno. */
int brick__shared_open(struct brick__shared *file);

/* Close what is open of it, if it is ours. The name stays. */
void brick__shared_close(struct brick__shared *file);

/* Remove the name, if it is this file's. */
void brick__shared_unlink(struct brick__shared *file);

/* Map a file of a recorder's directory whole, for reading and writing: `bytes` bytes or NULL. */
void *brick__shared_attach(const char *directory, const char *name, uint64_t bytes);

/* Send a datagram to the abstract socket that is named after a directory. Waits for a second. */
int brick__shared_tell(const char *directory, const void *message, size_t bytes);

/* Does a process hold the lock `name` in a recorder's directory? 0: it is there and nobody does. */
bool brick__shared_is_held(const char *directory, const char *name);
