# SPDX-License-Identifier: Apache-2.0
"""
brick tiles (F356-F378): tiles of a real engine, recorded and asked for in all forms; the same
tokens with tiles as without; valid JSON and XML; clear errors.
"""
import json
import os
import subprocess
import xml.dom.minidom

from libcli import BUILD, TMP, brick, brick_json, environment, expect, expect_true, fail, recording

DECODER = os.path.join(BUILD, "bin", "example-decoder")
MODEL = os.path.join(TMP, "tiny.gguf")


def decoder(*args, before=()):
    done = subprocess.run([*before, DECODER, "--model", MODEL, "--prompt-tokens", "70", "--predict",
                           "3", *args], capture_output=True, env=environment(), timeout=600)
    if done.returncode:
        fail(f"decoder {args}: {done.returncode} {done.stderr[-500:]!r}")
    return done.stdout


def by_level(tiles):
    return {t["level"]: t for t in tiles["tiles"] if t["brick"] == "UpProjection"}


def check_counts(tiles):
    # 70 tokens are two sweeps; a token is one, and in the last layer only the last token of the
    # prompt goes on. Each product of UpProjection is 3 tiles of 256 rows.
    up = by_level(tiles)
    expect("macro tiles", up["macro"]["count"], (2 + 1 + 1) + 3)
    expect("midi tiles", up["midi"]["count"], ((2 + 1 + 1) + 3) * 3)
    expect("grid", (up["midi"]["rows"], up["midi"]["columns"]), (3, 2))
    for level in up.values():
        expect("FLOPs", level["flops"], 2 * 768 * 128 * (72 + 3))
        expect("elements", level["elements"], 768 * (72 + 3))
        cells = [c for row in level["map"]["cells"] for c in row]
        expect("the map counts all", sum(c[0] for c in cells), level["count"])
        expect("the map has all time", sum(c[1] for c in cells), level["total_ns"])
    expect_true("midi tiles lie in macro tiles", up["midi"]["total_ns"] <= up["macro"]["total_ns"])


def check_selection(own, tiles):
    prefill = brick_json("tiles", "--json", "--phase", "prefill", own)["tiles"]
    decode = brick_json("tiles", "--json", "--phase", "decode", own)["tiles"]
    count = lambda rows: sum(t["count"] for t in rows if t["brick"] == "UpProjection")
    expect("phases add up", count(prefill) + count(decode), count(tiles["tiles"]))
    layer = brick_json("tiles", "--json", "--layer", "1", "--brick", "UpProjection", own)["tiles"]
    expect("a layer", count(layer), 3 + 3 * 3)
    expect_true("a share of the peak", brick_json("tiles", "--json", "--peak", "1e6", own)["tiles"][0][
        "peak_share"] < 1)


def check_text(own):
    text = brick("tiles", "--map", own)[0].decode()
    expect_true("text", "UpProjection" in text and "3x2" in text and "a tile to" in text)
    expect_true("no UTF-8 where there is none", brick("tiles", "--map", own, LC_ALL="C")[0].isascii())
    svg = os.path.join(TMP, "tiles.svg")
    brick("tiles", "--svg", svg, own)
    picture = xml.dom.minidom.parse(svg)
    expect_true("a title", "own.pftrace" in picture.getElementsByTagName("title")[0].firstChild.data)
    expect("deterministic", brick("tiles", "--svg", "-", own)[0], open(svg, "rb").read())


def check_misuse(own):
    none = recording("none.pftrace")
    expect_true("says that there are none", b"has no tiles" in brick("tiles", none, code=3)[1])
    brick("tiles", "--json", none, code=3)
    kept = open(own, "rb").read()
    expect_true("the recording stays", b"recording itself" in brick("tiles", "--svg", own, own, code=2)[1])
    expect_true("it is as it was", open(own, "rb").read() == kept)
    for wrong in (["--level", "nano"], ["--layer", "x"], ["--peak", "0"], ["--phase", "idle"],
                  ["--layer", "-2"], ["--svg", "a", "--json"], ["--map", "--json"]):
        brick("tiles", *wrong, own, code=2)
    brick("tiles", "--brick", "Nonesuch", own, code=3)
    brick("record", "--tiles=nano", "--", "true", code=2)
    error = brick("record", "--tiles", "-o", os.path.join(TMP, "x"), "--", "true")[1]
    expect_true("says that nobody recorded any", b"--tiles: nothing in this run" in error)


def main():
    subprocess.run([os.path.join(BUILD, "bin", "brick-model"), "--layers", "2", "--embd", "128", "--ff",
                    "768", "--heads", "4", "--kv-heads", "2", "--vocab", "512", MODEL],
                   check=True, capture_output=True)
    plain = decoder()
    own, asked = os.path.join(TMP, "own.pftrace"), os.path.join(TMP, "asked.pftrace")
    expect("tokens with tiles", decoder("--tiles", "--record", own), plain)
    out = decoder(before=[os.path.join(BUILD, "bin", "brick"), "record", "-q", "--tiles=micro,midi",
                          "-o", asked, "--"])
    expect("tokens under brick record --tiles", out, plain)

    tiles = brick_json("tiles", "--json", own)
    expect("schema", tiles["schema"], "brick/tiles/1")
    expect("levels", {t["level"] for t in tiles["tiles"]}, {"macro", "midi"})
    expect("levels asked for", {t["level"] for t in brick_json("tiles", "--json", asked)["tiles"]},
           {"midi", "micro"})
    expect("all have a place", tiles["without_place"], 0)

    check_counts(tiles)
    up = by_level(tiles)
    # Tiles take nothing from the brick that they lie in, and are no rows of the report.
    report = brick_json("report", "--json", own)
    row = next(b for b in report["bricks"] if b["name"] == "UpProjection")
    expect("self time is all of it", row["self_ns"], row["total_ns"])
    expect_true("tiles lie in their brick", up["macro"]["total_ns"] <= row["total_ns"])
    expect_true("no rows of tiles", not any(b["name"].startswith("Tile") for b in report["bricks"]))
    expect("FLOPs of the brick", row["flops"], up["macro"]["flops"])

    check_selection(own, tiles)
    check_text(own)
    check_misuse(own)


main()
