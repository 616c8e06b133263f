# SPDX-License-Identifier: Apache-2.0
"""What planted.py and heldout.py measure of themselves: the times of their steps, and of planted lines. Two programs whose
environment has TURNS, a descriptor to read from and another to write to, take turns step by step. So both see the same
machine, and the times of their steps are pairs."""
import json
import os
import time


schedstat = os.open("/proc/thread-self/schedstat", os.O_RDONLY)  # of the main thread, which runs the steps


def waited_for_cpu():
    """ns for which other threads had this thread's CPU."""
    return int(os.pread(schedstat, 100, 0).split()[1])


def times():
    return time.thread_time_ns(), time.time_ns(), waited_for_cpu()


def spin(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


class Planted:
    """with planted: lines that a program without the fault does not have. Their CPU time, or that they slept."""
    took = 0

    def __init__(self, is_sleep):
        self.is_sleep = is_sleep

    def __enter__(self):
        self.begin = self.now()

    def __exit__(self, *_):
        self.took += self.now() - self.begin

    def now(self):
        return time.time_ns() - waited_for_cpu() if self.is_sleep else time.thread_time_ns()


class Steps:
    """for batch in steps.over(batches): a step is what happens from the ask for a batch to the ask for the next."""
    def __init__(self):
        self.taken = []
        self.turns = [int(number) for number in os.environ.get("TURNS", "").split(",") if number]

    def over(self, batches):
        batches = iter(batches)
        before = self.turn()
        for batch in batches:
            yield batch
            now = times()
            self.taken.append([y - x for x, y in zip(before, now)])
            before = self.turn(now)

    def turn(self, now=None):
        """Lets the other program go on, waits for the own turn, and says when that begins."""
        if not self.turns:
            return now or times()
        if now:
            os.write(self.turns[1], b".")
        os.read(self.turns[0], 1)  # or the other one has ended
        return times()

    def tell(self, planted):
        """Of each step: ns of CPU, of wall time, and of that without a CPU; and the planted lines' ns: 0 where they
        replace others."""
        print("took", json.dumps([self.taken, planted.took]), flush=True)
