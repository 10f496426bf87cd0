#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Mutation testing: each fault of the lists must be found by a test.

    run_mutants.py all            every one, and which test found a fault of each kind
    run_mutants.py ten [SEED]     ten of them, others for another seed; by default, the commit's
    run_mutants.py why NAME       which programs find one
    run_mutants.py NAME...        these

A mutant is killed when a test fails, crashes or hangs; the same program passes on the engine as it
is. A mutant of a kind (K01...) is killed when a test with that kind in its name fails. What the
compiler refuses, or no test sees, fails the run.
"""
import os
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from math import gcd

import build
import of_algorithms
import of_limiter
import of_table

MUTANTS = of_algorithms.MUTANTS + of_table.MUTANTS + of_limiter.MUTANTS
JOBS = int(os.environ.get('WEIR_MUTANTS_JOBS', '2'))
ENGINE = build.ROOT / 'engine'


class Baseline:
    """The engine as it is: what its programs take, and that they pass."""

    def __init__(self):
        self.trees = {name: build.Tree(flavour, ENGINE, build.WORK / name)
                      for name, flavour in build.FLAVOURS.items()}
        self.outcomes = {}
        self.lock = threading.Lock()

    def passes(self, flavour, program):
        with self.lock:
            return self._outcome(flavour, program).passed

    def seconds(self, flavour, program):
        outcome = self.outcomes.get((flavour, program))
        return outcome.seconds if outcome is not None else 1.0

    def _outcome(self, flavour, program):
        key = (flavour, program)
        if key not in self.outcomes:
            self.outcomes[key] = self.trees[flavour].run(program)
            if not self.outcomes[key].passed:
                print(f'{program} fails without a mutant ({flavour}): '
                      f'{" ".join(self.outcomes[key].failed)}', flush=True)
        return self.outcomes[key]


def has_kind(test, kind):
    return re.search(rf'(^|_){kind.lower()}(_|$)', test) is not None


class Verdict:
    """What came of one mutant."""

    def __init__(self, mutant):
        self.mutant = mutant
        self.kills = {}  # program: Outcome
        self.error = None

    def test_of(self, kind):
        """(program, test) that found the kind, or None."""
        for program, outcome in self.kills.items():
            for test in outcome.failed:
                if has_kind(test, kind):
                    return program, test
        return None

    def missed(self):
        return [kind for kind in self.mutant.kinds if self.test_of(kind) is None]

    @property
    def done(self):
        return bool(self.kills) and not self.missed()

    @property
    def passed(self):
        return self.error is None and self.done

    def text(self):
        name = self.mutant.name
        if self.error is not None:
            return f'{name}: {self.error}'
        if not self.kills:
            return f'{name}: SURVIVED'
        program, outcome = next(iter(self.kills.items()))
        test, how = outcome.failed[0], outcome.how
        for kind in self.mutant.kinds:
            found = self.test_of(kind)
            if found is not None:
                program, test = found
                how = self.kills[program].how
        line = f'{name}: killed by {program}: {test}'
        if how != 'failed':
            line += f' ({how})'
        if self.missed():
            line += f'; no test named after {" ".join(self.missed())} failed: SURVIVED'
        return line


def plant(mutant, folder):
    """A copy of the engine with the mutant in it; None if it has no place there."""
    engine = folder / 'engine'
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ENGINE, engine, ignore=shutil.ignore_patterns('cli', 'man'))
    path = engine / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        return None
    path.write_text(text.replace(mutant.old, mutant.new))
    return engine


def try_mutant(mutant, baseline, everything=False):
    """Runs the mutant's programs, then all others, until it is killed; or all programs."""
    verdict = Verdict(mutant)
    folder = build.WORK / 'planted' / mutant.name
    engine = plant(mutant, folder)
    if engine is None:
        verdict.error = f'its text does not occur exactly once in {mutant.file}'
        return verdict
    flavour = build.FLAVOURS[mutant.under]
    tree = build.Tree(flavour, engine, folder / 'built', baseline.trees[mutant.under])
    listed = mutant.programs
    others = [program for program in build.test_programs() if program not in listed]
    others.sort(key=lambda program: baseline.seconds(mutant.under, program))
    if flavour.tsan:
        others = []  # what a race needs is threads, and time
    try:
        for program in listed + others:
            if verdict.done and not everything:
                break
            if verdict.kills and not everything and program not in listed and not any(
                    has_kind(test, kind) for test in build.tests_of(program)
                    for kind in verdict.missed()):
                continue
            if not baseline.passes(mutant.under, program):
                continue
            outcome = tree.run(program)
            if not outcome.passed:
                verdict.kills[program] = outcome
    except build.BuildError as error:
        verdict.error = f'cannot be built: {error}'
    shutil.rmtree(folder, ignore_errors=True)
    return verdict


def report_kinds(verdicts):
    """Which test found a fault of each kind; how many kinds have none."""
    table = (build.ROOT / 'tests/README.md').read_text()
    missing = 0
    print('== kinds')
    for kind in re.findall(r'^\| (K\d\d) \|', table, re.M):
        found = [(verdict.mutant.name, *verdict.test_of(kind)) for verdict in verdicts
                 if kind in verdict.mutant.kinds and verdict.test_of(kind) is not None]
        if found:
            name, program, test = found[0]
            print(f'   {kind} {len(found):2} mutants: {name} by {program}: {test}')
        else:
            missing += 1
            print(f'   {kind}: no mutant of this kind was killed by a test of its name')
    return missing


def run(mutants, whole):
    baseline = Baseline()
    with ThreadPoolExecutor(JOBS) as pool:
        verdicts = []
        for verdict in pool.map(lambda mutant: try_mutant(mutant, baseline), mutants):
            print('   ' + verdict.text(), flush=True)
            verdicts.append(verdict)
    killed = sum(verdict.passed for verdict in verdicts)
    failed = len(verdicts) - killed
    print(f'   {len(verdicts)} mutants, {killed} killed, {failed} not; by '
          f'{len({p for verdict in verdicts for p in verdict.kills})} different programs')
    if whole:
        failed += report_kinds(verdicts)
    return killed, failed


def why(mutant):
    verdict = try_mutant(mutant, Baseline(), everything=True)
    for program, outcome in verdict.kills.items():
        print(f'   {program}: {outcome.how}: {" ".join(outcome.failed)}')
    print(f'   {len(verdict.kills)} programs' if verdict.passed else '   ' + verdict.text())
    return (1, 0) if verdict.passed else (0, 1)


def ten_of(mutants, seed):
    """Ten that are no neighbours, others for each seed, all of them in some seeds' time."""
    count = len(mutants)
    stride = next(stride for stride in range(61, 61 + count) if gcd(stride, count) == 1)
    return [mutants[(seed * 10 + i) * stride % count] for i in range(min(10, count))]


def main(arguments):
    by_name = {mutant.name: mutant for mutant in MUTANTS}
    what = arguments[0] if arguments else 'all'
    rest = arguments[1:]
    if what == 'all':
        passed, failed = run(MUTANTS, True)
    elif what == 'ten':
        commit = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=build.ROOT,
                                stdout=subprocess.PIPE, text=True).stdout.strip()
        if rest and (len(rest) > 1 or not rest[0].isdigit()):
            print('ten: which seed?', file=sys.stderr)
            return 2
        seed = int(rest[0]) if rest else int(commit[:8] or '0', 16)
        print(f'   seed {seed}')
        passed, failed = run(ten_of(MUTANTS, seed), False)
    else:
        names = rest if what == 'why' else arguments
        unknown = [name for name in names if name not in by_name]
        if unknown or not names:
            print(f'unknown mutant: {" ".join(unknown) or "none given"}', file=sys.stderr)
            return 2
        if what == 'why':
            results = [why(by_name[name]) for name in names]
            passed, failed = (sum(column) for column in zip(*results))
        else:
            passed, failed = run([by_name[name] for name in names], False)
    print(f'{passed} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
