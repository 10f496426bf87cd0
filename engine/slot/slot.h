/* SPDX-License-Identifier: MIT */
/*
 * The slot: how one word changes under concurrency.
 *
 * Guarantees (S and P numbered as in the README)
 *   S4  A word changes only by a compare-and-swap from the value that the new one was computed
 *       from. Check and charge are one step; nothing is lost and nothing counts twice.
 *   S6  A step that does not write (denied, peeked, nothing to take) touches no shared memory but
 *       to read it.
 *   O1  A word carries all that it means, except which settings it was written under: these are
 *       published before any word of their generation. The load here (acquire) pairs with the
 *       compare-and-swap of the writer (release), who had loaded his settings with acquire: whoever
 *       sees his word and then loads the settings again, finds them or newer ones. Without the
 *       pair a word could look like one of an unknown generation, that is, unused.
 *   P1  Lock-free: a lost compare-and-swap means that another one succeeded.
 *
 * Not guaranteed: fairness between threads that contend for one word.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_SLOT_SLOT_H
#define WEIR_SLOT_SLOT_H

#include "check.h"
#include "slot/settings.h"

/*
 * How words that are not of the meter's own mark are read; a cell has no chain. A word that the
 * chain does not know is either of newer settings, or older than all that are left: then it counts
 * as never used. Which of the two is told by loading the settings again after it, so it is a word
 * that is looked up, not a call.
 */
struct weir_reader {
    const struct weir_settings *settings; /* NULL for a cell */
    uint64_t unknown;                     /* the last such word; 0 is none */
    bool newest; /* the settings were still the newest after `unknown` had been seen */
    bool early;  /* the instant lies before the last change of the settings */
};

/* What came of an operation on a slot. All but WEIR_SLOT_DONE: nothing has happened yet. */
enum weir_slot {
    WEIR_SLOT_DONE,
    WEIR_SLOT_UNKNOWN, /* look up reader->unknown, then try again */
    WEIR_SLOT_FRESH,   /* never used: it may have to begin later than `now` */
    WEIR_SLOT_EARLY,   /* of before a change that `now` lies before, or unused since: the same */
    WEIR_SLOT_FROZEN   /* a move is copying it: the key is elsewhere now */
};

/*
 * The payload of a word. To a `now` before the last change all that the change left behind, or made
 * "never used", begins at it: words that lead to it, words that no settings know, and payload 0, be
 * it that a sweep made it.
 */
static inline enum weir_slot weir_slot_payload(const struct weir_meter *m,
                                               struct weir_reader *reader, uint64_t word,
                                               uint64_t *payload)
{
    *payload = weir_modulo_sub(word, m->mark);
    if (__builtin_expect(*payload <= m->span, 1))
        return *payload == 0 && reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;
    *payload = 0;
    if (reader->settings == NULL)
        return WEIR_SLOT_DONE;
    if (word == 0)
        return WEIR_SLOT_FRESH;
    if ((word & WEIR_WORD_FROZEN) != 0)
        return WEIR_SLOT_FROZEN;
    if (weir_settings_translate(reader->settings, word, payload))
        return reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;
    if (reader->newest && reader->unknown == word)
        return reader->early ? WEIR_SLOT_EARLY : WEIR_SLOT_DONE;
    reader->unknown = word;
    return WEIR_SLOT_UNKNOWN;
}

/* What is granted further ahead than ever before is made known before the word is: see
   fixed_window.h. Relaxed: the compare-and-swap that follows publishes it. */
static inline void weir_slot_reach(const struct weir_meter *m, const struct weir_instant *at,
                                   const struct weir_operation *op, const struct weir_step *step)
{
    if (__builtin_expect(m->kind == WEIR_FIXED_WINDOW, 0) && (step->wait | op->early) != 0 &&
        at->reach != NULL)
        weir_max_relaxed(at->reach, step->wait > op->early ? step->wait : op->early);
}

/* Applies an operation to the word; *step is what happened. */
static inline __attribute__((always_inline)) enum weir_slot weir_slot_apply(
    struct weir_atomic_u64 *slot, const struct weir_meter *m, struct weir_reader *reader,
    const struct weir_operation *op, const struct weir_instant *at, struct weir_step *step)
{
    unsigned losses = 0;
    uint64_t word = weir_load_acquire(slot); /* O1 */
    for (;;) {
        uint64_t payload;
        enum weir_slot what = weir_slot_payload(m, reader, word, &payload);
        if (__builtin_expect(what != WEIR_SLOT_DONE, 0))
            return what;
        *step = weir_algorithm_step(m, payload, op, at);
        step->before = payload;
        if (!step->write)
            return WEIR_SLOT_DONE;
        weir_slot_reach(m, at, op, step);
        weir_assert(step->payload <= m->span && m->mark != 0);
        if (weir_cas_acq_rel(slot, &word, m->mark | step->payload)) /* O1, S4 */
            return WEIR_SLOT_DONE;
        weir_pause(&losses);
    }
}

/* Applies an operation to a word never used, as of an instant of its own. False: it is used now. */
static inline bool weir_slot_first(struct weir_atomic_u64 *slot, const struct weir_meter *m,
                                   const struct weir_operation *op, const struct weir_instant *at,
                                   struct weir_step *step)
{
    uint64_t never_used = 0;
    *step = weir_algorithm_step(m, 0, op, at);
    weir_assert(!step->write || (step->payload <= m->span && m->mark != 0));
    if (step->write)
        weir_slot_reach(m, at, op, step);
    return !step->write || weir_cas_acq_rel(slot, &never_used, m->mark | step->payload); /* O1 */
}

#endif
