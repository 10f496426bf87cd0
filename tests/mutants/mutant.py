# SPDX-License-Identifier: MIT
"""What a mutant is."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """
    One fault that is put into a copy of the engine: `old`, which occurs exactly once in `file`,
    becomes `new`.

    breaks   kinds (K01...; a test with that kind in its name has to fail) and guarantees (S1...)
    by       the test programs that are tried first. More than one, where more than one tells
    under    the build that sees it: plain, or tsan. (Orders of accesses that no run on this processor
             shows are taken away under the model checker: tests/protocol/removals.py.)
    """
    name: str
    file: str
    old: str
    new: str
    breaks: str
    by: str = ''
    under: str = 'plain'

    @property
    def kinds(self):
        return [word for word in self.breaks.split() if word[0] == 'K']

    @property
    def programs(self):
        return self.by.split()
