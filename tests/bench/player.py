#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of subjects that only pretend: they read a trace's head, and answer as their names say.

Named by a file beside this program's link, "NAME.subjects": the lines of --list. A subject NAME or
NAME-WHATEVER behaves as NAME does below; "exact-3" takes three times as long as weir.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import time

HERE = pathlib.Path(sys.argv[0])
NS = 1000  # of a decision of weir one by one


def say(**what):
    print(json.dumps(what), flush=True)


def stop(status, text):
    print(text, file=sys.stderr, flush=True)
    sys.exit(status)


def note(text):
    """What tests look at: who played when."""
    with open(HERE.with_suffix(".notes"), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def play(kind, factor, options, records, keys, admitted, passes):
    each = passes * records * (options["threads"] if keys == 1 else 1)
    exact = each if options["clock"] == "own" else passes * admitted
    got = exact
    if kind == "over":
        got += 1
    elif kind == "under":
        got -= 2
    elif kind == "lying":
        exact += 1
    elif kind == "uneven":
        each -= 1
    seconds = each * NS * factor / options["batch"] / 1e9 / options["threads"]
    if kind == "boasting":
        seconds = 1e6
    say(decisions=each, seconds=seconds, cpu_seconds=seconds, admitted=got, least=exact, most=exact)


def main():
    subjects = HERE.with_suffix(".subjects").read_text(encoding="utf-8")
    if sys.argv[1:] == ["--list"]:
        print(subjects, end="")
        return
    words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    name = words["--subject"]
    kind, _, factor = name.partition("-")
    options = {"threads": int(words["--threads"]), "clock": words["--clock"],
               "batch": int(words["--batch"])}
    with open(words["--trace"], "rb") as file:
        _, records, keys, _, _, _, _, admitted = struct.unpack("<8s7Q", file.read(64))
    note(f"{name} {options['batch']} {os.getpid()}")
    if kind == "refusing":
        stop(3, "no table of mine is so large")
    if kind == "dead":
        stop(1, "one\ntwo\nwhy it died")
    if kind == "mute":
        subprocess.Popen(["sleep", "60"])  # a server that is not to stay, either
        time.sleep(60)
    if kind == "chatty":
        print("hello", flush=True)
    part = {}
    if kind in ("short", "long"):
        records = part["records"] = records // 2 if kind == "short" else records + 1
        admitted = min(admitted, records)  # of these traces the last are denied
    say(ready=True, subject=name, version="1", threads=options["threads"], batch=options["batch"],
        clock=options["clock"], keys=keys, bytes_per_key=16.5, **part)
    for passes, line in enumerate(sys.stdin, 1):
        if line == "quit\n":
            sys.exit(5 if kind == "sulking" else 0)
        if not line.startswith("run "):
            stop(2, f"what is {line}")
        note(f"{name} {options['batch']} runs")
        if kind == "dying" and passes == 3:
            os.abort()
        if kind == "hanging" and passes == 2:
            time.sleep(60)
        if kind == "garbage":
            print("[1]", flush=True)
            continue
        play(kind, float(factor or 1), options, records, keys, admitted, 2)


main()
