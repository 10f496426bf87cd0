# SPDX-License-Identifier: MIT
"""Words of a command line, as what they stand for."""

import argparse
import math
import re


def number(kind, least, most, what):
    """A parser of numbers of that kind (int, float) from least to most; else it says `what`."""
    def from_text(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: {what}")
        return value
    return from_text


def pattern(text):
    """A regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text}: {error}") from error
    return text
