# SPDX-License-Identifier: Apache-2.0
"""Backends: those that are built in, and libraries on BRICK_BACKEND_PATH, good and bad.

Plugins are compiled here from a few lines that use the installed headers only. `brick doctor` tells
what became of each; a program times work with the good one.
"""
import os
import shutil
import subprocess
import sys

from libcli import BUILD, TMP, brick, environment, expect, expect_true, on_terminal, plain

import json

SOURCE = os.environ["BRICK_SOURCE"]
PLUGIN = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "brick/abi/backend.h"
#include "brick/abi/session.h"

struct brick_backend_device {
	struct brick_backend_host host;
	uint64_t now, ticket, begin, end;
};
static int probe(char *reason, size_t bytes)
{
	if (getenv("NO_DRIVER"))
		return snprintf(reason, bytes, "libtoy.so.1 is not here"), -ENOENT;
	return 0;
}
static int open_it(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options)
{
	(void)options;
	*out = calloc(1, sizeof **out);
	(*out)->host = *host;
	host->note(host->context, "driver", "toy 1.0");
	return 0;
}
static int begin(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	(void)queue;
	d->ticket = ticket;
	d->begin = ++d->now;
	return 0;
}
static int end(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	(void)queue;
	if (ticket != d->ticket)
		return -EINVAL;
	d->end = d->now += 1000;
	return 0;
}
__attribute__((unused)) static int drain(struct brick_backend_device *d)
{
	struct brick_completion c = {.ticket = d->ticket, .begin_ns = d->begin, .end_ns = d->end};
	if (!d->end)
		return 0;
	d->end = 0;
	d->host.complete(d->host.context, &c);
	return 1;
}
static int synchronise(struct brick_backend_device *d, void *queue)
{
	(void)d, (void)queue;
	return 0;
}
static int correlate(struct brick_backend_device *d, struct brick_reading *r)
{
	(void)d, (void)r;
	return -ENOTSUP;
}
static void close_it(struct brick_backend_device *d)
{
	free(d);
}
__attribute__((visibility("default"))) const struct brick_backend TABLE = {
	.size = sizeof(struct brick_backend) + EXTRA, .version = VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT, .name = NAME, .probe = probe, .open = open_it,
	.begin = begin, .end = end, .drain = LACKS, .synchronise = synchronise,
	.correlate = correlate, .close = close_it,
};
"""
PROGRAM = r"""
#include <stdio.h>
#include "brick/brick.h"

int main(void)
{
	struct brick_device *device;
	struct brick_timer *timer;
	uint64_t ns = 0;
	char reason[100] = "";
	int error = brick_device_open(&device, brick_backend_find("toy"), NULL, reason, sizeof reason);
	if (error)
		return printf("%d %s\n", error, reason), 1;
	brick_timer_create(&timer, device);
	brick_timer_start(timer, NULL);
	brick_timer_stop(timer, NULL);
	error = brick_timer_elapsed_ns(timer, &ns);
	printf("%d %d\n", error, (int)ns);
	brick_timer_destroy(timer);
	brick_device_close(device);
	return 0;
}
"""
CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def compile_c(path, source, *flags):
    subprocess.run([CC, "-O1", "-Wall", "-I" + os.path.join(SOURCE, "include"), "-x", "c", "-",
                    "-o", path, *flags], input=source.encode(), check=True)


def plugin(path, name="toy", version="BRICK_BACKEND_VERSION", extra="0", lacks="drain",
           table="brick_backend_table"):
    compile_c(path, PLUGIN, "-shared", "-fPIC", f'-DNAME="{name}"', f"-DVERSION={version}",
              f"-DEXTRA={extra}", f"-DLACKS={lacks}", f"-DTABLE={table}")
    return path


def backends(path, **more):
    """What doctor says: status and finding of backends by name, findings of libraries."""
    out = brick("doctor", "--json", BRICK_BACKEND_PATH=path, **more)[0]
    checks = [c for c in json.loads(out)["checks"] if c["group"] == "Backends"]
    found = {c["name"]: (c["status"], c["finding"]) for c in checks if c["name"] != "library"}
    return found, [c["finding"] for c in checks if c["name"] == "library"]


def main():
    if not CC:
        print("no C compiler")
        sys.exit(77)
    found, refused = backends(None)
    expect("built in", (found["cpu"][0], found["null"][0], refused), ("ok", "ok", []))
    for name, (status, finding) in found.items():
        expect_true(f"{name} says why", status == "ok" or len(finding) > 5)

    directory = os.path.join(TMP, "plugins")
    os.makedirs(directory)
    good = plugin(os.path.join(directory, "libbrick-backend-a.so"))
    plugin(os.path.join(directory, "libbrick-backend-b.so"), name="other", version="2u")
    plugin(os.path.join(directory, "libbrick-backend-c.so"), name="short", extra="-16")
    plugin(os.path.join(directory, "libbrick-backend-d.so"), name="half", lacks="0")
    plugin(os.path.join(directory, "libbrick-backend-e.so"), name="stray", table="no_table")
    plugin(os.path.join(directory, "libbrick-backend-f.so"))
    plugin(os.path.join(directory, "libbrick-backend-g.so"), name="cpu")
    plugin(os.path.join(directory, "libbrick-backend-h.so"), name="longer", extra="64")
    plugin(os.path.join(directory, "libbrick-backend-j.so"), name="former", extra="-8")
    plugin(os.path.join(directory, "ignored.so"), name="ignored")
    with open(os.path.join(directory, "libbrick-backend-i.so"), "w") as file:
        file.write("no library at all\n" * 20)
    found, refused = backends(directory + "::" + os.path.join(TMP, "nowhere"))
    expect("taken", found["toy"], ("ok", "works: times are events on the device"))
    expect("a later version of the same", found["longer"][0], "ok")
    expect("one without what may be missing", found["former"][0], "ok")
    expect_true("only those", not {"other", "short", "half", "stray", "ignored"} & set(found))
    words = {"b.so": "version 2", "c.so": "bytes", "d.so": "lacks a function",
             "e.so": "exports no brick_backend_table", "f.so": "a backend toy already",
             "g.so": "a backend cpu already", "i.so": "invalid ELF header",
             "nowhere": "No such file"}
    expect("refused", len(refused), len(words))
    for end, word in words.items():
        expect_true(f"{end}: {word} in {refused}",
                    any(end in line and word in line for line in refused))
    for line in plain(on_terminal("doctor", columns=80,
                                  BRICK_BACKEND_PATH=directory)).splitlines():
        expect_true(f"80 columns: {line}", len(line) <= 80 or "/" in line)

    found, refused = backends(good, NO_DRIVER="1")
    expect("no driver", found["toy"], ("no", "libtoy.so.1 is not here"))
    expect("which is no fault of the library", refused, [])

    program = os.path.join(TMP, "program")
    compile_c(program, PROGRAM, "-L" + os.path.join(BUILD, "lib"), "-lbrick",
              "-Wl,-rpath," + os.path.join(BUILD, "lib"))
    for more, code, want in (({}, 0, "0 1000\n"),
                             ({"NO_DRIVER": "1"}, 1, "-2 toy: libtoy.so.1 is not here\n")):
        done = subprocess.run([program], env=environment(BRICK_BACKEND_PATH=good, **more),
                              capture_output=True, text=True, timeout=600)
        expect("a program with the plugin", (done.returncode, done.stdout), (code, want))


main()
