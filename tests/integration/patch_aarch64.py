# SPDX-License-Identifier: Apache-2.0
"""Patching on AArch64, and what stands in front of other functions there, run: on such a machine, else cross-built and under an emulator of one (Debian:
gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user). Machines of x86-64 run patch/ in unit/patch_live."""
import os
import platform
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["BRICK_SOURCE"]
PROGRAMS = (["tests/programs/patch_aarch64.c", *(f"src/attach/patch/{name}.c" for name in ("insn_aarch64", "patch_plan", "patch_text"))],
            ["tests/programs/interpose.c"], ["tests/programs/pass_on.c", "src/lib/sys/pass_on.c"])


def tools():
    if platform.machine() == "aarch64":
        return ["cc"], []
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    return compiler and [compiler, "-static"], emulator and [emulator]


def can_link(compiler, scratch):
    return subprocess.run([*compiler, "-x", "c", "-", "-o", os.path.join(scratch, "nothing")], text=True,
                          input="#include <stdio.h>\nint main(void) { return 0; }", capture_output=True).returncode == 0


def run_here(scratch, compiler, emulator, parts):
    program = os.path.join(scratch, "program")
    subprocess.run([*compiler, "-std=gnu11", "-O2", "-ffunction-sections", "-Wl,--gc-sections", "-I" + os.path.join(SOURCE, "src"), "-I" + os.path.join(SOURCE, "include"),
                    *(os.path.join(SOURCE, part) for part in parts), "-o", program], check=True)
    run = subprocess.run([*emulator, program], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0 and "all as it should be" in run.stdout, (parts, run.returncode, run.stdout, run.stderr)


def main():
    compiler, emulator = tools()
    with tempfile.TemporaryDirectory() as scratch:
        for parts in PROGRAMS[1:] if shutil.which("cc") else []:
            run_here(scratch, ["cc"], [], parts)
        if not compiler or emulator is None or not can_link(compiler, scratch):
            print("no compiler for AArch64, or no emulator of it")
            sys.exit(77)
        for parts in PROGRAMS:
            run_here(scratch, compiler, emulator, parts)


main()
