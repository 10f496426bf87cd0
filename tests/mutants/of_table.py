# SPDX-License-Identifier: MIT
"""Faults of concurrency below the calls: slots, generations, the table's moves, bounds."""
from mutant import Mutant

SLOT = 'slot/slot.h'
SETTINGS = 'slot/settings.h'
ARRAY = 'table/array.h'
MOVE = 'table/move.h'
PLACE = 'table/place.h'
SHARD = 'table/shard.h'
CREDIT = 'table/credit.h'

MUTANTS = [
    # ---- one word ----
    Mutant('slot_swap_is_a_store', SLOT,
           '''        if (weir_cas_acq_rel(slot, &word, m->mark | step->payload)) /* O1, S4 */
            return WEIR_SLOT_DONE;
        weir_pause(&losses);''',
           '''        (void)losses;
        weir_store_release(slot, m->mark | step->payload);
        return WEIR_SLOT_DONE;''',
           'K15 S4', 'stress/ledger_kinds stress/churn stress/schedules'),
    Mutant('slot_first_swap_is_a_store', SLOT,
           'return !step->write || weir_cas_acq_rel(slot, &never_used, m->mark | step->payload); '
           '/* O1 */',
           '''(void)never_used;
    if (step->write)
        weir_store_release(slot, m->mark | step->payload);
    return true;''',
           'K14 S1', 'unit/stopped unit/slot stress/burst'),
    Mutant('slot_unused_is_said_of_any_word', SLOT,
           'if (reader->newest && reader->unknown == word)',
           'if (reader->newest)',
           'K15', 'unit/slot'),
    Mutant('slot_unknown_word_is_unused', SLOT,
           '''    reader->unknown = word;
    return WEIR_SLOT_UNKNOWN;''',
           '''    reader->unknown = word;
    return reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;''',
           'S5', 'unit/slot stress/changes'),
    Mutant('slot_frozen_word_is_changed', SLOT,
           '''    if ((word & WEIR_WORD_FROZEN) != 0)
        return WEIR_SLOT_FROZEN;
''',
           '''    word &= ~WEIR_WORD_FROZEN;
    *payload = word - m->mark;
    if (*payload <= m->span)
        return WEIR_SLOT_DONE;
    *payload = 0;
''',
           'K28 S3', 'unit/slot unit/stopped stress/growth'),
    Mutant('slot_foreign_word_is_believed', SLOT,
           '''    *payload = 0;
    if (reader->settings == NULL)
        return WEIR_SLOT_DONE;''',
           '''    if (reader->settings == NULL)
        return WEIR_SLOT_DONE;
    *payload = 0;''',
           'K29', 'unit/slot property/total'),
    Mutant('slot_change_is_not_the_beginning', SLOT,
           '    if (weir_settings_translate(reader->settings, word, payload))\n'
           '        return reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;',
           '    if (weir_settings_translate(reader->settings, word, payload))\n'
           '        return WEIR_SLOT_DONE;',
           'K16', 'property/window_kinds property/changes stress/changes_mixed'),
    Mutant('slot_unused_is_not_early', SLOT,
           'return *payload == 0 && reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;',
           'return WEIR_SLOT_DONE;',
           'S1', 'property/changes stress/changes_mixed unit/origin'),
    Mutant('slot_unknown_is_not_early', SLOT,
           '''    if (reader->newest && reader->unknown == word)
        return reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;''',
           '''    if (reader->newest && reader->unknown == word)
        return WEIR_SLOT_DONE;''',
           'S1', 'property/changes stress/changes_mixed'),
    Mutant('slot_longest_wait_not_told', SLOT,
           '(step->wait | op->early) != 0 &&',
           'op->early != 0 &&',
           'K20', 'property/window_clocks'),
    # ---- generations ----
    Mutant('generation_not_compared', SETTINGS,
           'while (s != NULL && s->generation != generation)',
           'while (s != NULL && s->generation == 0)',
           'S5', 'unit/slot unit/origin property/changes'),
    Mutant('generation_in_use_is_given_out', 'origin.c',
           'if ((taken & (uint32_t)1 << generation) == 0)',
           'if (generation != last || taken == 0)',
           'O3', 'unit/remove unit/origin property/changes'),
    Mutant('chain_sums_no_steps', SETTINGS,
           'weir_i128 steps = (weir_i128)last->steps - older->steps;',
           'weir_i128 steps = last != older;',
           'K20 S5', 'property/clock_jumps unit/origin'),
    Mutant('chain_jumps_one_by_one', SETTINGS,
           '''        while (length != 0 && path->newer[length - 1]->serial == older->serial)
            last = path->newer[--length];''',
           '''        if (length != 0 && path->newer[length - 1]->serial == older->serial)
            last = path->newer[--length];''',
           'K20', 'property/clock_jumps unit/origin stress/sweep'),
    # ---- claims ----
    Mutant('claim_lost_slot_is_passed_over', ARRAY,
           '            ++*races;\n            continue; /* the same line again */',
           '            ++*races;',
           'K28 S3', 'unit/table unit/stopped stress/schedules'),
    Mutant('claim_swap_is_a_store', ARRAY,
           'return weir_cas_acq_rel(&s->line->tag[s->slot], seen, tag);',
           '''weir_store_release(&s->line->tag[s->slot], tag);
    return true;''',
           'K28 S3', 'unit/table unit/stopped stress/schedules'),
    Mutant('search_ends_at_64_lines', ARRAY,
           '''        if (s->lines == end)
            end = weir_array_reach(a, lines);
''',
           '',
           'K25', 'unit/table'),
    Mutant('reach_not_raised', ARRAY,
           '''            if (s->lines > WEIR_PROBE_LINES)
                weir_max_release(&a->reach, s->lines); /* before the tag is there to be found */
''',
           '',
           'K25', 'unit/table'),
    Mutant('search_does_not_go_round', ARRAY,
           '''            return WEIR_NOWHERE;
        at = at + 1 < lines ? at + 1 : 0;''',
           '''            return WEIR_NOWHERE;
        if (++at == lines)
            return WEIR_NOWHERE;''',
           'K28', 'unit/table unit/place'),
    # ---- moves ----
    Mutant('move_does_not_freeze', MOVE,
           'uint64_t word = weir_or_acq_rel(&line->word[slot], WEIR_MOVE_FROZEN) & ~WEIR_MOVE_FROZEN;',
           'uint64_t word = weir_load_acquire(&line->word[slot]);',
           'S3 S5', 'unit/stopped stress/schedules stress/growth'),
    Mutant('move_does_not_seal', MOVE,
           '        if (weir_cas_acq_rel(&line->tag[slot], &tag, WEIR_TAG_SEALED))\n            return;',
           '        return;',
           'K28 S3', 'unit/move stress/schedules'),
    Mutant('move_copies_over_what_is_there', MOVE,
           'weir_cas_acq_rel(weir_search_word(&s), &never_used, word);',
           '(void)never_used;\n    weir_store_release(weir_search_word(&s), word);',
           'K28 S5', 'unit/move stress/schedules'),
    Mutant('move_leaves_the_key_for_later', MOVE,
           '        weir_move_slot(m, s.line, s.slot);\n        if (found == WEIR_FOUND)\n            break;',
           '        if (found == WEIR_FOUND)\n            break;\n        weir_move_slot(m, s.line, s.slot);',
           'S3', 'unit/move stress/schedules'),
    Mutant('move_absent_slot_not_looked_at_again', MOVE,
           '        if (now_there == WEIR_TAG_SEALED || now_there == tag)\n            break;',
           '        (void)now_there;\n        break;',
           'K28', 'unit/move stress/schedules'),
    Mutant('move_done_before_it_is', MOVE,
           'return weir_load_acquire(&m->from->done) == weir_move_all_done(m);',
           'return weir_load_acquire(&m->from->done) != 0;',
           'K28 S5', 'unit/move unit/replace stress/schedules'),
    Mutant('move_chunk_without_its_last_line', MOVE,
           'for (uint64_t i = begin; i < end && i < lines; i++) {',
           'for (uint64_t i = begin; i + 1 < end && i < lines; i++) {',
           'S5', 'unit/move stress/schedules'),
    Mutant('move_takes_no_chunk_twice', MOVE,
           '    if (undone == 0)\n        return false;',
           '    if (undone == 0 || weir_load_relaxed(&m->from->chunks) >= chunks)\n        return false;',
           'P1 S5', 'unit/move stress/schedules'),
    Mutant('move_drops_older_words', 'place.c',
           '        if (weir_settings_translate(s, *word, &payload))\n            break;',
           '        if (weir_word_generation(*word) == 0)\n            break;',
           'S5', 'property/changes unit/origin stress/sweep'),
    Mutant('root_rule_broken', PLACE,
           '    if (in == root)\n        return WEIR_PLACED;\n    weir_shard_finish(e);',
           '    return WEIR_PLACED;\n    weir_shard_finish(e);',
           'O4 S5', 'stress/schedules unit/replace unit/move'),
    Mutant('size_rule_broken', PLACE,
           'in == root ? weir_load_relaxed(&in->moved) & WEIR_COUNT_MASK : weir_array_count(root);',
           'in == root ? weir_load_relaxed(&in->moved) & WEIR_COUNT_MASK : 0;',
           'O5', 'unit/replace stress/schedules'),
    Mutant('shrink_counts_no_stopped_claims', SHARD,
           '''weir_array_count(root) <= weir_order_full(order) &&
                weir_shard_tags(root) <= weir_order_full(order);''',
           'true;',
           'K28 O5', 'unit/replace unit/stopped'),
    Mutant('closed_array_takes_keys', PLACE,
           '*closed = (fresh & (WEIR_CLOSED | WEIR_PAUSED)) != 0;',
           '*closed = false;',
           'O5', 'unit/replace unit/stopped stress/schedules'),
    Mutant('paused_array_counts_as_full', PLACE,
           'return in != root ? WEIR_AGAIN : weir_place_reopen(e, root);',
           'return in != root ? WEIR_AGAIN : weir_place_make_room(e, root, in);',
           'M1', 'unit/stopped'),
    Mutant('successor_published_twice', MOVE,
           'return weir_cas_acq_rel(&from->next, &none, weir_array_pack(to));',
           '(void)none;\n    weir_store_release(&from->next, weir_array_pack(to));\n    return true;',
           'K28', 'unit/replace'),
    Mutant('key_placed_without_its_move', PLACE,
           '    weir_move_key(&e->move, e->tag);\n',
           '',
           'K28 S3', 'unit/move unit/stopped stress/schedules'),
    Mutant('shard_word_not_looked_at_again', PLACE,
           'return weir_load_acquire(&e->t->words[e->shard]) == packed;',
           'return packed != UINT64_MAX;',
           'S1', 'unit/place unit/stopped stress/schedules'),
    # ---- the horizon ----
    Mutant('horizon_not_raised', MOVE,
           '    weir_max_release(&m->to->horizon, m->now);\n',
           '',
           'K27 S5', 'unit/stopped unit/replace property/expiry'),
    Mutant('horizon_falls', MOVE,
           '    weir_max_release(&m->to->horizon, m->now);\n',
           '    weir_store_release(&m->to->horizon, m->now);\n',
           'K27', 'unit/replace'),
    Mutant('horizon_not_inherited', MOVE,
           '    weir_store_relaxed(&to->horizon, horizon);\n',
           '',
           'K27 S5', 'unit/replace'),
    Mutant('horizon_far_ahead_is_inherited', MOVE,
           '''    if (horizon > now && horizon - now > stale_max)
        horizon = now;
''',
           '',
           'K27', 'unit/replace'),
    Mutant('horizon_not_begun_at', ARRAY,
           'return horizon > now && horizon - now <= stale_max ? horizon : now;',
           'return horizon > now + stale_max ? horizon : now;',
           'K27 S5', 'unit/replace unit/stopped'),
    Mutant('horizon_holds_for_clocks_far_behind', ARRAY,
           'return horizon > now && horizon - now <= stale_max ? horizon : now;',
           'return horizon > now ? horizon : now;',
           'K20', 'unit/replace'),
    # ---- bounds ----
    Mutant('refused_key_is_not_sealed_out', PLACE,
           '            weir_search_claim(&s, WEIR_TAG_SEALED, &seen))',
           '            true)',
           'K26 S1', 'unit/place unit/stopped'),
    Mutant('refused_key_is_refused_for_ever', PLACE,
           'how = weir_credit_ready(e->t, e->share) ? weir_place_unseal(e, root, in)',
           'how = weir_credit_ready(e->t, e->share) ? WEIR_REFUSED',
           'K26', 'unit/place'),
    Mutant('chosen_keys_grow_a_shard', PLACE,
           'return crowded ? WEIR_REFUSED : weir_place_make_room(e, root, in);',
           'return weir_place_make_room(e, root, in);',
           'K25', 'unit/place'),
    Mutant('keys_without_credit', CREDIT,
           'return (int64_t)weir_load_acquire(&share->credits) > 0;',
           'return (int64_t)weir_load_acquire(&share->credits) > -64;',
           'M1', 'unit/place unit/full'),
    Mutant('credits_never_come_back', SHARD,
           '    weir_credit_return(e->t, e->share, held - moved);\n',
           '    (void)held;\n    (void)moved;\n',
           'K26 M1', 'unit/full unit/place unit/stopped'),
    Mutant('credits_of_a_late_claim_kept', MOVE,
           '    if (led_to && !led_on)\n        m->owed++;',
           '    if (false)\n        m->owed++;',
           'M1', 'unit/move stress/schedules'),
    Mutant('credits_of_a_late_reservation_kept', PLACE,
           'if ((weir_add_relaxed(&in->fresh, (uint64_t)-1) & WEIR_LEFT) != 0)',
           'if ((weir_add_relaxed(&in->fresh, (uint64_t)-1) & WEIR_LEFT) == 1)',
           'M1', 'unit/replace stress/schedules'),
    Mutant('credits_taken_before_they_are_given', CREDIT,
           '''    if (unspent == 0)
        return false;
    weir_add_relaxed(&share->credits, block);
''',
           '''    if (unspent == 0)
        return false;
    weir_add_relaxed(&share->credits, block);
    if (unspent < block)
        return true;
''',
           'M1', 'unit/place unit/full'),
    Mutant('failed_allocation_loses_the_key', SHARD,
           '''    if (a == (struct weir_array *)0) {
        weir_add_relaxed(&e->t->counts.failures, 1);''',
           '''    if (a == (struct weir_array *)0) {
        weir_or_acq_rel(&e->t->words[e->shard], 0);
        weir_store_release(&e->t->words[e->shard], 0);
        weir_add_relaxed(&e->t->counts.failures, 1);''',
           'K28 S5', 'unit/replace unit/trim'),
    # ---- published without release, seen by the thread sanitizer ----
    Mutant('order_of_settings', 'call.h',
           'c->s = weir_pointer_load_acquire(&c->l->settings); /* pairs with their publication */',
           'c->s = __atomic_load_n(&c->l->settings, __ATOMIC_RELAXED);',
           'O2', 'stress/changes stress/changes_mixed', 'tsan'),
    Mutant('order_of_a_limits_settings', 'change.c',
           'if (!weir_pointer_cas_acq_rel(&c->l->settings, &current, c->fresh)) /* origin.c, O2 */',
           '''if (!__atomic_compare_exchange_n(&c->l->settings, &current, c->fresh, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))''',
           'O2', 'stress/changes stress/changes_mixed', 'tsan'),
    Mutant('slot_first_reach_not_told', SLOT,
           '''    if (step->write)
        weir_slot_reach(m, at, op, step);
    return''', '    return', 'T1', 'unit/slot'),
    # ---- who comes after a move ----
    Mutant('move_end_is_not_told', SHARD,
           '''    weir_or_acq_rel(&to->moved, WEIR_ENDED);
''', '', 'S5', 'unit/move'),
    Mutant('move_end_is_taken_for_the_next', SHARD,
           '''    e->move.ended = false;
''', '', 'S5', 'unit/move'),
    Mutant('move_end_is_not_asked', MOVE,
           '''    if (m->ended)
        return; /* O4 */
''', '', 'S5', 'unit/move'),
    Mutant('order_of_the_next_array', MOVE,
           'return weir_cas_acq_rel(&from->next, &none, weir_array_pack(to));',
           'return weir_cas_relaxed(&from->next, &none, weir_array_pack(to));',
           'S5', 'stress/growth stress/churn', 'tsan'),
    Mutant('order_of_zones', 'zone.c',
           '} while (!weir_pointer_cas_acq_rel(&newest, &head, made));',
           '''} while (!__atomic_compare_exchange_n(&newest, &head, made, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));''',
           'S2', 'unit/zone', 'tsan'),
    Mutant('order_of_counter_blocks', 'counters.c',
           'while (!weir_pointer_cas_acq_rel(&set->blocks, &b->next_in_set, b)) {}',
           '''while (!__atomic_compare_exchange_n(&set->blocks, &b->next_in_set, b, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}''',
           'O1', 'unit/counters stress/burst', 'tsan'),
]
