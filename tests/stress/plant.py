#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plants faults of concurrency into copies of the engine, and counts the runs until each is found.

    plant.py SOURCE_ROOT WORK_DIRECTORY RUNS [NAME...]
    plant.py SOURCE_ROOT      a test: every text is there, exactly once (TAP)

Each fault is a few replacements of text. The copy is built with the schedules of few calls
(test_schedules_small.c), which are run 2,000 times, then ten times as often, up to RUNS. Prints how
many runs were made when the first failed, and ends with "N passed, N failed": found, and not found.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys

MOVE, ARRAY, SLOT = "table/move.h", "table/array.h", "slot/slot.h"
PLACE = "table/place.h"

FAULTS = {
    "a word that is moved is not frozen": [
        (MOVE, "weir_or_acq_rel(&line->word[slot], WEIR_MOVE_FROZEN)",
         "weir_load_acquire(&line->word[slot])")],
    "the horizon is not raised": [
        (MOVE, "weir_max_release(&m->to->horizon, m->now);", "")],
    "the horizon is not inherited": [
        (MOVE, "weir_store_relaxed(&to->horizon, horizon);",
         "weir_store_relaxed(&to->horizon, 0 * horizon);")],
    "a new key does not begin at the horizon": [
        (ARRAY, "horizon - now <= stale_max ? horizon : now",
         "horizon - now > stale_max ? 0 : now")],
    "empty slots are not sealed": [
        (MOVE, "if (weir_cas_acq_rel(&line->tag[slot], &tag, WEIR_TAG_SEALED))", ""),
        (MOVE, "if (now_there == WEIR_TAG_SEALED ||", "if (now_there == WEIR_TAG_EMPTY ||")],
    "a lost claim is not looked at again": [
        (ARRAY, "continue; /* the same line again */", "")],
    "a word is stored": [
        (SLOT, "if (weir_cas_acq_rel(slot, &word, m->mark | step->payload)) /* O1, S4 */",
         "weir_store_release(slot, m->mark | step->payload);")],
    "a lost word is written all the same": [
        (SLOT, "        weir_pause(&losses);",
         "        if (weir_cas_acq_rel(slot, &word, m->mark | step->payload))\n"
         "            return WEIR_SLOT_DONE;\n        weir_pause(&losses);")],
    "a first word is stored": [
        (SLOT, "weir_cas_acq_rel(slot, &never_used, m->mark | step->payload); /* O1 */",
         "(weir_store_release(slot, m->mark | step->payload), never_used == 0);")],
    "the usual decision stores": [
        ("quick.c", "bool granted = weir_cas_acq_rel(word, &seen, m->mark | *payload);",
         "bool granted = true;\n    weir_store_release(word, m->mark | *payload);")],
    "permits and windows are counted by a store": [
        ("quick.c", "bool granted = weir_cas_acq_rel(word, &seen, m->mark | payload);",
         "bool granted = seen != 1;\n    weir_store_release(word, m->mark | payload);")],
    "the generation is not compared": [
        (SLOT, "*payload = weir_modulo_sub(word, m->mark);",
         "*payload = word != 0 && (word & WEIR_WORD_FROZEN) == 0\n"
         "                   ? word & WEIR_PAYLOAD_MAX\n"
         "                   : weir_modulo_sub(word, m->mark);")],
    "the settings are read twice": [
        ("call.h", "c->now, &c->at), 1))\n        return true;",
         "c->now, &c->at), 1)) {\n"
         "        const struct weir_settings *again = weir_limit_settings(c->l);\n"
         "        if (again != NULL && again->generation != 0 && !again->meter.unlimited)\n"
         "            c->s = again;\n        return true;\n    }")],
    "a key that is gone is judged by settings from before": [
        ("call.c", "if (!renewed) {", "if (false) {"),
        ("call.c", "if (p.word == NULL && !c->overflow) {", "if (false) {")],
    "a key that is gone is granted without a place": [
        ("call.c", "if (look != WEIR_CLAIM && claims_now(c, op))", "if (false)")],
    "a chunk is done before it is moved": [
        (MOVE, "    uint64_t left = m->left;\n",
         "    uint64_t left = m->left;\n"
         "    weir_or_acq_rel(&m->from->done, (uint64_t)1 << chunk);\n")],
    "a shard is led on before all is moved": [
        (MOVE, "return weir_load_acquire(&m->from->done) == weir_move_all_done(m);",
         "return weir_load_acquire(&m->from->chunks) >= weir_move_chunks(m);")],
    "a key is used before it is moved": [
        (PLACE, "    weir_move_key(&e->move, e->tag);\n", "")],
    "a refused key is not sealed": [
        (PLACE, "weir_search_claim(&s, WEIR_TAG_SEALED, &seen))", "(seen = 0) == 0)")],
    "credits are paid before the claim": [
        (PLACE, "    enum weir_found found =\n        weir_array_claim(in,",
         "    weir_credit_pay(e->share, 1);\n"
         "    enum weir_found found =\n        weir_array_claim(in,"),
        (PLACE, "    if (!claimed)\n        weir_place_unreserve(e, in);",
         "    if (!claimed)\n        weir_place_unreserve(e, in);\n"
         "    if (!claimed)\n        weir_credit_pay(e->share, (uint64_t)-1);"),
        (PLACE, "        weir_credit_pay(e->share, 1);\n        weir_max_relaxed",
         "        weir_max_relaxed")],
    "all-or-none gives back too much": [
        ("all.c", ".verb = WEIR_UNDO, .n = e->n,", ".verb = WEIR_UNDO, .n = e->n + 1,")],
    "all-or-none keeps what it took": [
        ("all.c", "            undo(all, &all->entries[done], now);",
         "            (void)now;")],
    "what is replaced is freed at once": [
        ("table/reclaim.c", "urcu_bp_call_rcu(head_of(a), free_retired);",
         "free_retired(head_of(a));")],
}

TESTS = ["stress/test_schedules_small.c", "stress/few_calls_drawn.c", "stress/few_calls_made.c",
         "stress/schedule.c", "stress/judge.c", "stress/stress.c", "model/bucket_model.c",
         "model/rules.c", "model/window_model.c"]


def flags(*names):
    text = subprocess.run(["pkg-config", *names, "liburcu-bp", "ck", "libxxhash", "cmocka"],
                          check=True, capture_output=True, text=True).stdout
    return [f for f in text.split() if f != "-lck"]


class Builder:
    """Compiles what differs from all that was compiled before."""

    def __init__(self, root, work):
        self.root, self.work = root, work
        os.makedirs(os.path.join(work, "objects"), exist_ok=True)
        self.cflags = ["-std=gnu11", "-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-w", *flags("--cflags")]

    def compile(self, source, options):
        command = ["gcc", *self.cflags, *options, source]
        text = subprocess.run([*command, "-E", "-P"], check=True, capture_output=True).stdout
        name = hashlib.sha256(text + " ".join(options[-3:]).encode()).hexdigest()
        path = os.path.join(self.work, "objects", name + ".o")
        if not os.path.exists(path):
            subprocess.run([*command, "-c", "-o", path], check=True)
        return path

    def build(self, engine, program):
        tests = os.path.join(self.root, "tests")
        includes = [f"-I{self.root}/include", f"-I{engine}"]
        includes += [f"-I{tests}/{d}" for d in ("", "model", "stress")]
        points = ["-DWEIR_RCU_OUTSIDE=1", "-include", "schedule_points.h"]
        objects = []
        for folder in ("", "table"):
            for name in sorted(os.listdir(os.path.join(engine, folder))):
                if name.endswith(".c"):
                    plain = includes if name == "counters.c" else includes + points
                    objects.append(self.compile(os.path.join(engine, folder, name), plain))
        objects += [self.compile(os.path.join(tests, name), includes) for name in TESTS]
        subprocess.run(["gcc", *objects, "-o", program, *flags("--libs"), "-pthread"], check=True)


def plant(root, work, replacements):
    engine = os.path.join(work, "engine")
    shutil.rmtree(engine, ignore_errors=True)
    shutil.copytree(os.path.join(root, "engine"), engine,
                    ignore=shutil.ignore_patterns("cli", "man", "*.in", "meson.build"))
    for name, old, new in replacements:
        path = os.path.join(engine, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.count(old) != 1:
            sys.exit(f"plant.py: {name} has {text.count(old)} times: {old}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return engine


def runs_until_found(program, runs_max):
    """The runs, and what was seen; None: not found."""
    runs = min(2000, runs_max)
    while True:
        environment = dict(os.environ, WEIR_TEST_SEED="1", WEIR_SCHEDULE_RUNS=str(runs))
        try:
            done = subprocess.run([program], env=environment, capture_output=True, text=True,
                                  timeout=120, errors="replace", check=False)
        except subprocess.TimeoutExpired:
            return runs, "it does not end"
        text = done.stdout + done.stderr
        found = [(int(m[3]), f"{m[1]}: {m[2]}") for m in
                 re.finditer(r"ERROR: (.*): (.*); again: WEIR_TEST_SEED=(\d+)", text)]
        if found:
            return min(found)
        if done.returncode != 0:
            return runs, "it ends by " + (text.strip().splitlines() or ["itself"])[-1].strip()
        if runs >= runs_max:
            return None
        runs = min(runs * 10, runs_max)


def check_texts(root):
    print(f"1..{len(FAULTS)}")
    wrong = 0
    for number, (name, replacements) in enumerate(FAULTS.items(), 1):
        right = True
        for path, old, _ in replacements:
            with open(os.path.join(root, "engine", path), encoding="utf-8") as file:
                times = file.read().count(old)
            if times != 1:
                right = False
                print(f"# {path} has {times} times: {old!r}")
        wrong += not right
        print(f"{'ok' if right else 'not ok'} {number} - {name}")
    return wrong != 0


def main():
    if len(sys.argv) == 2:
        return check_texts(os.path.abspath(sys.argv[1]))
    root, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    runs_max = int(sys.argv[3])
    names = sys.argv[4:] or ["none", *FAULTS]
    unknown = [name for name in names if name != "none" and name not in FAULTS]
    if unknown:
        sys.exit(f"plant.py: no fault is named {unknown[0]}")
    builder = Builder(root, work)
    program = os.path.join(work, "schedules")
    passed = failed = 0
    for name in names:
        builder.build(plant(root, work, FAULTS.get(name, [])), program)
        found = runs_until_found(program, runs_max)
        right = (found is None) == (name == "none")
        passed, failed = passed + right, failed + (not right)
        what = "not found" if found is None else f"{found[0]} runs ({found[1]})"
        print(f"   {name}: {what}{'' if right else '  <-- WRONG'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
