#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Has Spin look at all states of life.pml: as it is, and with each protection taken away.

usage: life.py [-o FOLDER] [-l]

  -l  the larger models too, of one process more: a part of their states, for six minutes

Prints one line of TAP for each. As it is the model has neither a fault nor, as calls are finite, a
cycle: whichever processes stop for ever, the others come to their end. Without a protection it must
have a fault.
"""
import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, 'life.pml')

WITHOUT = ['FREEZE', 'SEAL', 'HORIZON', 'BEGINNING', 'INHERITANCE', 'ROOT_RULE', 'OWN_KEY',
           'REREAD', 'FIRST_COPY', 'ALL_DONE']

# For faults the first one is looked for, not the shortest.
SAFETY = ['-DSAFETY', '-DNOFAIR', '-DCOLLAPSE']
PROGRESS = ['-DNP', '-DNOFAIR', '-DCOLLAPSE']
# More states than memory holds: three bits for each in 2 GiB, for so many minutes.
PART = ['-DSAFETY', '-DNOFAIR', '-DBITSTATE']
PART_OF = ['-w34', '-k3', '-Q6']


def build(folder, defines, flags, optimised):
    """pan for the model, in the folder."""
    os.makedirs(folder, exist_ok=True)
    subprocess.run(['spin', '-a'] + defines + [MODEL], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(['gcc', '-O2' if optimised else '-O0', '-w'] + flags + ['pan.c', '-o', 'pan'],
                   cwd=folder, check=True)


def look(folder, options):
    """How many faults, in how many states; None, where it was not all looked at though it should."""
    command = ['./pan', '-m1000000'] + (options if options == PART_OF else ['-w24'] + options)
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    errors = re.search(r'errors: (\d+)', run.stdout)
    states = re.search(r'(\d+) states, stored', run.stdout)
    kind = re.search(r'pan:\d+: (.*) \(at depth', run.stdout)
    said = run.stdout + run.stderr
    if errors is None or states is None or errors.group(1) == '0' and (
            'Search not completed' in said and options != PART_OF or
            'max search depth too small' in said):
        return None, 0, ''
    return int(errors.group(1)), int(states.group(1)), kind.group(1) if kind else ''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-o', dest='out', default='life')
    parser.add_argument('-l', dest='large', action='store_true')
    options = parser.parse_args()
    tasks = [('nothing goes wrong', [], SAFETY, [], False),
             ('nobody waits for who has stopped', ['-DSMALL'], PROGRESS, ['-l'], False)]
    if options.large:
        tasks += [('nobody waits, larger', [], PROGRESS, ['-l'], False),
                  ('nothing goes wrong, large', ['-DLARGE'], PART, PART_OF, False)]
    tasks += [('without ' + name.lower().replace('_', ' '), ['-DWITHOUT_' + name], SAFETY, [], True)
              for name in WITHOUT]
    wrong = 0
    for number, (name, defines, flags, how, fails) in enumerate(tasks, 1):
        began = time.time()
        build(options.out, defines, flags, not fails)
        errors, states, kind = look(options.out, how)
        right = errors is not None and (errors != 0) == fails
        wrong += not right
        what = 'not all was looked at' if errors is None else \
            'fails: ' + kind if errors != 0 else 'holds' if how != PART_OF else 'nothing found'
        print('%s %d - life, %s: %s, %d states, %.1f s' % (
            'ok' if right else 'not ok', number, name, what, states, time.time() - began), flush=True)
    print('1..%d' % len(tasks))
    return wrong != 0


if __name__ == '__main__':
    sys.exit(main())
