/* SPDX-License-Identifier: MIT */
/*
 * Settings: one meter as one generation of words knows it, and how older words are read.
 *
 * A settings object never changes once it is published, but for `previous`, which is cut when no
 * word of an older generation is left. A decision uses one object from start to end.
 *
 *   limit --> generation 3 --previous--> generation 2 --previous--> generation 1 --> (unanchored)
 *
 * All of a chain have the same policy, serial, units and grains; their origins differ by whole
 * multiples of `grains`, so that a word moves from one to another by a whole number of units,
 * exactly, and without a division. Only the difference of the two origins counts: a clock that
 * jumps ahead and back through several origins loses nothing. A debt that the newer line cannot
 * hold (the clock went back by more than a payload's span) becomes balance zero when that line
 * began: the same answer at every touch, also where none of them writes.
 */
#ifndef WEIR_SLOT_SETTINGS_H
#define WEIR_SLOT_SETTINGS_H

#include "algorithm/algorithm.h"
#include "atomic.h"
#include "slot/word.h"

struct weir_settings {
    struct weir_meter meter;        /* first: the decision reads its leading lines only */
    struct weir_settings *previous; /* atomic; NULL: no older word exists, or it counts as unused */
    int64_t steps;                  /* origin = that of the first generation + steps * grains */
    uint64_t born;                  /* V at the `now` for which the origin was set */
    uint64_t serial;                /* of the policy: a reservation of another gives nothing back */
    uint32_t generation;            /* 0: unanchored, before the first `now`; no word has it */
    uint32_t generations;           /* bit per generation that a word may have now */
};

/*
 * The payload of a word that is not of the settings' own generation. Returns false when the
 * generation is unknown here: it is newer than these settings, or its chain was cut.
 */
static inline bool weir_settings_translate(const struct weir_settings *s, uint64_t word,
                                           uint64_t *payload)
{
    unsigned generation = weir_word_generation(word);
    const struct weir_settings *older = s;
    while (older != NULL && older->generation != generation) {
        /* Pairs with the release of the cut: who sees NULL sees every word re-based before it. */
        older = weir_pointer_load_acquire(&older->previous);
    }
    if (older == NULL)
        return false;
    weir_i128 steps = (weir_i128)s->steps - older->steps;
    *payload = weir_algorithm_rebase(&s->meter, word & WEIR_PAYLOAD_MAX, steps, s->born);
    return true;
}

#endif
