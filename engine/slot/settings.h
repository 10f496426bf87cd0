/* SPDX-License-Identifier: MIT */
/*
 * Settings: one meter as one generation of words knows it, and how older words are read.
 *
 * A settings object never changes once it is published, but for `previous`, which is cut when no
 * word of an older generation is left. A decision uses one object from start to end.
 *
 *   limit --> generation 3 --previous--> generation 2 --previous--> generation 1 --> (unanchored)
 *
 * Two objects in a row with the same serial have the same policy, units and grains; their origins
 * differ by whole multiples of `grains`, so that a word moves from one to the other by a whole
 * number of units, exactly, and without a division. Of several such in a row only the difference of
 * the outer two counts: a clock that jumps ahead and back through several origins loses nothing. A
 * debt that the newer line cannot hold (the clock went back by more than a payload's span) becomes
 * balance zero when that line began: the same answer at every touch, also where none of them
 * writes.
 *
 * With another serial the newer one is a change of settings: a word is re-priced as it stood at the
 * instant of the change, link by link. Whenever it is touched, the answer is the same.
 *
 * A change of algorithm, to or from unlimited too, begins a chain: older words are of generations
 * that it does not know, so they are never used.
 */
#ifndef WEIR_SLOT_SETTINGS_H
#define WEIR_SLOT_SETTINGS_H

#include "algorithm/algorithm.h"
#include "atomic.h"
#include "slot/word.h"

struct weir_settings {
    struct weir_meter meter;        /* first: the decision reads its leading lines only */
    struct weir_settings *previous; /* atomic; NULL: no older word exists, or it counts as unused */
    int64_t steps;        /* origin = that of the first generation of the serial + steps * grains */
    uint64_t born;        /* V at the `now` for which the origin was set */
    uint64_t serial;      /* of the policy: a reservation of another gives nothing back */
    uint64_t kin;         /* of the limit and its algorithm: permits of another are foreign */
    weir_ns changed;      /* when the policy was set; 0 = when the limit was added */
    weir_ns changed_wall; /* the same as unix time */
    uint32_t generation;  /* 0: unanchored, before the first `now`; no word has it */
    uint32_t generations; /* bit per generation that a word may have now */
};

/* The instant of a change on the line of a meter. */
static inline void weir_settings_changed_at(const struct weir_settings *s,
                                            const struct weir_meter *m, struct weir_instant *at)
{
    at->into_grain = at->left = 0;
    at->reach = NULL;
    at->guard = INT64_MAX; /* clocks may have been ahead of the change */
    at->recent = false;
    at->newest = NULL;
    weir_algorithm_instant_clamped(m, m->wall ? s->changed_wall : s->changed, at);
}

/* The payload under the settings after the change that they were. */
WEIR_SCALE_COLD uint64_t weir_settings_reprice(const struct weir_settings *last, uint64_t payload,
                                               const struct weir_settings *s, bool is_slot)
{
    struct weir_instant from;
    struct weir_instant to;
    if (payload == 0)
        return 0;
    weir_settings_changed_at(s, &last->meter, &from);
    weir_settings_changed_at(s, &s->meter, &to);
    return weir_algorithm_reprice(&last->meter, payload, &from, &s->meter, &to, is_slot);
}

/* Settings newer than some of the same chain, the newest first. */
struct weir_settings_path {
    const struct weir_settings *newer[WEIR_GENERATIONS + 2];
    unsigned length;
};

/* The next older settings; NULL: there are none. Acquire: pairs with the release of the cut: who
   sees NULL sees every word re-based before it. */
static inline const struct weir_settings *weir_settings_step_back(struct weir_settings_path *path,
                                                                  const struct weir_settings *s)
{
    if (path->length == WEIR_GENERATIONS + 2)
        return NULL;
    path->newer[path->length++] = s;
    return weir_pointer_load_acquire(&s->previous);
}

/* A payload under `older`, under the newest of the path. */
static inline uint64_t weir_settings_lift(const struct weir_settings_path *path,
                                          const struct weir_settings *older, uint64_t payload,
                                          bool is_slot)
{
    unsigned length = path->length;
    for (;;) {
        const struct weir_settings *last = older;
        while (length != 0 && path->newer[length - 1]->serial == older->serial)
            last = path->newer[--length];
        weir_i128 steps = (weir_i128)last->steps - older->steps;
        payload = weir_algorithm_rebase(&last->meter, payload, steps, last->born);
        if (length == 0)
            return payload;
        older = path->newer[--length];
        payload = weir_settings_reprice(last, payload, older, is_slot);
    }
}

/*
 * The payload of a word that is not of the settings' own generation. Returns false when the
 * generation is unknown here: it is newer than these settings, or its chain was cut.
 */
static inline bool weir_settings_translate(const struct weir_settings *s, uint64_t word,
                                           uint64_t *payload)
{
    struct weir_settings_path path;
    unsigned generation = weir_word_generation(word);
    path.length = 0;
    while (s != NULL && s->generation != generation)
        s = weir_settings_step_back(&path, s);
    if (s == NULL)
        return false;
    *payload = weir_settings_lift(&path, s, word & WEIR_PAYLOAD_MAX, false);
    return true;
}

/*
 * The same for what an operation carries that was made under a serial: `slot`, `before` and
 * `origin` become those under these settings. False: nothing leads there any more.
 */
WEIR_SCALE_COLD bool weir_settings_follow(const struct weir_settings *s, uint64_t serial,
                                          struct weir_operation *op)
{
    struct weir_settings_path path;
    const struct weir_settings *older = s;
    path.length = 0;
    while (older != NULL && older->serial != serial)
        older = weir_settings_step_back(&path, older);
    if (older == NULL)
        return false;
    const struct weir_meter *m = &older->meter;
    weir_i128 steps = ((weir_i128)m->origin - op->origin) / (weir_i128)m->grains;
    op->slot = weir_settings_lift(&path, older,
                                  weir_algorithm_rebase(m, op->slot, steps, older->born), true);
    op->before = weir_settings_lift(
        &path, older, weir_algorithm_rebase(m, op->before, steps, older->born), false);
    op->origin = s->meter.origin;
    return true;
}

#endif
