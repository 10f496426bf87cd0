# SPDX-License-Identifier: MIT
"""Faults of the arithmetic: buckets, windows, permits, calendars, keys, policies."""
from mutant import Mutant

BUCKET = 'algorithm/token_bucket.h'
FIXED = 'algorithm/fixed_window.h'
SLIDING = 'algorithm/sliding_window.h'
PERMITS = 'algorithm/concurrency.h'
WINDOW = 'algorithm/window.h'
SCALE = 'algorithm/scale.h'
ORIGIN = 'algorithm/origin.h'

MUTANTS = [
    # ---- buckets ----
    Mutant('bucket_never_is_denied', BUCKET,
           '''WEIR_FOREVER, 0, 0};
    if (n > m->burst)
        return step;
    uint64_t base''',
           '''WEIR_FOREVER, 0, 0};
    uint64_t base''',
           'K07', 'property/bounds'),
    Mutant('bucket_idle_time_accrues', BUCKET,
           '''    uint64_t base = payload > at->line ? payload : at->line;
    uint64_t full = at->line + m->capacity;
    uint64_t next''',
           '''    uint64_t base = payload != 0 ? payload : at->line;
    uint64_t full = at->line + m->capacity;
    uint64_t next''',
           'K03 S1', 'property/time property/differential'),
    Mutant('bucket_quick_idle_time_accrues', BUCKET,
           'uint64_t left = weir_scale_lesser(last - *payload, ask->room);',
           'uint64_t left = last - *payload;',
           'K03 S1', 'property/time property/differential'),
    Mutant('bucket_one_unit_more_fits', BUCKET,
           '    if (next > full) {',
           '    if (next > full + 1) {',
           'K10 S1', 'property/refusals property/differential'),
    Mutant('bucket_quick_one_unit_less_fits', BUCKET,
           'if (*payload > last)',
           'if (*payload >= last)',
           'K10 S2', 'property/refusals property/differential'),
    Mutant('bucket_zero_tokens_are_written', BUCKET,
           '''    step.write = n != 0;
    step.count = n;
    step.payload = n != 0 ? next : payload;''',
           '''    step.write = true;
    step.count = n;
    step.payload = next;''',
           'K08', 'property/bounds'),
    Mutant('bucket_a_denial_costs', BUCKET,
           '''            step.verdict = WEIR_DENIED;
            return step;''',
           '''            step.verdict = WEIR_DENIED;
            step.write = true;
            step.payload = base + 1;
            return step;''',
           'K09 S6', 'property/refusals property/differential'),
    Mutant('bucket_remainder_dropped', BUCKET,
           'return m->grains == 1 ? elapsed * m->units : weir_scale_down(elapsed, &m->line);',
           '''uint64_t line = m->grains == 1 ? elapsed * m->units : weir_scale_down(elapsed, &m->line);
    return line - line % m->token;''',
           'K02 S2', 'property/time property/differential'),
    Mutant('bucket_rests_of_ticks_dropped', BUCKET,
           'at->into_grain = m->tick == 0 ? 0 : now - grain * m->tick;',
           'at->into_grain = 0;',
           'K10', 'property/refusals property/differential conformance/refill'),
    Mutant('bucket_wait_rounded_down', BUCKET,
           'uint64_t grains = weir_modulo_sub(weir_scale_up(line, &m->length), at->elapsed);',
           'uint64_t grains = weir_modulo_sub(weir_scale_down(line, &m->length), at->elapsed);',
           'K10', 'property/refusals'),
    Mutant('bucket_debt_wraps', BUCKET,
           '''    uint64_t fit = base < m->span ? weir_bucket_tokens_down(m, m->span - base) : 0;
    return weir_bucket_spend(m, payload, base, fit < n ? fit : n);''',
           '    return weir_bucket_spend(m, payload, base, n);',
           'K04', 'property/bounds'),
    Mutant('bucket_refund_not_clamped', BUCKET,
           'step.count = tokens < n ? tokens : n;',
           'step.count = n;',
           'K11 S7', 'property/ledger property/differential'),
    Mutant('bucket_cancel_gives_back_too_much', BUCKET,
           'return weir_bucket_refund(m, payload, n > later ? n - later : 0, at);',
           'return weir_bucket_refund(m, payload, n, at);',
           'K11 S7', 'property/ledger property/differential'),
    Mutant('bucket_part_of_a_token_is_given_back', BUCKET,
           'uint64_t later = payload > slot ? weir_bucket_tokens_up(m, payload - slot) : 0;',
           'uint64_t later = payload > slot ? weir_bucket_tokens_down(m, payload - slot) : 0;',
           'K11', 'property/ledger property/differential'),
    Mutant('bucket_undo_credits_a_full_bucket', BUCKET,
           'uint64_t base = op->before > at->line ? op->before : at->line;',
           'uint64_t base = op->before;',
           'K31', 'stress/all_or_none stress/all_or_none_alone'),
    Mutant('bucket_more_left_than_the_burst', BUCKET,
           '''    uint64_t base = payload > at->line ? payload : at->line;
    uint64_t full = at->line + m->capacity;
    result->remaining''',
           '''    uint64_t base = payload;
    uint64_t full = at->line + m->capacity;
    result->remaining''',
           'K34', 'property/answers property/differential'),
    Mutant('bucket_idle_too_early', BUCKET,
           '''    (void)m;
    return payload <= at->line;''',
           '    return payload <= at->line + m->token;',
           'K27 S5', 'property/expiry'),
    Mutant('bucket_rate_rounded_up', BUCKET,
           '''    if (token == 0)
        return -ERANGE;
    int power''',
           '''    if (token == 0)
        token = 1;
    int power''',
           'K04', 'property/settings'),
    Mutant('bucket_rate_is_rounded', BUCKET,
           '    m->units = a << (power - common);',
           '    m->units = (a << (power - common)) | (a > 1);',
           'K05', 'property/settings property/differential'),
    Mutant('bucket_reprice_rounds_for_the_key', BUCKET,
           'balance = weir_scale_floor(balance * (weir_i128)to->token, (weir_i128)from->token);',
           '''balance = weir_scale_floor(balance * (weir_i128)to->token + (weir_i128)from->token - 1,
                               (weir_i128)from->token);''',
           'S5', 'property/changes'),
    Mutant('bucket_lowered_balance_not_clamped', BUCKET,
           '''    if (balance >= (weir_i128)to->capacity && !is_slot)
        return 0;
''',
           '',
           'S5', 'property/changes'),
    Mutant('bucket_raise_gives_at_once', BUCKET,
           'weir_i128 balance = (weir_i128)at_from->line + from->capacity - payload;',
           '''weir_i128 balance = (weir_i128)at_from->line + from->capacity - payload;
    if (to->burst > from->burst)
        balance += (weir_i128)(to->burst - from->burst) * (weir_i128)from->token;''',
           'K16', 'property/changes'),
    # ---- windows ----
    Mutant('fixed_stale_clock_opens_a_window', FIXED,
           '''    if (f.position < at->line)
        return weir_fixed_ended(at->line, false);
    if (__builtin''',
           '''    if (f.position != at->line)
        return weir_fixed_ended(at->line, false);
    if (__builtin''',
           'K01 S1', 'property/window_clocks property/windows'),
    Mutant('fixed_one_more_fits', FIXED,
           '    if (count <= m->burst - n) {',
           '    if (count <= m->burst - n + 1) {',
           'K17 S1', 'property/window_kinds property/windows'),
    Mutant('fixed_window_ends_a_nanosecond_late', FIXED,
           '        if (start + m->tick <= at->line)\n            return',
           '        if (start + m->tick < at->line)\n            return',
           'S2', 'property/windows property/window_kinds'),
    Mutant('fixed_window_begins_in_the_past', FIXED,
           'uint64_t begins = (at->line + grain) >> m->grain_bits; /* a window that does so now */',
           'uint64_t begins = at->line >> m->grain_bits; /* a window that does so now */',
           'K05 S1', 'property/window_kinds'),
    Mutant('fixed_step_of_the_wall_clock_locks_out', FIXED,
           '        if (until > window + guard)\n',
           '        if (until > window + guard && at->now == 0)\n',
           'K20', 'property/window_clocks'),
    Mutant('fixed_clock_behind_is_a_step', FIXED,
           'return *recent ? (weir_i128)behind + (weir_i128)WEIR_FIXED_BLUR : (weir_i128)at->guard;',
           'return (weir_i128)at->guard;',
           'K01', 'property/window_clocks'),
    Mutant('fixed_cancel_into_another_window', FIXED,
           'return weir_window_give_back(m, payload, payload >> below == after >> below ? op->n : 0);',
           'return weir_window_give_back(m, payload, op->n);',
           'K11 S7', 'property/window_ledger property/windows'),
    Mutant('fixed_refund_of_what_was_reserved', FIXED,
           'return weir_window_give_back(m, payload, f.where == WEIR_FIXED_RUNNING ? n : 0);',
           'return weir_window_give_back(m, payload, n);',
           'K11', 'property/window_ledger property/windows'),
    Mutant('fixed_shorter_period_forgets', FIXED,
           'if (start + (weir_i128)to->tick <= (weir_i128)at_to->line)',
           'if (start <= (weir_i128)at_to->line)',
           'K16 S5', 'property/window_kinds property/changes'),
    Mutant('sliding_two_windows_back_counts', SLIDING,
           '''        s.previous = number + 1 == at->line ? current : 0;
        s.current = 0; /* of a later''',
           '''        s.previous = number + 2 >= at->line ? current : 0;
        s.current = 0; /* of a later''',
           'K17', 'property/window_kinds property/windows'),
    Mutant('sliding_estimate_rounded_down', SLIDING,
           '    faded += missing > 0;\n',
           '',
           'S1', 'unit/sliding property/windows'),
    Mutant('sliding_share_not_corrected', SLIDING,
           '''    if (__builtin_expect(missing > (int64_t)m->tick, 0))
        faded++;
''',
           '',
           'S1', 'unit/sliding'),
    Mutant('sliding_wait_a_nanosecond_short', SLIDING,
           'uint64_t into = m->tick - weir_scale_quotient(room, m->tick, fading);',
           'uint64_t into = m->tick - weir_scale_quotient(room, m->tick, fading) - 1;',
           'K10', 'property/window_refusals property/windows'),
    Mutant('windows_give_back_wraps', WINDOW,
           'uint64_t back = count < n ? count : n;',
           'uint64_t back = n;',
           'K11 S7', 'property/window_ledger property/windows'),
    # ---- permits ----
    Mutant('permits_one_too_many', PERMITS,
           '    if (payload > m->burst - n)\n',
           '    if (payload > m->burst - n + 1)\n',
           'K13 S1', 'property/window_ledger property/windows'),
    Mutant('permits_lowered_limit_wraps', PERMITS,
           'return payload < m->burst ? m->burst - payload : 0;',
           'return m->burst - payload;',
           'K16', 'property/window_kinds property/changes'),
    # ---- arithmetic ----
    Mutant('scale_down_not_corrected', SCALE,
           'if (__builtin_expect((uint64_t)product > ~shifted, 0))',
           'if (0)',
           'K04', 'unit/scale'),
    Mutant('scale_up_of_whole_results', SCALE,
           'if (__builtin_expect(weir_modulo_sub((uint64_t)product, 1) >= ~shifted, 0))',
           'if (__builtin_expect((uint64_t)product >= ~shifted, 0))',
           'K04', 'unit/scale'),
    Mutant('origin_not_before_1970', ORIGIN,
           'if (wanted <= INT64_MIN ||',
           'if (wanted < 0 ||',
           'K19', 'property/time'),
    # ---- calendars ----
    Mutant('calendar_window_includes_its_end', 'zone.h',
           'unix_s >= out->end)',
           'unix_s > out->end)',
           'K22', 'property/window_clocks unit/zone'),
    Mutant('calendar_weeks_begin_on_sunday', 'zone.c',
           'weir_floor_div(day + 3, 7)',
           'weir_floor_div(day + 4, 7)',
           'S1', 'unit/zone property/windows'),
    Mutant('calendar_centuries_are_leap_years', 'zone_calendar.h',
           ' - weir_floor_div(year, 100) +\n           weir_floor_div(year, 400)',
           '',
           'K22', 'unit/zone'),
    Mutant('calendar_clocks_that_fall_back_count_twice', 'zone.c',
           'return cycles + (local > z->passed[i] ? local : z->passed[i]);',
           'return cycles + local;',
           'S1', 'unit/zone property/window_clocks'),
    Mutant('calendar_fifth_week_is_not_the_last', 'zone_file.c',
           '    while (day >= weir_first_day_of(month + 1)) /* week 5 is the last */\n        day -= 7;\n',
           '',
           'K22', 'unit/zone_files unit/zone'),
    # ---- keys and policies ----
    Mutant('key_length_in_8_bits', 'key.c',
           'return hash(w->secrets[WEIR_SPACE_BYTES], data, size);',
           'return hash(w->secrets[WEIR_SPACE_BYTES], data, size & 0xff);',
           'K23', 'unit/key'),
    Mutant('key_prefix_not_masked', 'key.c',
           '(uint8_t)(bytes[prefix / 8] & (0xff00U >> prefix % 8));',
           'bytes[prefix / 8];',
           'K23', 'unit/key'),
    Mutant('key_unknown_family_is_kept', 'key.c',
           '            put_prefix(&form, in6.sin6_addr.s6_addr, 16, prefix6);\n        }\n    }',
           '''            put_prefix(&form, in6.sin6_addr.s6_addr, 16, prefix6);
        }
    } else if (address != NULL) {
        form.prefix = (uint8_t)address->sa_family;
    }''',
           'K24', 'unit/key'),
    Mutant('key_secret_not_used', 'key.c',
           'XXH128_hash_t h = XXH3_128bits_withSecret(data, size, secret, WEIR_SECRET_SIZE);',
           'XXH128_hash_t h = XXH3_128bits(data, size);\n    (void)secret;',
           'K25', 'unit/key'),
    Mutant('limit_zero_is_unlimited', 'policy.c',
           'if (policy->limit == WEIR_UNLIMITED && policy->kind != WEIR_CONCURRENCY) {',
           '''if ((policy->limit == WEIR_UNLIMITED || policy->limit == 0) &&
        policy->kind != WEIR_CONCURRENCY) {''',
           'K06', 'property/bounds property/window_refusals'),
    Mutant('policy_burst_not_compared', 'policy.c',
           'a->form == b->form && a->period == b->period && a->burst == b->burst &&',
           'a->form == b->form && a->period == b->period &&',
           'K16', 'unit/policy property/changes property/settings'),
]
