# SPDX-License-Identifier: MIT
"""Joins the JSON files of several google-benchmark programs into one of the same form."""

import json
import sys

merged = None
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        report = json.load(file)
    if merged is None:
        merged = report
    else:
        merged["benchmarks"] += report["benchmarks"]
json.dump(merged, sys.stdout, indent=1)
print()
