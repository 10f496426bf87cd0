# SPDX-License-Identifier: MIT
"""
Finds the conditions of the algorithms' and the slot's headers, and writes headers in which each
of them can be flipped.

A condition is that of an if, while, do, for or ?:, and each operand of && and ||. Those that macros
make are left out. It is known by its file, function, kind, text, and which of several equal ones in
the function it is, so that other lines do not matter.
"""
import shlex
import subprocess
from collections import defaultdict
from dataclasses import dataclass

import clang.cindex
from clang.cindex import CursorKind

import build

HEADERS = ['algorithm/algorithm.h', 'algorithm/concurrency.h', 'algorithm/fixed_window.h',
           'algorithm/operation.h', 'algorithm/origin.h', 'algorithm/scale.h',
           'algorithm/sliding_window.h', 'algorithm/token_bucket.h', 'algorithm/window.h',
           'slot/settings.h', 'slot/slot.h', 'slot/word.h']

# Which child of a statement is its condition.
STATEMENTS = {CursorKind.IF_STMT: ('if', 0), CursorKind.WHILE_STMT: ('while', 0),
              CursorKind.DO_STMT: ('do', 1), CursorKind.CONDITIONAL_OPERATOR: ('?:', 0)}


@dataclass(frozen=True)
class Condition:
    file: str
    function: str
    kind: str
    text: str
    ordinal: int
    begin: int  # bytes of the file
    end: int
    line: int

    @property
    def key(self):
        return f'{self.file} {self.function} {self.kind} {self.ordinal}: {self.text}'


def _for_condition(cursor, text):
    """The child of a for between its two semicolons."""
    children = list(cursor.get_children())
    begin = cursor.extent.start.offset
    first = last = None
    depth = 0
    for at in range(begin, cursor.extent.end.offset):
        char = text[at:at + 1]
        if char in (b'(', b')'):
            depth += 1 if char == b'(' else -1
            if depth == 0:
                break
        elif char == b';' and depth == 1:
            first, last = (at, last) if first is None else (first, at)
    for child in children:
        if first < child.extent.start.offset and child.extent.end.offset <= last:
            return child
    return None


def _operator(cursor, text):
    """Of two operands: what stands between them."""
    left, right = cursor.get_children()
    between = text[left.extent.end.offset:right.extent.start.offset]
    words = between.replace(b'(', b' ').replace(b')', b' ').split()
    return words[0] if words else b''


def _is_chained(cursor, text, operator):
    return cursor.kind == CursorKind.BINARY_OPERATOR and _operator(cursor, text) == operator


def _in_file(cursor, path):
    """Whether all of a cursor was written in this file, and not made by a macro."""
    start, end = cursor.extent.start, cursor.extent.end
    return start.file is not None and start.file.name == path and end.file.name == path


def _walk(cursor, path, text, macros, function, found):
    for child in cursor.get_children():
        inside = function
        if child.kind == CursorKind.FUNCTION_DECL and child.is_definition():
            inside = child.spelling
        if child.location.file is None or child.location.file.name != path:
            continue
        conditions = []
        if child.kind in STATEMENTS:
            kind, index = STATEMENTS[child.kind]
            conditions.append((kind, list(child.get_children())[index]))
        elif child.kind == CursorKind.FOR_STMT:
            condition = _for_condition(child, text)
            if condition is not None:
                conditions.append(('for', condition))
        elif child.kind == CursorKind.BINARY_OPERATOR:
            operands = list(child.get_children())
            operator = _operator(child, text)
            if operator in (b'&&', b'||') and _in_file(child, path):
                name = operator.decode()
                # a && b && c has three operands, not four.
                if not _is_chained(operands[0], text, operator):
                    conditions.append(('left ' + name, operands[0]))
                conditions.append(('right ' + name, operands[1]))
        for kind, condition in conditions:
            begin, end = condition.extent.start.offset, condition.extent.end.offset
            made = any(begin < stop and start < end for start, stop in macros)
            if inside is not None and _in_file(condition, path) and not made:
                found.append((inside, kind, begin, end, condition.extent.start.line))
        _walk(child, path, text, macros, inside, found)


def _parse(header, flags):
    """Conditions of one header, in the order of the text."""
    path = str(build.ROOT / 'engine' / header)
    index = clang.cindex.Index.create()
    unit = index.parse('unit.c', args=flags, unsaved_files=[('unit.c', '#include "slot/slot.h"\n')],
                       options=clang.cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    errors = [d.spelling for d in unit.diagnostics if d.severity >= d.Error]
    if errors:
        raise SystemExit(f'cannot read {header}: {errors[0]}')
    text = (build.ROOT / 'engine' / header).read_bytes()
    # The list of algorithms makes code of its own; constants in a condition do no harm.
    makes_code = ('WEIR_ALGORITHMS', 'WEIR_BY_KIND', 'EACH', 'weir_assert')
    macros = [(c.extent.start.offset, c.extent.end.offset) for c in unit.cursor.get_children()
              if c.kind == CursorKind.MACRO_INSTANTIATION and _in_file(c, path) and
              c.spelling in makes_code]
    found = []
    _walk(unit.cursor, path, text, macros, None, found)
    counts = defaultdict(int)
    conditions = []
    for function, kind, begin, end, line in sorted(set(found), key=lambda f: (f[2], -f[3], f[1])):
        words = ' '.join(text[begin:end].decode().split())
        counts[function, kind, words] += 1
        conditions.append(Condition(header, function, kind, words,
                                    counts[function, kind, words], begin, end, line))
    return conditions


def conditions():
    """Of all headers; the position of each in the list is its id."""
    include = subprocess.run(['gcc', '-print-file-name=include'], stdout=subprocess.PIPE,
                             text=True).stdout.strip()
    flags = build.PLAIN.flags_for(build.ROOT / 'engine') + [f'-isystem{include}']
    return [condition for header in HEADERS for condition in _parse(header, flags)]


def instrument(engine, found):
    """Puts WEIR_FLIP around each condition, in a copy of the engine."""
    for header in HEADERS:
        path = engine / header
        text = path.read_bytes()
        # Where several begin, the longest comes first; where several end, it comes last.
        marks = []
        for number, condition in enumerate(found):
            if condition.file == header:
                length = condition.end - condition.begin
                marks.append((condition.begin, 1, -length, f'WEIR_FLIP({number}, '.encode()))
                marks.append((condition.end, 0, length, b')'))
        out, at = [], 0
        for offset, _, _, insert in sorted(marks, key=lambda mark: mark[:3]):
            out += [text[at:offset], insert]
            at = offset
        path.write_bytes(b''.join(out) + text[at:])
