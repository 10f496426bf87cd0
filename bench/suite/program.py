# SPDX-License-Identifier: MIT
"""A program that plays traces, one subject of it in a process of its own.

    PROGRAM --list
    PROGRAM --trace FILE --subject NAME --threads T --clock given|own --batch B

It tells in one line of JSON that it is ready, and then plays for each line "run SECONDS" on its
standard input. Exit status 3: it cannot do that, with the word why on standard error. All that it
says is checked: what a program says of itself is not believed where it can be counted here.
"""

import contextlib
import json
import math
import os
import select
import signal
import subprocess
import tempfile
import time

LINE_MOST = 1 << 20  # bytes
SHOWN_LINES = 6  # of standard error
REFUSES = 3
RECORD_S = 2e-5  # more to wait for each record: a pass of many may take minutes


class Refused(Exception):
    """It cannot do what was asked for, and says so."""


class Broken(Exception):
    """It died, hung, or said what makes no sense."""


class Offer:
    """A subject, as --list tells it."""

    def __init__(self, program, line):
        fields = line.split("\t")
        if len(fields) != 4:
            raise Broken(f"{program}: --list: not NAME, clocks, batch and version: {line!r:.200}")
        self.program = program
        self.name, clocks, batch, self.version = fields
        self.clocks = clocks.split(",")
        first, _, last = batch.partition("-")
        if not self.name or not set(self.clocks) <= {"given", "own"} or not first.isdigit() or \
                not (last or first).isdigit():
            raise Broken(f"{program}: --list: clocks or batch make no sense: {line!r:.200}")
        self.batches = range(int(first), int(last or first) + 1)


def offers(program, timeout_s):
    """Of a program: its subjects."""
    try:
        done = subprocess.run([program, "--list"], capture_output=True, text=True, check=False,
                              timeout=timeout_s, stdin=subprocess.DEVNULL, errors="replace")
    except OSError as error:
        raise Broken(f"{program}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{program}: --list says nothing for {timeout_s:g} s") from error
    if done.returncode:
        raise Broken(f"{program}: --list: exit status {done.returncode}{tail_of(done.stderr)}")
    found = [Offer(program, line) for line in done.stdout.splitlines() if line.strip()]
    if not found:
        raise Broken(f"{program}: --list names no subject")
    names = [offer.name for offer in found]
    for name in names:
        if names.count(name) > 1:
            raise Broken(f"{program}: --list names {name} twice")
    return found


def tail_of(text):
    lines = [line for line in text.splitlines() if line.strip()][-SHOWN_LINES:]
    return "".join(f"\n    | {line[:300]}" for line in lines)


class Run:
    """What one "run SECONDS" did; records: of the trace, from its beginning, that a pass plays."""

    def __init__(self, told, trace, records, threads, clock, wall_s):
        whole = ("decisions", "admitted", "least", "most")
        for field in whole:
            value = told.get(field)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise Broken(f'"{field}" is {value!r}, not a whole number')
        for field in ("seconds", "cpu_seconds"):
            value = told.get(field)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or \
                    not math.isfinite(value) or value < 0:
                raise Broken(f'"{field}" is {value!r}, not a number')
        self.decisions, self.admitted, self.least, self.most = (told[field] for field in whole)
        self.seconds, self.cpu_seconds = told["seconds"], told["cpu_seconds"]
        self.ns = 1e9 * self.seconds * threads / max(1, self.decisions)
        self.cpu_ns = 1e9 * self.cpu_seconds / max(1, self.decisions)
        wrong = self.wrong(trace, records, threads, clock, wall_s)
        if wrong:
            raise Broken(wrong)
        self.over = max(0, self.admitted - self.most)
        self.under = max(0, self.least - self.admitted)

    def wrong(self, trace, records, threads, clock, wall_s):
        """What cannot be, as far as it can be known from here."""
        hot = trace.keys == 1
        of_a_pass = records * (threads if hot else 1)
        passes, rest = divmod(self.decisions, of_a_pass)
        if passes == 0 or rest:
            return f"{self.decisions} decisions are not whole passes of {of_a_pass}"
        if self.admitted > self.decisions:
            return f"{self.admitted} admitted of {self.decisions} decisions"
        if self.seconds <= 0 or self.seconds > wall_s * 1.02 + 0.01:
            return f"{self.seconds:g} s told for what took {wall_s:g} s"
        if hot and threads > 1:
            if not self.least <= self.most <= self.decisions:
                return f"least {self.least} and most {self.most} of {self.decisions}"
            return ""
        exact = passes * trace.admitted
        if clock == "own" or not trace.denies():
            exact = self.decisions
        elif records < trace.records:  # how many of these are admitted is not in the file
            exact = min(self.least, self.decisions)
        if (self.least, self.most) != (exact, exact):
            return f"least {self.least} and most {self.most}, where {exact} is exact"
        return ""


class Player:
    """A process that has read the trace, and waits for its turn."""

    def __init__(self, offer, trace, threads, clock, batch, timeout_s):
        self.offer, self.trace, self.threads, self.clock = offer, trace, threads, clock
        self.timeout_s = timeout_s + RECORD_S * trace.records
        self.unread = b""
        self.errors = tempfile.TemporaryFile()
        words = [offer.program, "--trace", str(trace.path), "--subject", offer.name,
                 "--threads", str(threads), "--clock", clock, "--batch", str(batch)]
        try:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self.errors, start_new_session=True)
        except OSError as error:
            self.errors.close()
            raise Broken(f"{offer.program}: {error.strerror}") from error
        try:
            self.bytes_per_key = self.ready()
        except BaseException:
            self.end()
            raise

    def ready(self):
        told = self.answer("ready")
        if told.get("ready") is not True or told.get("subject") != self.offer.name:
            raise Broken(f"it does not say that it is ready: {json.dumps(told):.200}")
        value = told.get("bytes_per_key")
        if not isinstance(value, (int, float)) or isinstance(value, bool) or \
                not math.isfinite(value):
            raise Broken(f'"bytes_per_key" is {value!r}, not a number')
        records = told.get("records", self.trace.records)
        if not isinstance(records, int) or isinstance(records, bool) or \
                not 0 < records <= self.trace.records:
            raise Broken(f'"records" is {records!r}, of a trace of {self.trace.records}')
        self.records = records
        return value

    def run(self, seconds):
        begin = time.monotonic()
        try:
            self.process.stdin.write(f"run {seconds:g}\n".encode())
            self.process.stdin.flush()
        except OSError:
            pass  # it has gone: what answer() finds says how
        told = self.answer("to run", seconds)
        return Run(told, self.trace, self.records, self.threads, self.clock,
                   time.monotonic() - begin)

    def answer(self, what, seconds=0):
        """The next line of its output, as an object."""
        line = self.line(time.monotonic() + self.timeout_s + seconds)
        if line is None:
            raise Broken(f"it hangs: asked {what}, it said nothing for "
                         f"{self.timeout_s + seconds:g} s{self.said()}")
        if not line.endswith(b"\n"):
            self.ended(line)
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise Broken(f"it says what is no object of JSON: {line[:200]!r}{self.said()}")
        return told

    def line(self, until):
        """A line; without its end where the output ended, nothing where time did."""
        output = self.process.stdout.fileno()
        while b"\n" not in self.unread and len(self.unread) < LINE_MOST:
            left = until - time.monotonic()
            if left <= 0 or not select.select([output], [], [], left)[0]:
                return None
            more = os.read(output, 65536)
            if not more:
                break
            self.unread += more
        line, end, self.unread = self.unread.partition(b"\n")
        return line + end

    def ended(self, line):
        """Its output ended within an answer, or is no line at all."""
        if len(line) >= LINE_MOST:
            raise Broken(f"it says what is no object of JSON: {line[:200]!r}")
        try:
            status = self.process.wait(self.timeout_s)
        except subprocess.TimeoutExpired as error:
            raise Broken("it closed its output and goes on") from error
        if status == REFUSES:
            raise Refused(self.said(plain=True) or "it does not say why")
        died = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        raise Broken(f"it ended, {died}{self.said()}")

    def said(self, plain=False):
        """The end of its standard error."""
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - 8192))
        text = self.errors.read().decode("utf-8", "replace")
        return " ".join(text.split())[-300:] if plain else tail_of(text)

    def quit(self):
        """In good order: anything but exit status 0 is a fault, too."""
        try:
            with contextlib.suppress(OSError):
                self.process.stdin.write(b"quit\n")
                self.process.stdin.close()
            try:
                status = self.process.wait(self.timeout_s)
            except subprocess.TimeoutExpired as error:
                raise Broken(f"it hangs: told to quit, it goes on{self.said()}") from error
            if status:
                raise Broken(f"told to quit, it ended with status {status}{self.said()}")
        finally:
            self.end()

    def end(self):
        """Of its whole process group: a program may have started a server."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            with contextlib.suppress(OSError):
                stream.close()
