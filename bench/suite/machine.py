# SPDX-License-Identifier: MIT
"""What figures depend on beside the program: the machine, its settings, the compiler, the source.

Everything is read from Linux' own files. What cannot be read is told as "unknown", never guessed.
"""

import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNKNOWN = "unknown"
CPUS = pathlib.Path("/sys/devices/system/cpu")


def text_of(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def first_line_of(*command):
    """Of what a command prints; nothing where there is no such command, or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.split("\n", 1)[0].strip()


def cpu_model(cpuinfo=None):
    text = text_of("/proc/cpuinfo") if cpuinfo is None else cpuinfo
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", text, re.M)
    return found.group(1).strip() if found else platform.machine() or UNKNOWN


def cpus():
    """Processors that this process may use: fewer than the machine has under taskset."""
    return len(os.sched_getaffinity(0))


def governor():
    """"none" where the kernel cannot change the frequency, as in most virtual machines."""
    names = {text_of(path) for path in CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""}
    return " and ".join(sorted(names)) or "none"


def huge_pages():
    """The one in brackets: always, madvise or never."""
    found = re.search(r"\[(\w+)\]", text_of("/sys/kernel/mm/transparent_hugepage/enabled"))
    return found.group(1) if found else UNKNOWN


def caches():
    """Of the first processor, as google-benchmark tells them."""
    found = []
    for folder in sorted(CPUS.glob("cpu0/cache/index[0-9]*")):
        size = re.fullmatch(r"(\d+)([KMG]?)", text_of(folder / "size"))
        level = text_of(folder / "level")
        if not size or not level.isdigit():
            continue
        unit = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size.group(2)]
        shared = bits_of(text_of(folder / "shared_cpu_map"))
        found.append({"type": text_of(folder / "type"), "level": int(level),
                      "size": int(size.group(1)) * unit, "num_sharing": shared})
    return found


def bits_of(mask):
    digits = mask.replace(",", "")
    return bin(int(digits, 16)).count("1") if re.fullmatch(r"[0-9a-fA-F]+", digits) else 1


def memory(what="MemAvailable"):
    """Bytes, from /proc/meminfo; less where a control group allows less."""
    found = re.search(rf"^{what}:\s*(\d+) kB$", text_of("/proc/meminfo"), re.M)
    bytes_ = int(found.group(1)) * 1024 if found else 0
    allowed, used = text_of("/sys/fs/cgroup/memory.max"), text_of("/sys/fs/cgroup/memory.current")
    if allowed.isdigit() and used.isdigit():
        left = int(allowed) if what == "MemTotal" else max(0, int(allowed) - int(used))
        bytes_ = min(bytes_, left)
    return bytes_


def commit():
    """The commit, and whether files differ from it; both unknown outside of a repository."""
    name = first_line_of("git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD")
    if not name:
        return UNKNOWN, False
    return name, bool(first_line_of("git", "-C", str(ROOT), "status", "--porcelain",
                                    "--untracked-files=no"))


def describe(compiler=""):
    """What google-benchmark's context lacks."""
    name, changed = commit()
    return {
        "machine": cpu_model(),
        "num_cpus": os.cpu_count(),
        "cpus_allowed": cpus(),
        "caches": caches(),
        "memory_bytes": memory("MemTotal"),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "compiler": compiler or first_line_of("gcc", "--version") or UNKNOWN,
        "governor": governor(),
        "page_size": os.sysconf("SC_PAGE_SIZE"),
        "transparent_huge_pages": huge_pages(),
        "commit": name,
        "commit_changed": changed,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "load_avg": [round(load, 2) for load in os.getloadavg()],
    }
