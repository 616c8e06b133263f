# SPDX-License-Identifier: Apache-2.0
"""What looking costs: the CPU time of `brick top` on a process that makes 200 000 samples/s, and tokens/s of the real engine
with and without it.

The first part looks for some seconds, on a terminal of 80x24 and headless, once and ten times per second, and prints CPU
time per wall time. The second records the engine in pairs of fresh processes, interleaved ABBA, with and without a
`brick top` on a terminal. Each process gives the median of its repeats; the effect is the Hodges-Lehmann shift of the log
ratios with a 95 % interval.
`bench/top.py [SECONDS [PAIRS [REPEATS [THREADS]]]]`
"""
import fcntl
import json
import math
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

from lib.paired import percent, shift

arguments = sys.argv[1:]
BUILD = os.environ.get("BRICK_BUILD", "build")
SECONDS = float(arguments[0]) if len(arguments) >= 1 else 10
PAIRS = int(arguments[1]) if len(arguments) >= 2 else 10
REPEATS = arguments[2] if len(arguments) >= 3 else "5"
THREADS = int(arguments[3]) if len(arguments) >= 4 else 1
BRICK = f"{BUILD}/bin/brick"
ENGINE = [f"{BUILD}/bin/brick-llama", "--libs", f"{BUILD}/demo/engine/libs", "--model", f"{BUILD}/demo/model-f16.gguf", "--prompt-tokens", "256",
          "--predict", "64", "--threads", str(THREADS), "--repeat", REPEATS, "--timing"]


class OnTerminal:
    """`brick top` on a terminal that somebody reads."""

    def __init__(self, *args):
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen([BRICK, "top", *args], stdin=child, stdout=child,
                                        stderr=child, env={**os.environ, "TERM": "xterm"})
        os.close(child)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while os.read(self.parent, 65536):
                pass
        except OSError:
            pass

    def end(self):
        """CPU seconds that it took."""
        self.process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(self.process.pid, 0)
        os.close(self.parent)
        return usage.ru_utime + usage.ru_stime


class Headless:
    def __init__(self, *args):
        self.process = subprocess.Popen([BRICK, "top", "--headless", "--json", *args],
                                        stdout=subprocess.DEVNULL)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        _, _, usage = os.wait4(self.process.pid, 0)
        return usage.ru_utime + usage.ru_stime


def child_of(recorder):
    """The recorded program, once it has a session."""
    path = f"/proc/{recorder.pid}/task/{recorder.pid}/children"
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with open(path) as file:
            pids = file.read().split()
        for pid in pids:
            try:
                links = [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                continue
            if any(".session" in link for link in links):
                return pids[0]
        time.sleep(0.01)
    sys.exit("there is no session to look at")


def cpu_shares(tmp):
    program = [f"{BUILD}/bin/program-top_embedded", "rate=200000", "ms=3600000"]
    recorder = subprocess.Popen([BRICK, "record", "-q", "-o", f"{tmp}/rate.pftrace", "--",
                                 *program])
    pid = child_of(recorder)
    time.sleep(1)
    rate = json.loads(subprocess.run(
        [BRICK, "top", "--headless", "--json", "--duration", "3", pid], check=True,
        capture_output=True).stdout.splitlines()[-1])["now"]["samples_per_s"]
    print(f"a process that makes {rate:.0f} samples/s:")
    for name, kind in ("terminal 80x24", OnTerminal), ("headless JSON", Headless):
        for interval in "1", "0.1":
            top = kind("-i", interval, pid)
            begun = time.monotonic()
            time.sleep(SECONDS)
            spent = top.end()
            share = spent / (time.monotonic() - begun)
            limit = ", limit 5 %" if interval == "1" else ""
            print(f"  {name}, every {interval} s: {100 * share:.2f} % of one core{limit}",
                  flush=True)
    os.kill(int(pid), signal.SIGKILL)
    recorder.wait()


def decode(tmp, looked_at):
    recorder = subprocess.Popen([BRICK, "record", "-q", "-o", f"{tmp}/run.pftrace", "--", *ENGINE],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    top = OnTerminal(child_of(recorder)) if looked_at else None
    _, err = recorder.communicate()
    if top:
        top.end()
    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    return {phase: statistics.median(line[f"{phase}_ns"] for line in lines)
            for phase in ("prefill", "decode")}


def main():
    with tempfile.TemporaryDirectory() as tmp:
        cpu_shares(tmp)
        logs = {"prefill": [], "decode": []}
        for pair in range(PAIRS):
            order = (False, True) if pair % 2 == 0 else (True, False)
            result = {on: decode(tmp, on) for on in order}
            for phase, values in logs.items():
                values.append(math.log(result[True][phase] / result[False][phase]))
        for phase, values in logs.items():
            mid, low, high = shift(values)
            limit = ", limit +1 %" if phase == "decode" else ""
            print(f"{THREADS} thread(s), {phase}: time with/without brick top {percent(mid)} "
                  f"(95 %: {percent(low)} .. {percent(high)}){limit}, {PAIRS} pairs", flush=True)


if __name__ == "__main__":
    main()
