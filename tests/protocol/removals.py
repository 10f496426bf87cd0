#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes one protection of the protocol away at a time, and sees that the model checker finds out.

usage: removals.py [-e ENGINE] [-i INCLUDE] [-o FOLDER] [-j] [-q] [-s] [-p I/N] [NAME ...]

Each removal replaces text in a copy of the engine; text that is not there exactly once is an error,
so that the list follows the code. SEEN (seen.py) says in which case, with which bounds, each is
found; or why it cannot be, and then nothing may be found. Prints one line of TAP for each.

  -j      only compares the text
  -q      only those that are found within a second
  -s      searches for the cheapest case of each, and prints it as a line of seen.py
  -p I/N  only each N-th removal, from the I-th on
  NAME    only removals whose name contains it
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

from seen import SEEN

HERE = os.path.dirname(os.path.abspath(__file__))

# Cases, preemptions, delays, seconds: what a search tries, in turn.
SEARCH = [(['scenarios'], 1, 1, 60), (['matrix'], 1, 1, 300), (['scenarios'], 2, 0, 300)]

# What is tried of those that cannot be seen: the same effort for all.
UNSEEN = [(['scenarios'], 1, 1, 300), (['matrix'], 1, 0, 300)]

MOVE, ARRAY, PLACE = 'table/move.h', 'table/array.h', 'table/place.h'
SHARD, CREDIT, SLOT, TABLE = 'table/shard.h', 'table/credit.h', 'slot/slot.h', 'table/table.h'
SETTINGS, CALL, CALLS, JUDGE = 'slot/settings.h', 'call.c', 'call.h', 'place.c'
LIMITER, QUICK = 'limiter.h', 'quick.c'
MATRIX, WORLD = 'protocol/matrix.h', 'protocol/world.h' # what stands for limits.c and change.c

REMOVALS = []


def removal(name, file=None, old=None, new=None, flags=(), more=()):
    """In `file` the text `old` becomes `new`, and so on for what is in `more`."""
    edits = ([(file, old, new)] if file else []) + list(more)
    REMOVALS.append((name, edits, list(flags)))


# ---- what the protocol does ----
removal('freeze', MOVE,
        'weir_or_acq_rel(&line->word[slot], WEIR_MOVE_FROZEN) & ~WEIR_MOVE_FROZEN',
        'weir_load_acquire(&line->word[slot]) & ~WEIR_MOVE_FROZEN')
removal('horizon: raise', MOVE, '    weir_max_release(&m->to->horizon, m->now);\n', '')
removal('horizon: inherit', MOVE, 'weir_store_relaxed(&to->horizon, horizon)',
        'weir_store_relaxed(&to->horizon, 0)')
removal('horizon: begin there', ARRAY,
        'return horizon > now && horizon - now <= stale_max ? horizon : now;', 'return now;')
removal('root rule (O4): room in the next array', PLACE,
        '''    if (in == root)
        return WEIR_PLACED;
    weir_shard_finish(e);
    return WEIR_AGAIN;
''', '''    return WEIR_PLACED;
''', more=[(PLACE, '    if (weir_shard_grow(e, root))', '    if (weir_shard_grow(e, in))')])
removal('own key first', PLACE, '    weir_move_key(&e->move, e->tag);\n', '')
removal('seal of empty slots', MOVE,
        '''        if (weir_cas_acq_rel(&line->tag[slot], &tag, WEIR_TAG_SEALED))
            return;
''', '        return;\n', more=[(MOVE, 'if (now_there == WEIR_TAG_SEALED || now_there == tag)',
                               'if (now_there == WEIR_TAG_EMPTY || now_there == tag)')])
removal('refusal looks again', PLACE, '        return weir_place_refuse(e, packed, p);',
        '        return WEIR_REFUSED;')
removal('refusal in a root only', PLACE,
        '''    weir_shard_finish(e);
    return WEIR_AGAIN;
}

/* A key of a shard''', '''    return WEIR_REFUSED;
}

/* A key of a shard''')
removal('refusal: is the array still the root?', PLACE,
        'return weir_place_is_current(e, packed) ? WEIR_REFUSED : WEIR_AGAIN;\n    }',
        'return WEIR_REFUSED;\n    }')
removal('pay after the claim', PLACE,
        '''    enum weir_found found =
        weir_array_claim(in, e->tag''', '''    weir_credit_pay(e->share, 1);
    enum weir_found found =
        weir_array_claim(in, e->tag''',
        more=[(PLACE, '''    if (!claimed)
        weir_place_unreserve(e, in);
''', '''    if (!claimed) {
        weir_credit_pay(e->share, (uint64_t)-1);
        weir_place_unreserve(e, in);
    }
'''), (PLACE, '''    if (claimed) {
        weir_credit_pay(e->share, 1);
''', '''    if (claimed) {
''')])
removal('first copy counts', MOVE,
        'weir_cas_acq_rel(weir_search_word(&s), &never_used, word);',
        'weir_store_relaxed(weir_search_word(&s), word), (void)never_used;')
removal('a lost claim looks at the slot again', ARRAY, '            continue; /* the same line again */\n',
        '')
removal('swing when all is done', SHARD, '    if (!weir_move_is_done(&e->move))\n        return;\n', '')
removal('credits: paid back when a claim is lost', PLACE,
        '    if ((weir_add_relaxed(&in->fresh, (uint64_t)-1) & WEIR_LEFT) != 0)\n        weir_credit_pay(e->share, 1);',
        '    weir_add_relaxed(&in->fresh, (uint64_t)-1);\n    (void)e;')
removal('credits: dealt before they are taken', CREDIT,
        '    weir_add_relaxed(&share->credits, block);\n    while', '    while',
        more=[(CREDIT, 'weir_add_relaxed(&share->credits, dealt - block);', 'weir_add_relaxed(&share->credits, dealt);'),
              (CREDIT, '    weir_add_relaxed(&share->credits, 0 - block);\n    return false;', '    return false;')])

removal('root rule (O4)', flags=['-DWITHOUT_ROOT_RULE'])
removal('seal of a refused key', PLACE,
        '''if (found != WEIR_EMPTY || s.lines > WEIR_PROBE_LINES ||
            weir_search_claim(&s, WEIR_TAG_SEALED, &seen))''', 'if (true)')
removal('close (O5)', SHARD, '    weir_or_acq_rel(&root->fresh, WEIR_CLOSED);\n', '')
removal('pause while it is tried for size (O5)', SHARD,
        'weir_or_acq_rel(&root->fresh, WEIR_PAUSED)', 'weir_or_acq_rel(&root->fresh, 0)')
removal('count at once (O5)', MOVE, '        weir_move_count(m);\n', '        m->later++;\n',
        more=[(MOVE, '    uint64_t races;   /* claims that it lost */\n',
               '    uint64_t races;\n    uint64_t later;\n'),
              (MOVE, '    uint64_t flag = (uint64_t)1 << chunk;\n',
               '''    for (; m->later != 0; m->later--)
        weir_move_count(m);
    uint64_t flag = (uint64_t)1 << chunk;
'''), (SHARD, ' && \n                weir_shard_tags(root) <= weir_order_full(order)'.replace('& \n', '&\n'), '')])
removal('who comes late stops (O5)', MOVE, '    if (m->ended)\n        return; /* O4 */\n', '')
removal('size (O5): fits', SHARD,
        '''weir_array_count(root) <= weir_order_full(order) &&
                weir_shard_tags(root) <= weir_order_full(order)''', 'true')
removal('size (O5): beside what is to come', PLACE,
        'in == root ? weir_load_relaxed(&in->moved) & WEIR_COUNT_MASK : weir_array_count(root)',
        'in == root ? weir_load_relaxed(&in->moved) & WEIR_COUNT_MASK : 0')
removal('credits: owed, led to', MOVE, '''    if (led_to && !led_on)
        m->owed++;
    else if''', '    if')
removal('credits: owed, led on', MOVE, '        m->owed--;\n', '        (void)0;\n')
removal('credits: returned before they are taken', CREDIT,
        '''        weir_add_release(&t->unspent, block);
        /* Release: who finds none left finds the block unspent. */
        credits = weir_add_release(&share->credits, 0 - block) - block;
''', '''        credits = weir_add_release(&share->credits, 0 - block) - block;
        weir_add_release(&t->unspent, block);
''')

# ---- orders ----
removal('order: claim of a tag', ARRAY, 'return weir_cas_acq_rel(&s->line->tag[s->slot], seen, tag);',
        'return weir_cas_relaxed(&s->line->tag[s->slot], seen, tag);')
removal('order: search for a tag', ARRAY, 'weir_load_acquire(&line->tag[s->slot])',
        'weir_load_relaxed(&line->tag[s->slot])')
removal('order: seal', MOVE, 'weir_cas_acq_rel(&line->tag[slot], &tag, WEIR_TAG_SEALED)',
        'weir_cas_relaxed(&line->tag[slot], &tag, WEIR_TAG_SEALED)')
removal('order: tag in a move', MOVE, 'weir_load_acquire(&line->tag[slot]); /* pairs',
        'weir_load_relaxed(&line->tag[slot]); /* pairs')
removal('order: freeze', MOVE, 'weir_or_acq_rel(&line->word[slot], WEIR_MOVE_FROZEN)',
        'weir_or_relaxed(&line->word[slot], WEIR_MOVE_FROZEN)')
removal('order: copy of a word', MOVE, 'weir_cas_acq_rel(weir_search_word(&s), &never_used, word)',
        'weir_cas_relaxed(weir_search_word(&s), &never_used, word)')
removal('order: decision on a word', SLOT,
        'if (weir_cas_acq_rel(slot, &word, m->mark | step->payload)) /* O1, S4 */',
        'if (weir_cas_relaxed(slot, &word, m->mark | step->payload)) /* O1, S4 */')
removal('order: load of a word', SLOT, 'weir_load_acquire(slot); /* O1 */',
        'weir_load_relaxed(slot); /* O1 */')
removal('order: first use of a word', SLOT,
        'weir_cas_acq_rel(slot, &never_used, m->mark | step->payload); /* O1 */',
        'weir_cas_relaxed(slot, &never_used, m->mark | step->payload); /* O1 */')
removal('order: loading the done flags', MOVE,
        'return weir_load_acquire(&m->from->done) == weir_move_all_done(m);',
        'return weir_load_relaxed(&m->from->done) == weir_move_all_done(m);')
removal('order: swing of the shard', SHARD,
        'weir_cas_acq_rel(&e->t->words[e->shard], &packed, weir_array_pack(to))',
        'weir_cas_relaxed(&e->t->words[e->shard], &packed, weir_array_pack(to))')
removal('order: moving bit', SHARD,
        'weir_cas_acq_rel(&e->t->words[e->shard], &packed, packed | WEIR_ARRAY_MOVING)',
        'weir_cas_relaxed(&e->t->words[e->shard], &packed, packed | WEIR_ARRAY_MOVING)')
removal('order: first array of a shard', SHARD,
        'weir_cas_acq_rel(&e->t->words[e->shard], &none, weir_array_pack(a))',
        'weir_cas_relaxed(&e->t->words[e->shard], &none, weir_array_pack(a))')
removal('order: shard, closer look', PLACE,
        'uint64_t packed = weir_load_acquire(&e->t->words[e->shard]);',
        'uint64_t packed = weir_load_relaxed(&e->t->words[e->shard]);')
removal('order: shard, is it current', PLACE,
        'return weir_load_acquire(&e->t->words[e->shard]) == packed;',
        'return weir_load_relaxed(&e->t->words[e->shard]) == packed;')
removal('order: publication of next', MOVE,
        'weir_cas_acq_rel(&from->next, &none, weir_array_pack(to))',
        'weir_cas_relaxed(&from->next, &none, weir_array_pack(to))')
removal('order: following next', SHARD, 'weir_load_acquire(&a->next)', 'weir_load_relaxed(&a->next)')
removal('order: raising the horizon', MOVE, 'weir_max_release(&m->to->horizon',
        'weir_max_relaxed(&m->to->horizon')
removal('order: beginning at the horizon', ARRAY, 'weir_load_acquire(&a->horizon)',
        'weir_load_relaxed(&a->horizon)')
removal('order: inheriting the horizon', MOVE, 'weir_load_acquire(&from->horizon)',
        'weir_load_relaxed(&from->horizon)')
removal('order: led on (ROOT)', SHARD, 'weir_or_acq_rel(&to->moved, WEIR_ROOT)',
        'weir_or_relaxed(&to->moved, WEIR_ROOT)')
removal('order: led on (LEFT)', SHARD, 'weir_or_acq_rel(&from->fresh, WEIR_LEFT)',
        'weir_or_relaxed(&from->fresh, WEIR_LEFT)',
        more=[(SHARD, 'weir_or_acq_rel(&from->moved, WEIR_LEFT)',
               'weir_or_relaxed(&from->moved, WEIR_LEFT)')])
removal('order: seeing that it is closed', PLACE, '            weir_load_acquire(&in->fresh);\n', '')
removal('order: paying a credit', CREDIT, 'weir_add_release(&share->credits, 0 - n)',
        'weir_add_relaxed(&share->credits, 0 - n)')
removal('order: looking for a credit', CREDIT, 'weir_load_acquire(&share->credits)',
        'weir_load_relaxed(&share->credits)')
removal('order: dealing credits', CREDIT,
        'weir_cas_acq_rel(&t->unspent, &unspent, unspent - dealt)',
        'weir_cas_relaxed(&t->unspent, &unspent, unspent - dealt)')
removal('order: looking for unspent credits', CREDIT,
        'uint64_t unspent = weir_load_acquire(&t->unspent);',
        'uint64_t unspent = weir_load_relaxed(&t->unspent);')
removal('order: raising the reach', ARRAY, 'weir_max_release(&a->reach', 'weir_max_relaxed(&a->reach')
removal('order: loading the reach', ARRAY, 'weir_load_acquire(&a->reach)',
        'weir_load_relaxed(&a->reach)')
removal('reach: raised before the claim', ARRAY,
        '''            if (s->lines > WEIR_PROBE_LINES)
                weir_max_release(&a->reach, s->lines); /* before the tag is there to be found */
            *claimed = weir_search_claim(s, tag, &seen);
            if (*claimed)
                return WEIR_FOUND;
''', '''            *claimed = weir_search_claim(s, tag, &seen);
            if (*claimed && s->lines > WEIR_PROBE_LINES)
                weir_max_release(&a->reach, s->lines);
            if (*claimed)
                return WEIR_FOUND;
''')

removal('order: setting of a done flag', MOVE, 'weir_or_acq_rel(&m->from->done, flag)',
        'weir_or_relaxed(&m->from->done, flag)')
removal('order: closing', SHARD, 'weir_or_acq_rel(&root->fresh, WEIR_CLOSED)',
        'weir_or_relaxed(&root->fresh, WEIR_CLOSED)')
removal('order: pausing', SHARD, 'weir_or_acq_rel(&root->fresh, WEIR_PAUSED)',
        'weir_or_relaxed(&root->fresh, WEIR_PAUSED)')
removal('order: shard, quick search', TABLE, 'weir_load_acquire(&t->words[shard])',
        'weir_load_relaxed(&t->words[shard])')
removal('order: returning credits', CREDIT,
        'credits = weir_add_release(&share->credits, 0 - block)',
        'credits = weir_add_relaxed(&share->credits, 0 - block)')
removal('order: returned credits', CREDIT, 'weir_add_release(&t->unspent, block)',
        'weir_add_relaxed(&t->unspent, block)')
removal('order: choosing a chunk', MOVE, '~weir_load_acquire(&m->from->done)',
        '~weir_load_relaxed(&m->from->done)')



# ---- settings ----
removal('generation of a word', SETTINGS, 's != NULL && s->generation != generation',
        's != NULL && false')
removal('mark of a payload', SLOT, 'if (__builtin_expect(*payload <= m->span, 1))',
        '*payload &= WEIR_PAYLOAD_MAX;\n    if (word != 0 && (word & WEIR_WORD_FROZEN) == 0)')
removal('re-pricing', SETTINGS, 'payload = weir_settings_reprice(last, payload, older, is_slot);',
        '(void)last;')
removal('re-basing', SETTINGS,
        'payload = weir_algorithm_rebase(&last->meter, payload, steps, last->born);',
        '(void)steps;')
removal('settings are read again', CALL,
        'reader->newest = next == c->s || (c->s == c->aside && next == c->s->previous);',
        'reader->newest = true;')
removal('settings are read again by a move', JUDGE, 'if (next == s)', 'if (true)')
removal('a clock before a change', SLOT,
        'return *payload == 0 && reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;',
        'return WEIR_SLOT_DONE;', more=[
            (SLOT, """    if (weir_settings_translate(reader->settings, word, payload))
        return reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;""",
             """    if (weir_settings_translate(reader->settings, word, payload))
        return WEIR_SLOT_DONE;""")])
removal('settings of a limit that is closing', LIMITER,
        'return s != NULL ? s : weir_pointer_load_acquire(&l->closing);', 'return s;')
removal('removal: calls have ended before moves forget', MATRIX,
        """    closed = true;
    if (!world_grace_period())
        return;
""", '    closed = true;\n')
removal('removal: moves have ended before the id is used', MATRIX,
        """    weir_pointer_store_release(&limit->closing, none);
    if (!world_grace_period())
        return;
""", '    weir_pointer_store_release(&limit->closing, none);\n')
removal('removal: another generation', MATRIX,
        'world_settings(2, world_bucket(WORLD_TOKEN), 2, 0);',
        'world_settings(2, world_bucket(WORLD_TOKEN), 1, 0);')
removal('order: publication of settings', WORLD,
        'return weir_pointer_cas_acq_rel(&limit->settings', 'return weir_pointer_cas_relaxed(&limit->settings')
removal('order: settings of a call', LIMITER,
        'return weir_pointer_load_acquire(&l->settings) != NULL ? l : NULL;',
        'return weir_pointer_load_relaxed(&l->settings) != NULL ? l : NULL;',
        more=[(CALLS, 'c->s = weir_pointer_load_acquire(&c->l->settings); /*',
               'c->s = weir_pointer_load_relaxed(&c->l->settings); /*')])
removal('order: settings of a call, once', CALLS,
        'c->s = weir_pointer_load_acquire(&c->l->settings); /*',
        'c->s = weir_pointer_load_relaxed(&c->l->settings); /*')
removal('order: settings of a quick call', QUICK,
        'const struct weir_settings *s = weir_pointer_load_acquire(&w->limits[(unsigned)limit].settings);',
        'const struct weir_settings *s = weir_pointer_load_relaxed(&w->limits[(unsigned)limit].settings);')
removal('order: settings of a move', LIMITER,
        'struct weir_settings *s = weir_pointer_load_acquire(&l->settings);\n    return s',
        'struct weir_settings *s = weir_pointer_load_relaxed(&l->settings);\n    return s')
removal('order: settings of a limit that is closing', LIMITER,
        'weir_pointer_load_acquire(&l->closing)', 'weir_pointer_load_relaxed(&l->closing)')
removal('order: closing of a limit', MATRIX, 'weir_pointer_store_release(&limit->closing, last);',
        'weir_checked_pointer_store(&limit->closing, last, rl::mo_relaxed);')
removal('order: quick load of a word', QUICK,
        """    uint64_t seen = weir_load_acquire(word); /* slot.h, O1 */
    *payload = seen""", """    uint64_t seen = weir_load_relaxed(word);
    *payload = seen""")
removal('order: quick decision on a word', QUICK,
        """    bool granted = weir_cas_acq_rel(word, &seen, m->mark | *payload); /* slot.h, O1, S4 */""",
        """    bool granted = weir_cas_relaxed(word, &seen, m->mark | *payload);""")

# ---- words ----
removal('check and charge are one step', SLOT,
        'if (weir_cas_acq_rel(slot, &word, m->mark | step->payload)) /* O1, S4 */',
        'if (weir_store_relaxed(slot, m->mark | step->payload), true)')
removal('check and charge are one step: quick', QUICK,
        'bool granted = weir_cas_acq_rel(word, &seen, m->mark | *payload); /* slot.h, O1, S4 */',
        'bool granted = true;\n    weir_store_relaxed(word, m->mark | *payload);', more=[
            (QUICK, 'bool granted = weir_cas_acq_rel(word, &seen, m->mark | payload); /* slot.h, O1, S4 */',
             'bool granted = true;\n    weir_store_relaxed(word, m->mark | payload);')])
removal('first use is one step', SLOT,
        'return !step->write || weir_cas_acq_rel(slot, &never_used, m->mark | step->payload); /* O1 */',
        'if (step->write)\n        weir_store_relaxed(slot, m->mark | step->payload);\n    return true;')
removal('a frozen word is not used', SLOT,
        """    if ((word & WEIR_WORD_FROZEN) != 0)
        return WEIR_SLOT_FROZEN;
""", '    word &= ~WEIR_WORD_FROZEN;\n')
removal('done flag: who has done the chunk counts', MOVE,
        'if ((weir_or_acq_rel(&m->from->done, flag) & flag) == 0)\n        m->dropped += m->left - left;',
        'weir_or_acq_rel(&m->from->done, flag);\n    m->dropped += m->left - left;')
removal('done flag: chunks that nobody ends are done again', MOVE,
        '    *again = true;\n', '    return false;\n    *again = true;\n')


def remove(engine, folder, edits):
    """A copy of the engine without the protection; or what is wrong with the list."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(engine, folder, ignore=shutil.ignore_patterns('cli', 'man'))
    shutil.copytree(HERE, os.path.join(folder, 'protocol'),
                    ignore=shutil.ignore_patterns('__pycache__'))
    for file, old, new in edits:
        path = os.path.join(folder, file)
        with open(path, encoding='utf-8') as f:
            text = f.read()
        if text.count(old) != 1:
            return '%d times in %s: %s' % (text.count(old), file, old.strip()[:60])
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text.replace(old, new))
    return None


def build(folder, include, flags, out):
    """Builds in seconds rather than for speed: most faults are found at once."""
    command = ['g++', '-std=c++11', '-O1' if '-O1' in flags else '-O0', '-DNDEBUG', '-fpermissive',
               '-w', '-U__SSE2__', '-D_Static_assert=static_assert',
               '-I' + os.path.join(folder, 'protocol'), '-I' + folder, '-I' + include]
    source = os.path.join(folder, 'protocol', 'protocol.cc')
    return subprocess.run(command + flags + [source, '-o', out], check=False).returncode == 0


def run(program, cases, preemptions, delays, limit):
    """The line of the first case that fails, without its number; '': none does; None: not all was
    looked at in time."""
    command = [program] + cases + ['-x', '-b', str(preemptions), '-d', str(delays)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode < 0:
        return 'the program ends by signal %d' % -done.returncode
    failed = [line for line in done.stdout.split('\n') if line.startswith('not ok')]
    if failed:
        return failed[0].split(' - ', 1)[1]
    return '' if done.returncode == 0 and '\nok ' in '\n' + done.stdout else None


def search(program, name):
    """Prints where a removal is found, as a line of seen.py."""
    for cases, preemptions, delays, limit in SEARCH:
        line = run(program, cases, preemptions, delays, limit)
        if line:
            print('    %r: (%r, %d, %d),  # %s' % (name, line.split(' ')[0], preemptions, delays,
                                                   line.split(' fails ', 1)[-1]), flush=True)
            return
    print('    %r: %r,' % (name, 'NOT SEEN'), flush=True)


def judge(program, name):
    """Whether a removal does as it is said to; and what came of it."""
    seen = SEEN.get(name)
    if seen is None:
        return False, 'seen.py does not say where it is seen'
    if isinstance(seen, str):
        for cases, preemptions, delays, limit in UNSEEN:
            line = run(program, cases, preemptions, delays, limit)
            if line:
                return False, 'expected not to be seen (%s); but: %s' % (seen, line)
            if line is None:
                return False, 'not all was looked at in %d s: %s' % (limit, ' '.join(cases))
        return True, 'expected not to be seen, and is not: ' + seen
    case, preemptions, delays = seen[:3]
    line = run(program, [case], preemptions, delays, 600)
    if not line:
        return False, 'NOT SEEN in %s -b %d -d %d' % (case, preemptions, delays)
    return True, '%s (-b %d -d %d)' % (line, preemptions, delays)


def is_quick(name):
    """Whether seen.py says that it is found at once."""
    seen = SEEN.get(name)
    return isinstance(seen, tuple) and len(seen) == 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-e', dest='engine', default=os.path.join(HERE, '../../engine'))
    parser.add_argument('-i', dest='include', default=os.path.join(HERE, '../../include'))
    parser.add_argument('-o', dest='out', default='.build/removals')
    parser.add_argument('-j', dest='only_text', action='store_true')
    parser.add_argument('-q', dest='quick', action='store_true')
    parser.add_argument('-s', dest='search', action='store_true')
    parser.add_argument('-p', dest='part', default='0/1')
    parser.add_argument('names', nargs='*')
    options = parser.parse_args()
    part, parts = (int(number) for number in options.part.split('/'))
    os.makedirs(options.out, exist_ok=True)
    folder = os.path.join(options.out, 'engine')
    program = os.path.join(options.out, 'protocol')
    chosen = [r for r in REMOVALS if (not options.names or any(n in r[0] for n in options.names)) and
              (not options.quick or is_quick(r[0]))]
    wrong = 0
    for number, (name, edits, flags) in enumerate(chosen[part::parts], 1):
        began = time.time()
        what = remove(options.engine, folder, edits)
        right = what is None
        if options.only_text:
            what = what or 'the text is there'
        elif right:
            slow = options.search or not is_quick(name)
            right = build(folder, options.include, flags + (['-O1'] if slow else []), program)
            if not right:
                what = 'DOES NOT BUILD'
            elif options.search:
                search(program, name)
                continue
            else:
                right, what = judge(program, name)
        wrong += not right
        print('%s %d - without %s -- %s, %.1f s in all' % ('ok' if right else 'not ok', number, name, what,
                                                 time.time() - began), flush=True)
    if options.only_text:
        print('1..%d' % len(chosen[part::parts]))
    return wrong != 0


if __name__ == '__main__':
    sys.exit(main())
