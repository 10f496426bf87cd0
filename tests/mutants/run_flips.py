#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Flips each condition of the algorithms' and the slot's headers, one at a time, in one build.

    run_flips.py [TEXT...]     all, or those whose key has one of the texts in it

A test program that asks the condition has to fail, crash or hang. What survives has to stand in
flip_survivors.txt with the reason why it does not matter; what stands there and is found, or is no
condition any more, fails the run too.
"""
import json
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import build
import flips

JOBS = int(os.environ.get('WEIR_MUTANTS_JOBS', '2'))
FOLDER = build.WORK / 'flips'
SURVIVORS = Path(__file__).with_name('flip_survivors.txt')
# What takes long and asks nothing of these headers that others do not.
LEFT_OUT = {'unit/fork', 'stress/changes_mixed', 'unit/arena', 'unit/arena_refusals'}
NUMBERS = 4096  # as in flip.h
LEAST_S = 3  # of processor time, whatever the program takes otherwise


def make_tree():
    """Instrumented copy, built; only what changed is written."""
    found = flips.conditions()
    if len(found) > NUMBERS:
        sys.exit(f'{len(found)} conditions: flip.h has room for {NUMBERS}')
    build.WORK.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.WORK) as fresh:
        copy = Path(fresh) / 'engine'
        shutil.copytree(build.ROOT / 'engine', copy,
                        ignore=shutil.ignore_patterns('cli', 'man'))
        flips.instrument(copy, found)
        engine = FOLDER / 'engine'
        engine.mkdir(parents=True, exist_ok=True)
        for path in copy.rglob('*'):
            target = engine / path.relative_to(copy)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif not target.exists() or target.read_bytes() != path.read_bytes():
                shutil.copy(path, target)
    here = Path(__file__).parent
    return found, build.Tree(build.PLAIN, engine, FOLDER / 'built',
                             extra=['-include', str(here / 'flip.h')],
                             objects=[str(here / 'flip.c')])


def measure(tree):
    """[(program, seconds, ids asked)] of those that pass, the fastest first; kept for a next run
    of the same programs."""
    programs = [program for program in build.test_programs() if program not in LEFT_OUT]
    made = [(program, tree.program(program).stat().st_mtime_ns) for program in programs]
    kept = FOLDER / 'measured'
    key = repr((made, build.SCALE))
    if kept.exists() and kept.read_text().startswith(key + '\n'):
        return [(program, seconds, set(ids)) for program, seconds, ids
                in json.loads(kept.read_text()[len(key):])]
    asked_by = []
    for program in programs:
        path = FOLDER / 'asked'
        path.unlink(missing_ok=True)
        outcome = tree.run(program, {'WEIR_FLIP_ASKED': str(path)})
        if not outcome.passed:
            print(f'{program} fails without a flip: {" ".join(outcome.failed)}', flush=True)
            continue
        asked = set()
        notes = path.read_bytes() if path.exists() else b''
        for at in range(0, len(notes), NUMBERS):
            asked |= {i for i, note in enumerate(notes[at:at + NUMBERS]) if note}
        asked_by.append((program, outcome.seconds, asked))
    asked_by.sort(key=lambda entry: entry[1])
    kept.write_text(key + '\n' + json.dumps([(program, seconds, sorted(ids)) for
                                             program, seconds, ids in asked_by]))
    return asked_by


def listed_survivors():
    """key: reason, as the file says: a line of a key, then lines of a reason, further in."""
    survivors, key = {}, None
    for line in SURVIVORS.read_text().splitlines() if SURVIVORS.exists() else []:
        if line.startswith('#') or not line.strip():
            continue
        if line[0] != ' ':
            key = line
            survivors[key] = ''
        else:
            survivors[key] += line.strip() + ' '
    return survivors


def kill(tree, programs, number):
    """(program, test) that finds the flip; None if none does; whether any asks it."""
    asked = False
    for program, seconds, ids in programs:
        if number not in ids:
            continue
        asked = True
        outcome = build.run(tree.program(program), program, tree.flavour,
                            {'WEIR_FLIP': str(number)}, wall_s=30 + 20 * seconds,
                            processor_s=int(LEAST_S + 5 * seconds))
        if not outcome.passed:
            return program, outcome.failed[0]
    return None if asked else ('', '')


def main(texts):
    found, tree = make_tree()
    programs = measure(tree)
    print(f'   {len(found)} conditions, {len(programs)} programs', flush=True)
    chosen = [number for number, condition in enumerate(found)
              if not texts or any(text in condition.key for text in texts)]
    if not chosen or not programs:
        sys.exit('no such condition' if programs else 'no program passes without a flip')
    listed = listed_survivors()
    killed, survived, failed, by = 0, 0, 0, {}
    with ThreadPoolExecutor(JOBS) as pool:
        for number, who in zip(chosen, pool.map(lambda n: kill(tree, programs, n), chosen)):
            condition = found[number]
            known = condition.key in listed
            if who is not None and who[0]:
                killed += 1
                by[who[0]] = by.get(who[0], 0) + 1
                if known:
                    failed += 1
                    print(f'stale: {condition.key}: is found by {who[0]}: {who[1]}', flush=True)
                continue
            survived += 1
            if not known:
                failed += 1
                print(f'SURVIVED ({"not asked" if who else "line " + str(condition.line)}): '
                      f'{condition.key}', flush=True)
    keys = {condition.key for condition in found}
    for key, reason in listed.items():
        if key not in keys or not reason:
            failed += 1
            print(f'stale: {key}: {"is no condition" if key not in keys else "has no reason"}')
    for program, count in sorted(by.items(), key=lambda entry: -entry[1]):
        print(f'   {count:4} by {program}')
    print(f'   {len(chosen)} flips: {killed} killed, {survived} survived')
    print(f'{len(chosen) - failed if failed < len(chosen) else 0} passed, {failed} failed')
    return failed != 0


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except build.BuildError as error:
        sys.exit(f'cannot be built: {error}')
