# SPDX-License-Identifier: MIT
"""Faults that a soak has to find: texts of the engine, and what stands there instead.

  soak_faults.py list               names, each with the program that is to find it
  soak_faults.py plant NAME TREE    into the engine of a copy of the source tree
  soak_faults.py                    a test: every text is there, exactly once (TAP)

Program "soak" is the engine as it ships; "soak_points" has points before its accesses to shared
memory, at which threads lose time, and the read side that liburcu has for them.
"""
import pathlib
import sys

FAULTS = {
    'a moved word is not frozen': ('soak_points', 'table/move.h', [
        ('weir_or_acq_rel(&line->word[slot], WEIR_MOVE_FROZEN) & ~WEIR_MOVE_FROZEN',
         'weir_load_acquire(&line->word[slot]) & ~WEIR_MOVE_FROZEN')]),
    'an empty slot is not sealed': ('soak_points', 'table/move.h', [
        ('if (weir_cas_acq_rel(&line->tag[slot], &tag, WEIR_TAG_SEALED))\n            return;',
         'return;'),
        ('if (found == WEIR_SEALED || found == WEIR_NOWHERE)', 'if (found != WEIR_FOUND)')]),
    'the horizon is not raised': ('soak_points', 'table/move.h', [
        ('    weir_max_release(&m->to->horizon, m->now);\n', '')]),
    'the horizon is not inherited': ('soak_points', 'table/move.h', [
        ('weir_store_relaxed(&to->horizon, horizon);', 'weir_store_relaxed(&to->horizon, 0);')]),
    'a late copy counts': ('soak_points', 'table/move.h', [
        ('uint64_t never_used = 0;\n', ''),
        ('weir_cas_acq_rel(weir_search_word(&s), &never_used, word);',
         'weir_store_release(weir_search_word(&s), word);')]),
    'a chunk is done before it is moved': ('soak_points', 'table/move.h', [
        ('    uint64_t left = m->left;\n',
         '    uint64_t left = m->left;\n'
         '    uint64_t flag = (uint64_t)1 << chunk;\n'
         '    bool first = (weir_or_acq_rel(&m->from->done, flag) & flag) == 0;\n'),
        ('    uint64_t flag = (uint64_t)1 << chunk;\n'
         '    if ((weir_or_acq_rel(&m->from->done, flag) & flag) == 0)\n',
         '    if (first)\n')]),
    'a lost claim goes on to the next line': ('soak_points', 'table/array.h', [
        ('            continue; /* the same line again */\n', '')]),
    'a credit is paid before the claim': ('soak_points', 'table/place.h', [
        ('    enum weir_found found =\n'
         '        weir_array_claim(in, e->tag, WEIR_PROBE_LINES, &s, &claimed, &e->move.races);',
         '    weir_credit_pay(e->share, 1);\n'
         '    enum weir_found found =\n'
         '        weir_array_claim(in, e->tag, WEIR_PROBE_LINES, &s, &claimed, &e->move.races);'),
        ('    if (!claimed)\n        weir_place_unreserve(e, in);',
         '    if (!claimed) {\n'
         '        weir_add_relaxed(&e->share->credits, 1);\n'
         '        weir_place_unreserve(e, in);\n'
         '    }'),
        ('    if (claimed) {\n        weir_credit_pay(e->share, 1);\n', '    if (claimed) {\n')]),
    'a refused key is not sealed': ('soak_points', 'table/place.h', [
        ('weir_search_claim(&s, WEIR_TAG_SEALED, &seen))', '(seen = 0) == 0)')]),
    'a store instead of a compare-and-swap': ('soak_points', 'slot/slot.h', [
        ('if (weir_cas_acq_rel(slot, &word, m->mark | step->payload)) /* O1, S4 */\n'
         '            return WEIR_SLOT_DONE;',
         'weir_store_release(slot, m->mark | step->payload);\n'
         '        return WEIR_SLOT_DONE;')]),
    'the generation is not compared': ('soak_points', 'slot/settings.h', [
        ('while (s != NULL && s->generation != generation)',
         'while (s != NULL && generation == 0)')]),
    'what meets a move is not given back': ('soak_points', 'call.h', [
        ('    struct weir_reader reader = weir_call_reader(c);\n'
         '    if (__builtin_expect(word == NULL, 0) ||\n'
         '        __builtin_expect(weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step) !=\n'
         '                             WEIR_SLOT_DONE,\n'
         '                         0))\n',
         '    struct weir_reader reader = weir_call_reader(c);\n'
         '    enum weir_slot what = WEIR_SLOT_FRESH;\n'
         '    if (word != NULL)\n'
         '        what = weir_slot_apply(word, &c->s->meter, &reader, op, &c->at, &c->step);\n'
         '    if (what == WEIR_SLOT_FROZEN && op->verb == WEIR_REFUND)\n'
         '        c->step.count = op->n;\n'
         '    else if (what != WEIR_SLOT_DONE)\n')]),
    'a quick decision stores': ('soak', 'quick.c', [
        ('bool granted = weir_cas_acq_rel(word, &seen, m->mark | *payload); /* slot.h, O1, S4 */',
         'bool granted = (weir_store_release(word, m->mark | *payload), seen != 0);')]),
    'a roll-back is wrong by one': ('soak_points', 'all.c', [
        ('.verb = WEIR_UNDO, .n = e->n,', '.verb = WEIR_UNDO, .n = e->n - (e->n > 1),')]),
    'who leaves the line wakes nobody': ('soak_points', 'waiters.c', [
        ('const struct weir_atomic_u32 *woken = rouse_if_it_fits(w, next);',
         'const struct weir_atomic_u32 *woken = NULL;\n    (void)w;\n    (void)next;')]),
    'who waits does not look again': ('soak_points', 'waiters.c', [
        ('            weir_exchange_acq_rel_u32(&waiter.state, ASLEEP);\n'
         '            got = wanted->try(wanted->context);\n',
         '            weir_exchange_acq_rel_u32(&waiter.state, ASLEEP);\n')]),
    'a call is in no read section': ('soak_points', 'rcu.h', [
        ('        weir_read_register();\n    urcu_bp_read_lock();\n',
         '        weir_read_register();\n'),
        ('    urcu_bp_read_unlock();\n', '')]),
}


def planted(name, engine):
    """The text of the fault's file with the fault; raises where a text is not there once."""
    _, path, replacements = FAULTS[name]
    text = (engine / path).read_text()
    for old, new in replacements:
        if text.count(old) != 1:
            raise ValueError(f'{path} has {text.count(old)} times: {old}')
        text = text.replace(old, new)
    return path, text


def check(engine):
    failures = 0
    print(f'1..{len(FAULTS)}')
    for number, name in enumerate(FAULTS, 1):
        try:
            planted(name, engine)
            print(f'ok {number} - {name}')
        except ValueError as error:
            print(*(f'# {line}' for line in str(error).splitlines()), sep='\n')
            print(f'not ok {number} - {name}')
            failures += 1
    return failures != 0


def main(arguments):
    if arguments == ['list']:
        for name, (program, _, _) in FAULTS.items():
            print(f'{program} {name}')
        return 0
    if len(arguments) == 3 and arguments[0] == 'plant':
        engine = pathlib.Path(arguments[2]) / 'engine'
        path, text = planted(arguments[1], engine)
        (engine / path).write_text(text)
        return 0
    return check(pathlib.Path(__file__).resolve().parents[2] / 'engine')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
