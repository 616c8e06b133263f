# SPDX-License-Identifier: Apache-2.0
"""An engine on a simulated device, recorded in each mode, against what the device really did.

What the process recorded is read from its session, before any consumer: the times are the device's
in all modes, to within 25 us (the residual of the correlation, and what the process's clock is off
CLOCK_MONOTONIC by on a busy machine); with none nothing is recorded. Kernels of a queue never overlap, and every command is linked to
the call that launched it.
"""
import math
import os
import subprocess
import sys
import tempfile

import libsession

BUILD = os.environ["BRICK_BUILD"]
PROGRAM = os.path.join(BUILD, "bin", "program-device_modes")
STEPS, LAYERS, KERNEL_NS = 6, 4, 60000
COUNT = STEPS * LAYERS * 2
MODES = {"deferred": 0, "per-layer": 1, "immediate": 2, "none": 3}
EVENT, TSC = 3, 1
TOLERANCE_NS = 25000


def fail(text):
    sys.exit(text)


def run(mode, *more, backend="null"):
    """The sessions that the program left, and the kernels that it says its device ran."""
    with tempfile.TemporaryDirectory() as directory:
        env = dict(os.environ, BRICK_SESSION_DIR=directory, BRICK_MODE=str(MODES[mode]))
        out = subprocess.run([PROGRAM, backend, str(STEPS), str(LAYERS), str(KERNEL_NS), *more],
                             env=env, check=True, capture_output=True, text=True,
                             timeout=600).stdout
        truth, recorded = [], None
        for line in out.splitlines():
            word, *rest = line.split()
            if word == "K":
                truth.append((int(rest[1]), int(rest[2])))
            else:
                recorded = int(rest[0])
        return libsession.load(BUILD, directory), truth, recorded


def samples_of(session, lane):
    """Each with the records about it."""
    found = []
    for r in session.records[lane]:
        if r.kind == libsession.SAMPLE:
            found.append((r, {}))
        elif found:
            found[-1][1][r.kind] = r
    return found


def check_links(session, lane, samples, mode):
    thread = next(i for i in session.lanes if i not in session.queues)
    flows = {}
    for previous, r in zip(session.records[thread], session.records[thread][1:]):
        if r.kind == libsession.FLOW:
            flows[r.payload] = previous
    steps = [n for n in session.tree(thread) if n.brick != "Synchronize"] # of finish()
    if [s.brick for s in steps] != ["Prefill"] + ["Decode"] * (STEPS - 1):
        fail(f"{mode}: steps {[s.brick for s in steps]}")
    for i, (r, about) in enumerate(samples):
        launch = about[libsession.LAUNCH]
        if launch.wait != thread + 1:
            fail(f"{mode}: command {i} was launched on lane {launch.wait - 1}")
        call = flows.get(launch.payload)
        if not call or session.bricks[call.brick] != "Launch" or call.begin != launch.begin:
            fail(f"{mode}: command {i} is linked to {call}")
        step = steps[i // (LAYERS * 2)]
        if not step.begin <= launch.begin <= step.end:
            fail(f"{mode}: command {i} was launched outside of its step")


def check_order(session, samples, mode):
    last = 0
    for i, (r, _) in enumerate(samples):
        if r.begin < last:
            fail(f"{mode}: command {i} begins before the one before it has ended")
        last = r.begin + r.ticks
        want = ("RmsNorm", "QkvProjection")[i % 2], i // 2 % LAYERS
        if (session.bricks[r.brick], r.layer) != want:
            fail(f"{mode}: command {i} is {session.bricks[r.brick]} of layer {r.layer}")


def check_times(session, samples, truth, mode):
    """In the device's order the begin timestamp stands behind the kernel before it and before its own,
    the end one behind that, however long the device's thread was stopped between them: some offset
    between the two clocks must let all of them be true."""
    ns = 1e9 / session.frequency
    low, high = -math.inf, math.inf
    for i, (r, about) in enumerate(samples):
        begin, end = r.begin * ns, (r.begin + r.ticks) * ns
        if r.source != EVENT:
            fail(f"{mode}: command {i}: source {r.source}")
        if libsession.TIMES not in about:
            fail(f"{mode}: command {i} does not say when it was queued")
        high = min(high, truth[i][0] - begin)
        low = max(low, truth[i][1] - end, truth[i - 1][1] - begin if i else low)
        if low > high + TOLERANCE_NS:
            fail(f"{mode}: command {i}: {begin:.0f}..{end:.0f}, true {truth[i]}: no offset lies "
                 f"above {low:.0f} and below {high:.0f}")


def check_mode(mode, *more):
    sessions, truth, recorded = run(mode, *more)
    if len(truth) != COUNT:
        fail(f"{mode}: the device ran {len(truth)} kernels")
    if mode == "none":
        if recorded or any(s.queues for s in sessions):
            fail(f"none: {recorded} recorded, sessions {[s.queues for s in sessions]}")
        return
    session = sessions[0]
    if list(session.queues.values()) != ["null"]:
        fail(f"{mode}: queues {session.queues}")
    lane = next(iter(session.queues))
    samples = samples_of(session, lane)
    if len(samples) != COUNT:
        fail(f"{mode}: {len(samples)} of {COUNT} commands")
    if session.note("null.device") != ["simulated"]:
        fail(f"{mode}: notes {session.notes}")
    check_order(session, samples, mode)
    check_links(session, lane, samples, mode)
    check_times(session, samples, truth, mode)
    stat = session.stats[lane]["QkvProjection"]
    if stat[0] != COUNT // 2 or stat[1] != sum(r.ticks for r, _ in samples[1::2]):
        fail(f"{mode}: statistics {stat}")


def check_losses():
    (session,), _, recorded = run("deferred", "lose")
    lane = next(iter(session.queues))
    if session.lanes[lane].dropped != COUNT // 10:
        fail(f"lose: {session.lanes[lane].dropped} in the ledger")
    if len(samples_of(session, lane)) != COUNT - COUNT // 10:
        fail(f"lose: {len(samples_of(session, lane))} recorded")
    if any(r.ticks == 0 for r, _ in samples_of(session, lane)):
        fail("lose: a time of 0")


def check_fork():
    """Parent and child have a session each, and a queue lane each, with their own commands."""
    sessions, _, _ = run("deferred", "fork")
    if len(sessions) != 2:
        fail(f"fork: {len(sessions)} sessions")
    for session in sessions:
        lane = next(iter(session.queues))
        if len(samples_of(session, lane)) != COUNT:
            fail(f"fork: {len(samples_of(session, lane))} commands")


def check_cpu():
    """The host as a device: every mode on it, too."""
    for mode, source in ("deferred", TSC), ("per-layer", TSC), ("immediate", TSC), ("none", None):
        sessions, _, _ = run(mode, backend="cpu")
        if source is None:
            if any(s.queues for s in sessions):
                fail("cpu: none: something was recorded")
            continue
        lane = next(iter(sessions[0].queues))
        samples = samples_of(sessions[0], lane)
        if len(samples) != COUNT or {r.source for r, _ in samples} != {source}:
            fail(f"cpu: {mode}: {len(samples)} recorded, {samples[:1]}")
        check_order(sessions[0], samples, mode)


def main():
    for mode in MODES:
        check_mode(mode)
    check_mode("deferred", "thread")
    check_losses()
    check_fork()
    check_cpu()


main()
