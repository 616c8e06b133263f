# SPDX-License-Identifier: Apache-2.0
"""Every function of the C library and of ggml is run through the decider of patches. What it would put in place of
a function's beginning is held against that by another disassembler (objdump); then all functions that can be are
patched in programs, which must not notice."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import libggml as g

LIST = os.path.join(g.BUILD, "bin", "program-patch_list")
PRELOAD = os.path.join(g.BUILD, "lib", "patch-all.so")
OBJDUMP = shutil.which("objdump")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(.*)$")


def disassemble(*arguments):
    """{address: instruction}, with what is relative to the instruction's place made absolute."""
    text = subprocess.run([OBJDUMP, "--no-show-raw-insn", *arguments], capture_output=True, text=True, check=True)
    found = {}
    for line in text.stdout.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        insn = match.group(2).strip()
        comment = re.search(r"# (?:0x)?([0-9a-f]+)", insn)
        insn = re.sub(r"\s*(#.*|<[^>]*>)", "", insn)
        if comment:
            insn = re.sub(r"-?(0x)?[0-9a-f]+\(%rip\)", f"[{comment.group(1)}]", insn)
        insn = re.sub(r"^bnd ", "", insn)
        insn = re.sub(r"\b(j\w+)(,p[nt])?\s+(0x)?([0-9a-f]+)$", r"\1 \4", insn)
        found[int(match.group(1), 16)] = insn.strip()
    return found


def walk(code, at, end):
    """The instructions from one address to another."""
    return [code[a] for a in range(at, end) if a in code]


def check_object(path, scratch):
    listed = subprocess.run([LIST, path], capture_output=True, text=True, check=True).stdout.split("\n")
    patched = [line.split() for line in listed if line.startswith("P ")]
    refused = sum(line.startswith("R ") for line in listed)
    assert len(patched) > refused, (path, len(patched), refused)
    original = disassemble("-d", path)
    base = min(int(p[4], 16) for p in patched)
    top = max(int(p[4], 16) + len(p[5]) // 2 for p in patched)
    blob = bytearray(b"\x90" * (top - base))
    for _, _, _, _, to, code in patched:
        blob[int(to, 16) - base:int(to, 16) - base + len(code) // 2] = bytes.fromhex(code)
    name = os.path.join(scratch, "trampolines")
    with open(name, "wb") as file:
        file.write(blob)
    moved = disassemble("-D", "-b", "binary", "-m", "i386:x86-64", f"--adjust-vma={base:#x}", name)
    for _, function, site, displaced, to, code in patched:
        site, to, end = int(site, 16), int(to, 16), int(to, 16) + len(code) // 2
        before = walk(original, site, site + int(displaced))
        after = walk(moved, to, end)
        if len(after) == len(before) + 1:
            assert after[-1] == f"jmp {site + int(displaced):x}", (function, after)
            after.pop()
        assert before == after, (path, function, before, after)
    print(f"{path}: {len(patched)} patched, {refused} refused")


def run_patched(command, what, scratch, least):
    """The program, plain and with all functions of an object patched."""
    counts = os.path.join(scratch, "counts")
    plain = g.run(command)
    env = {"LD_PRELOAD": PRELOAD, "PATCH_ALL": what, "PATCH_ALL_COUNTS": counts}
    g.assert_same(plain, g.run(command, **env), f"{command[0]} with {what} patched")
    with open(counts, encoding="utf-8") as file:
        functions, patched, refused, calls = map(int, file.read().split())
    assert patched >= least and calls > patched / 100, (functions, patched, refused, calls)
    print(f"{os.path.basename(command[0])}, {what}: {patched} of {functions} patched, {calls} calls")


def main():
    if not os.path.exists(LIST) or not OBJDUMP:
        g.skip("Brick was built without patches, or there is no objdump")
    if b"ASan runtime" in subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": PRELOAD},
                                         capture_output=True, check=False).stderr:
        g.skip("built so that it tolerates no preloading")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        libc = re.search(r"/\S*/libc\.so\.6", maps.read()).group(0)
    libs = g.libraries()
    with tempfile.TemporaryDirectory() as scratch:
        for path in (libc, os.path.join(libs, "libggml-base.so"), os.path.join(libs, "libggml-cpu-x64.so")):
            check_object(path, scratch)
        text = os.path.join(scratch, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("\n".join(f"{i * 7919 % 1000} {i:x} word{i}" for i in range(2000)) + "\n")
        for command in (["sort", "-n", text], ["sed", "-E", "s/([0-9]+) .*/<\\1>/", text],
                        ["sha256sum", text], ["date", "-u", "-d", "@86400"]):
            run_patched(command, "libc.so.6", scratch, 1000)


sys.exit(main())
