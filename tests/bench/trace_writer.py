#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for write_trace: a head that is right, and records of zeros."""

import pathlib
import struct
import sys

words = sys.argv[1:]
options = dict(zip(words[:-1:2], words[1:-1:2]))
keys, denied = int(options["--keys"]), int(options.get("--denied", "0"))
records = int(options.get("--records", "1000"))
if denied == 50:
    sys.exit("50 % of these cannot be denied")
head = struct.pack("<8s7Q", b"WEIRTRC1", records, keys, 1000, 10 ** 9, 1000, 10 ** 9,
                   records * (100 - denied) // 100)
with open(words[-1], "wb") as file:
    file.write(head)
    file.truncate(64 + 24 * records)
with open(pathlib.Path(sys.argv[0]).with_suffix(".notes"), "a", encoding="utf-8") as file:
    file.write(" ".join(words[:-1]) + "\n")
