# SPDX-License-Identifier: Apache-2.0
"""What recordings say about the cost of recording, for distortion.py: by their report, and by their steps without hooks.
"""
import functools
import json
import os
import subprocess

BUILD = os.environ.get("BRICK_BUILD", "build")
WARM_UP = 4  # rounds that engine-pair does not time
RANGES = 32  # of steps, that a report takes
WHOLE_LEAST = 12  # steps of a place in a round
NODES_LEAST = 16  # A step with fewer samples was left whole.


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def report(recording, *options):
    done = subprocess.run([f"{BUILD}/bin/brick", "report", recording, *options, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


@functools.cache
def distortion_us(recording, *options):
    """Low, middle and high, in us a step."""
    said = report(recording, *options)
    wall, count = (sum(said["steps"][phase][of] for phase in ("prefill", "decode")) for of in ("total_ns", "count"))
    return [None if said["distortion"][k] is None else said["distortion"][k] * wall / count / 1e3 for k in ("low", "share", "high")]


def stated(recording, places):
    """The same by the hooks' times, from recorded steps: without the steps that have no hooks, and without the rounds before the
    first that is timed, where graphs are new (0.5 ms each, once)."""
    of, ranges = [whole for _, whole in recorded_steps(recording, 0)], []
    for number in (i + 1 for i in range(WARM_UP * places, len(of)) if not of[i]):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    some = [ranges[i * len(ranges) // RANGES] for i in range(RANGES)] if len(ranges) > RANGES else ranges
    return distortion_us(recording, "--steps", ",".join(f"{a}-{b}" for a, b in some))


@functools.cache
def recorded_steps(recording, threads):
    """For each step in order: its time in us (with one thread, its time on the CPU), and whether it had no hooks."""
    rows = [row for row in report(recording, "--by", "step")["each_step"] if row["name"] != "outside of steps"]
    return [((row["step_ns"] - (row["off_ns"] or 0 if threads == 1 else 0)) / 1e3, row["count"] < NODES_LEAST) for row in rows]


def share_recorded(recording):
    steps = recorded_steps(recording, 0)
    return sum(not is_whole for _, is_whole in steps) / len(steps)


@functools.cache
def beside(recording, threads, places, rounds):
    """By how much the faster quarter of the recorded steps is above that of the steps without hooks, in us, in the mean over the
    places of a round; and how many had no hooks. By the recording's clock, because going past the hooks takes longer than
    the hooks do."""
    steps, shifts, count = recorded_steps(recording, threads)[-places * rounds:], [], 0
    for place in range(places):
        whole, others = ([us for us, is_whole in steps[place::places] if is_whole == wanted] for wanted in (True, False))
        if min(len(whole), len(others)) < WHOLE_LEAST:
            return None
        shifts.append(faster(others) - faster(whole))
        count += len(whole)
    return mean(shifts), count


def faster(times):
    return mean(sorted(times)[:(len(times) + 3) // 4])
