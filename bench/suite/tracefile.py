# SPDX-License-Identifier: MIT
"""Trace files: the head of one, and having one written once.

The head is 64 bytes: "WEIRTRC1", then records, keys, limit, period, burst, span, admitted, each a
little-endian u64. Records of 24 bytes follow.
"""

import pathlib
import struct
import subprocess

MAGIC = b"WEIRTRC1"
HEAD = struct.Struct("<8s7Q")
RECORD_BYTES = 24


class TraceError(Exception):
    """No such trace; the text names the file and what is wrong."""


class Trace:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        try:
            with open(path, "rb") as file:
                head = file.read(HEAD.size)
            self.bytes = self.path.stat().st_size
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror}") from error
        if len(head) < HEAD.size or head[:8] != MAGIC:
            raise TraceError(f"{path}: no trace file (it does not begin with {MAGIC.decode()})")
        (_, self.records, self.keys, self.limit, self.period, self.burst, self.span,
         self.admitted) = HEAD.unpack(head)
        due = HEAD.size + self.records * RECORD_BYTES
        if self.bytes != due:
            raise TraceError(f"{path}: {self.bytes} bytes, but {self.records} records are {due}")
        if self.records == 0 or self.keys == 0 or self.admitted > self.records:
            raise TraceError(f"{path}: {self.records} records, {self.keys} keys, "
                             f"{self.admitted} admitted")

    def denies(self):
        return self.admitted < self.records

    def denied_percent(self):
        return round(100 * (self.records - self.admitted) / self.records)


def written(wish, folder, writer, timeout_s):
    """The trace of a wish (see plan.py), from the folder if the writer has made it before."""
    path = folder / (wish.file_name() + ".trace")
    program = pathlib.Path(writer)
    try:
        made_after = path.stat().st_mtime >= program.stat().st_mtime
    except OSError:
        made_after = False
    if made_after:
        try:
            return Trace(path)
        except TraceError:
            pass  # cut off: it is written anew
    beside = path.with_suffix(".part")
    command = [str(program), *wish.words(), str(beside)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              check=False, timeout=timeout_s, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise TraceError(f"{program}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        beside.unlink(missing_ok=True)
        raise TraceError(f"{' '.join(command)}: not written in {timeout_s:g} s") from error
    if done.returncode:
        beside.unlink(missing_ok=True)
        why = " ".join(done.stderr.split())[-300:] or f"exit status {done.returncode}"
        raise TraceError(f"{' '.join(command)}: {why}")
    Trace(beside)  # before it takes its name
    beside.replace(path)
    return Trace(path)
