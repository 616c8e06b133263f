#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recording without an end beside 200 000 samples/s, with a step that is 80 ms longer every so often: memory and disk of the
recorder, its CPU time, how many of these steps have a file (--slow), and how long the end takes.
    bench/always.py [--minutes 10] [--every 20] [--keep 64MB]"""
import argparse
import glob
import json
import os
import signal
import subprocess
import tempfile
import time

BUILD = os.environ.get("BRICK_BUILD", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build"))
BRICK = os.path.join(BUILD, "bin", "brick")
PLANTED_NS = 70e6


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:")) / 1024


def report(path):
    out = subprocess.run([BRICK, "report", "--json", path], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def kept_steps(path):
    """The planted steps of a file, and its losses."""
    answer = report(path)
    found = [kept for kept in answer["run"]["exemplars"] if kept["step"] is not None and kept["longer"]
             and kept["longer"][0]["brick"] == "DownProjection"
             and kept["longer"][0]["took_ns"] - kept["longer"][0]["usual_ns"] > PLANTED_NS]
    return len(found), sum(count for kind, count in answer["losses"].items() if kind != "complete")


def disk_mb(directory):
    sizes = []
    for name in os.listdir(directory):
        try:
            sizes.append(os.stat(os.path.join(directory, name)).st_size)
        except FileNotFoundError:
            pass
    return sum(sizes) / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--keep", default="64MB")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryFile() as out:
        path = os.path.join(directory, "run.pftrace")
        recorder = subprocess.Popen(
            [BRICK, "record", "--always", "--keep", wanted.keep, "--slow", "decode=75ms", "--slow-limit", "3600", "-o", path,
             "--", os.path.join(BUILD, "bin", "program-top_embedded"), "rate=200000", f"slow={int(wanted.every * 1000)}",
             "ms=100000000"], stdout=out, stderr=subprocess.PIPE)
        begin, seen, kept, lost, samples = time.monotonic(), set(), 0, 0, []
        while time.monotonic() - begin < wanted.minutes * 60:
            time.sleep(1)
            samples.append((resident_mb(recorder.pid), disk_mb(directory)))
            newest = path.replace(".pftrace", ".slow.pftrace")
            if os.path.exists(newest) and os.stat(newest).st_ino not in seen:
                seen.add(os.stat(newest).st_ino)
                now = kept_steps(newest)
                kept, lost = kept + now[0], lost + now[1]
        cpu, wall = cpu_s(recorder.pid), time.monotonic() - begin
        recorder.send_signal(signal.SIGTERM)
        stopped = time.monotonic()
        while not os.path.exists(path) or glob.glob(path + ".part"):
            time.sleep(0.005)
        readable = time.monotonic() - stopped
        _, said = recorder.communicate()
        over = time.monotonic() - stopped
        newest = path.replace(".pftrace", ".slow.pftrace")
        if os.path.exists(newest) and os.stat(newest).st_ino not in seen:
            now = kept_steps(newest)
            kept, lost = kept + now[0], lost + now[1]
        out.seek(0)
        planted = out.read().count(b"slow\n")
        part = max(len(samples) // 10, 1)
        print(f"{wall:.0f} s, recorder {100 * cpu / wall:.1f} % of a core; files of slow steps: {len(seen)}")
        print(f"planted {planted}, kept {kept}; losses in these files {lost}")
        for title, of in (("memory MB", 0), ("disk MB", 1)):
            values = [sample[of] for sample in samples]
            print(f"{title}: second tenth at most {max(values[part:2 * part]):.1f}, last {max(values[-part:]):.1f}, "
                  f"whole {max(values):.1f}")
        print(f"after SIGTERM: file whole after {readable:.2f} s, recorder gone after {over:.2f} s")
        print(said.decode().strip().splitlines()[-1])


if __name__ == "__main__":
    main()
