# SPDX-License-Identifier: MIT
"""A replay in exact fractions, written from the rules and not from the engine.

A bucket of a key starts full. Tokens accrue at limit/period up to the burst; a request takes one
whole token or nothing. Time never runs backwards for a bucket. A pacer is a bucket of slack + 1.
A refill bucket sees the last multiple of its tick instead of the time. Requests of a file are
taken in time order, those of one instant in the order of their lines; those of a stream as they
come, on the running maximum of the times.
"""

import datetime
import ipaddress
import re
from fractions import Fraction

NS = 10**9
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": NS, "min": 60 * NS, "h": 3600 * NS,
         "day": 86400 * NS}
SPAN = re.compile(r"(\d*(?:\.\d+)?)(ns|us|ms|s|min|h|day)$")
COMBINED = re.compile(rb'(\S+) (\S+) (.+?) \[([^\]"]+)\]')
CLF_TIME = "%d/%b/%Y:%H:%M:%S %z"


class Policy:
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
    policy = Policy(text)
    buckets, counts, first = {}, {}, None
    for event in events:
        bucket = buckets.setdefault(event.key, None) or Bucket(policy)
        buckets[event.key] = bucket
        count = counts.setdefault(event.key, [0, 0])
        if bucket.admit(event.ns):
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
