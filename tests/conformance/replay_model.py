# SPDX-License-Identifier: MIT
"""A replay in exact fractions, written from the rules and not from the engine.

A bucket of a key starts full. Tokens accrue at limit/period up to the burst; a request takes one
whole token or nothing. Time never runs backwards for a bucket. A pacer is a bucket of slack + 1.
A refill bucket sees the last multiple of its tick instead of the time.

A fixed window admits its limit from a key's first request on until the period has passed; an
aligned one within each multiple of the period on unix time plus its offset; a calendar one within
each day, week or month that the zone's clocks show. A sliding window admits a request if those of
the current multiple of the period, and of those of the one before as large a share as lies within
the last period, leave room for one. (Windows from the first request are kept to a grain in the
engine, which these rules do not know: times and periods have to be multiples of 512 ns, and limits
below 128, to compare them.)

Requests of a file are taken in time order, those of one instant in the order of their lines; those
of a stream as they come, on the running maximum of the times.
"""

import datetime
import ipaddress
import re
import zoneinfo
from fractions import Fraction

NS = 10**9
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": NS, "min": 60 * NS, "h": 3600 * NS,
         "day": 86400 * NS}
SPAN = re.compile(r"(\d*(?:\.\d+)?)(ns|us|ms|s|min|h|day)$")
COMBINED = re.compile(rb'(\S+) (\S+) (.+?) \[([^\]"]+)\]')
CLF_TIME = "%d/%b/%Y:%H:%M:%S %z"


class BucketPolicy:
    """`N/SPAN`, then `burst B`, `pace [slack B]` or `refill SPAN [burst B]`."""

    def __init__(self, text):
        words = text.split()
        count, span = words[0].split("/")
        self.limit = int(count)
        self.period = span_ns(span)
        self.burst = max(1, self.limit)
        self.tick = 1
        rest = words[1:]
        while rest:
            word = rest.pop(0)
            if word == "burst":
                self.burst = int(rest.pop(0))
            elif word == "pace":
                self.burst = 1
            elif word == "slack":
                self.burst = int(rest.pop(0)) + 1
            elif word == "refill":
                self.tick = span_ns(rest.pop(0))
                self.burst = self.limit
            else:
                raise ValueError(text)
        self.rate = Fraction(self.limit, self.period)

    def new_key(self):
        return Bucket(self)


def span_ns(text):
    number, unit = SPAN.match(text).groups()
    return int(Fraction(number or "1") * UNITS[unit])


class Bucket:
    """One key under one policy."""

    def __init__(self, policy):
        self.policy = policy
        self.balance = Fraction(policy.burst)
        self.seen = None

    def admit(self, now):
        now -= now % self.policy.tick
        if self.seen is None or now > self.seen:
            elapsed = 0 if self.seen is None else now - self.seen
            self.balance = min(self.balance + elapsed * self.policy.rate,
                               Fraction(self.policy.burst))
            self.seen = now
        if self.balance < 1:
            return False
        self.balance -= 1
        return True


class FixedWindow:
    """`N/SPAN window`."""

    def __init__(self, limit, period):
        self.limit = limit
        self.period = period
        self.start = None
        self.count = 0

    def admit(self, now):
        if self.start is None or now >= self.start + self.period:
            self.start, self.count = now, 0
        if self.count >= self.limit:
            return False
        self.count += 1
        return True


class NumberedWindow:
    """`N/SPAN aligned [OFFSET]` and `N/UNIT zone NAME`: number_of tells which window it is."""

    def __init__(self, limit, number_of):
        self.limit = limit
        self.number_of = number_of
        self.number = None
        self.count = 0

    def admit(self, now):
        number = self.number_of(now)
        if number != self.number:
            self.number, self.count = number, 0
        if self.count >= self.limit:
            return False
        self.count += 1
        return True


class SlidingWindow:
    """`N/SPAN sliding`."""

    def __init__(self, limit, period):
        self.limit = limit
        self.period = period
        self.counts = {}

    def admit(self, now):
        number, into = divmod(now, self.period)
        share = Fraction(self.period - into, self.period)
        estimate = self.counts.get(number - 1, 0) * share + self.counts.get(number, 0)
        if estimate + 1 > self.limit:
            return False
        self.counts[number] = self.counts.get(number, 0) + 1
        return True


def aligned_number(period, offset):
    return lambda now: (now + offset) // period


def calendar_number(unit, zone):
    def number(now):
        date = datetime.datetime.fromtimestamp(now // NS, zone).date()
        if unit == "day":
            return date.toordinal()
        if unit == "week":  # day 1, in the year 1, was a Monday
            return (date.toordinal() - 1) // 7
        return date.year * 12 + date.month
    return number


def offset_ns(text):
    """Of Z, +HH:MM or +HH:MM:SS."""
    if text == "Z":
        return 0
    parts = [int(part) for part in text[1:].split(":")] + [0]
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]
    return (-seconds if text[0] == "-" else seconds) * NS


class WindowPolicy:
    """What makes the window of a new key."""

    def __init__(self, text):
        words = text.split()
        count, span = words[0].split("/")
        limit, kind, more = int(count), words[1], words[2:]
        if kind == "zone":
            number_of = calendar_number(span, zoneinfo.ZoneInfo(more[0]))
            self.new_key = lambda: NumberedWindow(limit, number_of)
        elif kind == "aligned":
            number_of = aligned_number(span_ns(span), offset_ns(more[0] if more else "Z"))
            self.new_key = lambda: NumberedWindow(limit, number_of)
        else:
            window = {"window": FixedWindow, "sliding": SlidingWindow}[kind]
            self.new_key = lambda: window(limit, span_ns(span))


def policy_of(text):
    window = set(text.split()) & {"window", "aligned", "zone", "sliding"}
    return WindowPolicy(text) if window else BucketPolicy(text)


class Event:
    """A request: `ns` since 1970, the offset of the zone it was written in, the key's text."""

    __slots__ = ("ns", "offset", "key")

    def __init__(self, ns, offset, key):
        self.ns = ns
        self.offset = offset
        self.key = key


def address_key(text, prefix4=32, prefix6=64):
    """What an address is called as a key; other text is its own key."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if address.version == 6 and address.ipv4_mapped:
        address = address.ipv4_mapped
    bits, prefix = (32, prefix4) if address.version == 4 else (128, prefix6)
    if prefix == bits:
        return str(address)
    return str(ipaddress.ip_network((address, prefix), strict=False))


def read_combined(data, prefix4=32, prefix6=64):
    """(events, count of bad lines) of a combined log in bytes, keyed by address."""
    events, bad = [], 0
    for line in data.split(b"\n"):
        line = line.rstrip(b"\r")
        if not line.strip():
            continue
        found = COMBINED.match(line)
        try:
            host, _, _, time = (part.decode() for part in found.groups())
            when = datetime.datetime.strptime(time, CLF_TIME)
        except (AttributeError, ValueError):
            bad += 1
            continue
        events.append(Event(int(when.timestamp()) * NS, when.utcoffset(),
                            address_key(host, prefix4, prefix6)))
    return events, bad


def rfc3339(ns, offset):
    when = datetime.datetime.fromtimestamp(ns // NS, datetime.timezone(offset))
    text = when.strftime("%Y-%m-%dT%H:%M:%S")
    if ns % NS:
        text += (".%09d" % (ns % NS)).rstrip("0")
    zone = when.strftime("%z")
    return text + ("Z" if zone == "+0000" else zone[:3] + ":" + zone[3:])


def in_time_order(events):
    return sorted(events, key=lambda event: event.ns)


def on_running_maximum(events):
    """Each event at the latest instant seen so far, in the zone of the line that brought it."""
    latest, moved = None, []
    for event in events:
        if latest is None or event.ns > latest.ns:
            latest = event
        moved.append(Event(latest.ns, latest.offset, event.key))
    return moved


def behind_the_maximum(events):
    """How many events come with a time before the latest seen, and the most ns that one is."""
    moved = on_running_maximum(events)
    behind = [late.ns - event.ns for event, late in zip(events, moved) if late.ns > event.ns]
    return len(behind), max(behind, default=0)


def replay(events, text, top):
    """What one policy does to events that are in order: the numbers of one entry of `limits`."""
    policy = policy_of(text)
    keys, counts, first = {}, {}, None
    for event in events:
        if event.key not in keys:
            keys[event.key] = policy.new_key()
        count = counts.setdefault(event.key, [0, 0])
        if keys[event.key].admit(event.ns):
            count[0] += 1
            continue
        count[1] += 1
        if first is None:
            first = rfc3339(event.ns, event.offset)
    denied = [(key, count) for key, count in counts.items() if count[1] > 0]
    worst = sorted(denied, key=lambda item: -item[1][1])[:top]
    return {
        "allowed": sum(count[0] for count in counts.values()),
        "denied": sum(count[1] for count in counts.values()),
        "keys": len(counts),
        "keys_denied": len(denied),
        "first_denied": first,
        "overflow": 0,
        "top": [{"key": key, "allowed": count[0], "denied": count[1]} for key, count in worst],
    }
