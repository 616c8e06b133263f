# SPDX-License-Identifier: Apache-2.0
"""`brick selftest`: every protocol answers, and what does not depend on the machine's speed passes. F145: no report makes up instructions per cycle."""
import json
import os
import subprocess
import sys

from libcli import BRICK, TMP, brick, brick_json, environment, expect, expect_true, fail, recording

PROTOCOLS = ["F109", "F109b", "F150", "F151", "rate", "F105", "F106", "F107", "F108", "F143",
             "F155", "ledger", "F110", "whole", "moves"]
# Elapsed time against a limit: this test judges no machine's speed, only that it is measured.
SPEEDS = ["F150", "F105", "F106", "F143"]
# A machine that is busy enough may fail these, but not by so many times their limit.
TIMED = dict.fromkeys(["F155", "rate"], 10)
# Bricks are slowed by 10 us and more, and may be off by 1.5 us: lengths that are not measured, but
# derived from shares or the same every time, are off by most of that.
TIMED["moves"] = 3


def selftest(*args, **changes):
    done = subprocess.run([BRICK, "selftest", "--json", *args], capture_output=True, timeout=600,
                          env=environment(**changes))
    expect_true(f"exit {done.returncode}: {done.stderr!r}", done.returncode in (0, 1))
    answer = json.loads(done.stdout)
    expect("schema", answer["schema"], "brick/selftest/1")
    states = [row["state"] for row in answer["protocols"]]
    for state in "passed", "failed", "unknown":
        expect(f"how many {state}", answer[state], states.count(state))
    expect("exit code", done.returncode, 1 if answer["failed"] else 0)
    return answer


def all_answer():
    own = os.path.join(TMP, "temporary")
    os.mkdir(own)
    answer = selftest(TMPDIR=own)
    expect("protocols", [row["protocol"] for row in answer["protocols"]], PROTOCOLS)
    for row in answer["protocols"]:
        if row["protocol"] in SPEEDS:  # unknown without a number
            if row["measured"] is not None:
                expect(row["found"], row["state"], "passed" if row["measured"] <= row["limit"] else "failed")
        elif row["protocol"] not in TIMED:
            expect(f"{row['protocol']}: {row['found']}", row["state"], "passed")
        elif row["state"] == "failed":
            print(f"note: {row['protocol']}: {row['found']}")
            if row["measured"] is not None and row["limit"] is not None:
                most = TIMED[row["protocol"]]
                expect_true(f"{row['protocol']} is worse than {most} times its limit: "
                            f"{row['found']}", row["measured"] < most * row["limit"])
    expect("left behind", os.listdir(own), [])
    no = selftest("F109", "ledger", "whole", TMPDIR=os.path.join(TMP, "nowhere"))
    states = {row["protocol"]: row["state"] for row in no["protocols"]}
    expect("the directory is the user's", (states["ledger"], states["whole"]), ("unknown", "unknown"))


def chosen():
    answer = selftest("F108", "F109")
    expect("chosen", [row["protocol"] for row in answer["protocols"]], ["F109", "F108"])
    expect_true("its name is said", b"no such protocol" in brick("selftest", "F1", code=2)[1])
    text = brick("selftest", "F109")[0]
    expect_true("text", b"F109" in text and b"1 passed, 0 failed" in text)


def other_clock():
    """Without the counter: what was measured is true, and what cannot be known is not passed."""
    answer = selftest("F109", "F150", "F107", "F110", "whole", BRICK_CLOCK="monotonic")
    expect("clock", answer["clock"], "monotonic")
    states = {row["protocol"]: row["state"] for row in answer["protocols"]}
    expect("a counter that is not there", states.pop("F150"), "unknown")
    expect("the rest", set(states.values()), {"passed"})


def not_inside():
    done = subprocess.run([BRICK, "record", "-q", "-o", os.path.join(TMP, "s.pftrace"), "--", BRICK,
                           "selftest", "F108"], capture_output=True, timeout=600, env=environment())
    expect("under the recorder", done.returncode, 4)


def f145_nothing_is_made_up():
    """No PMU, no instructions per cycle: ticks must not be sold as cycles, anywhere."""
    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    for options in (), ("--by", "layer"), ("--by", "thread"):
        for key in keys(brick_json("report", recording(), "--json", *options)):
            if key.lower() in ("ipc", "cycles", "instructions", "instructions_per_cycle"):
                fail(f"a report has {key}, and nothing on this machine counts it")


def main():
    all_answer()
    chosen()
    other_clock()
    not_inside()
    f145_nothing_is_made_up()


main()
