/* SPDX-License-Identifier: MIT */
/*
 * The move of a shard into its next array: growth, compaction and shrinking are all this.
 *
 *   shard's word:   root                root, moving              next
 *                    |                   |                         |
 *                    v                   v                         v
 *   root      [A B c D E .]       [A*B*c D*E #]  next      next [. A . D . B . F . E]
 *                                    \___________^
 *             nearly full         * frozen, # sealed,       c was idle: it is left behind
 *                                 F is new
 *
 *   1  start    a next array is made, which holds root's keys in any case, and published in
 *               root->next; root is closed for new keys, and the moving bit set in the shard's word
 *   2  move     each slot of root: an empty one is sealed; a used one is frozen (bit 63 of its
 *               word), and unless it is idle its tag is claimed in the next array and its word put
 *               there by a compare-and-swap from 0. Every call that comes by first moves the key
 *               that it came for, then one chunk of 16 lines
 *   3  swing    when every chunk is done the shard's word leads to the next array; root is retired
 *
 * All steps may be repeated by anyone at any time. Chunks are handed out by a counter; when none is
 * left, helpers do those again that are not done. So a thread that stops anywhere is waited for by
 * nobody.
 *
 * Guarantees (S and P numbered as in the README)
 *   S3  At most one live slot per key: a key is used in the next array only after its slot in root
 *       was frozen, or the empty slot where it would be was sealed.
 *   S5  No debt is lost or doubled. A frozen word does not change any more, so whoever copies it
 *       copies the same state, and the first copy counts. An entry that is left behind means the
 *       same as none: it is idle at `now`, and the next array's horizon is raised to that `now`
 *       before its chunk counts as done; a slot never used begins at the horizon.
 *   O4  The root rule: only a shard's root may start to move. A sealed slot in the next array thus
 *       always means that the move into it has ended, and a thread that still carries a word of
 *       that move may drop it: others have moved the slot, or judged it idle.
 *   O5  The size rule: the next array has room for all that root holds when it is closed, which is
 *       before anything is moved; new keys have a place only beside these. So no move is ever
 *       without a place, but for what a thread has put there that stopped before it had counted it,
 *       or that came after the move had ended (one entry a thread; slots are kept free for these).
 *   P1  A call moves its own key and one chunk; or, when it has a new key and there is no room for
 *       it beside what is still to come, the rest of the shard.
 *
 * Not guaranteed: that what is idle is left behind; a helper whose clock is behind moves it.
 *
 * Who includes this defines weir_table_judge, which knows what words mean. Common subset of C11 and
 * C++11: the model checker compiles this text.
 */
#ifndef WEIR_TABLE_MOVE_H
#define WEIR_TABLE_MOVE_H

#include "table/array.h"

/* As in slot/word.h, which this layer does not read: a word that a move is copying. */
#define WEIR_MOVE_FROZEN ((uint64_t)1 << 63)

enum weir_judgement {
    WEIR_UNUSED, /* the word means "never used" at any time */
    WEIR_IDLE,   /* it does so from `now` on */
    WEIR_LIVE    /* it is to be kept */
};

/* What the word of a tag means at `now`. It may be replaced by one that means the same under newer
   settings. The word is neither 0 nor frozen. */
static inline enum weir_judgement weir_table_judge(const void *host, uint64_t tag, uint64_t now,
                                                   uint64_t *word);

/* One move, as one call helps it. */
struct weir_move {
    struct weir_array *from;
    struct weir_array *to;
    const void *host; /* for weir_table_judge */
    uint64_t now;
    bool ended; /* without this call, as far as it knows */
    /* what this call did */
    uint64_t lines;   /* gone through */
    uint64_t moved;   /* entries that it put into the next array */
    uint64_t left;    /* entries that it left behind, each time that it did */
    uint64_t stale;   /* of these, ones that were idle under a clock behind the horizon */
    uint64_t dropped; /* entries left behind in chunks that it was the first to have done */
    uint64_t owed;    /* signed: credits that swings gave too many because of it */
    uint64_t races;   /* claims that it lost */
};

/* Takes care that no slot never used begins before `now`. Release: see weir_array_fresh_at. */
static inline void weir_move_raise_horizon(struct weir_move *m)
{
    if (weir_load_relaxed(&m->to->horizon) > m->now)
        m->stale++;
    weir_max_release(&m->to->horizon, m->now);
}

/*
 * Counts a tag that this call has claimed in the next array. The swing that leads to an array takes
 * what was counted there for kept, the one that leads on takes it for there to be kept or left
 * behind: what only one of them has seen is a credit too many or too few.
 *
 * After the claim, not before it: while an entry is counted that is not there yet, credits seem to
 * be missing, and a key would be refused that gets its place a moment later.
 */
static inline void weir_move_count(struct weir_move *m)
{
    uint64_t flags = weir_add_relaxed(&m->to->moved, 1);
    bool led_to = (flags & WEIR_ROOT) != 0;
    bool led_on = (flags & WEIR_LEFT) != 0;
    m->ended = (flags & WEIR_ENDED) != 0;
    m->moved++;
    if (led_to && !led_on)
        m->owed++;
    else if (led_on && !led_to) /* who leads to it is still to look */
        m->owed--;
}

/*
 * Puts a word into the next array unless the key has one there. It has room but for what O5 says,
 * or the move has ended meanwhile: then others have done this.
 */
static inline void weir_move_put(struct weir_move *m, uint64_t tag, uint64_t word)
{
    struct weir_search s;
    bool claimed;
    /* Who comes late finds out with the first entry that nobody else has put there, one that his
       clock alone finds in use. More of these might have no room where the array is moved to. */
    if (m->ended)
        return; /* O4 */
    enum weir_found found =
        weir_array_claim(m->to, tag, weir_order_block(m->to->order), &s, &claimed, &m->races);
    m->lines += s.lines;
    if (found != WEIR_FOUND)
        return; /* O4 */
    if (claimed)
        weir_move_count(m);
    uint64_t never_used = 0;
    /* Release: pairs with whoever loads the word; the settings that it was judged by are seen. */
    weir_cas_acq_rel(weir_search_word(&s), &never_used, word);
}

/* Step 2 for one slot. */
static inline void weir_move_slot(struct weir_move *m, struct weir_line *line, unsigned slot)
{
    uint64_t tag = weir_load_acquire(&line->tag[slot]); /* pairs with its claim */
    if (tag == WEIR_TAG_EMPTY) {
        /* Release: who finds the seal finds the moving bit, which this thread saw or set. */
        if (weir_cas_acq_rel(&line->tag[slot], &tag, WEIR_TAG_SEALED))
            return;
    }
    if (tag == WEIR_TAG_SEALED)
        return;
    /* Acquire: pairs with the last decision on the word. Release: whose compare-and-swap fails on
       the frozen word finds the moving bit. Without the freeze a decision could go on here while
       the copy is used elsewhere. */
    uint64_t word = weir_or_acq_rel(&line->word[slot], WEIR_MOVE_FROZEN) & ~WEIR_MOVE_FROZEN;
    if (word == 0)
        return;
    switch (weir_table_judge(m->host, tag, m->now, &word)) {
    case WEIR_UNUSED:
        m->left++;
        break;
    case WEIR_IDLE:
        weir_move_raise_horizon(m);
        m->left++;
        break;
    case WEIR_LIVE:
        weir_move_put(m, tag, word);
        break;
    }
}

/* Moves the slot of one key, or seals the one where it would be. Afterwards the key is used in the
   next array only. */
static inline void weir_move_key(struct weir_move *m, uint64_t tag)
{
    for (;;) {
        struct weir_search s;
        enum weir_found found = weir_array_search(m->from, tag, &s);
        m->lines += s.lines;
        if (found == WEIR_SEALED || found == WEIR_NOWHERE)
            break;
        weir_move_slot(m, s.line, s.slot);
        if (found == WEIR_FOUND)
            break;
        /* An empty slot that got another tag meanwhile: look further. */
        uint64_t now_there = weir_load_acquire(&s.line->tag[s.slot]); /* pairs with its claim */
        if (now_there == WEIR_TAG_SEALED || now_there == tag)
            break;
    }
}

static inline uint64_t weir_move_chunks(const struct weir_move *m)
{
    return (weir_order_lines(m->from->order) + WEIR_CHUNK_LINES - 1) / WEIR_CHUNK_LINES;
}

static inline uint64_t weir_move_all_done(const struct weir_move *m)
{
    uint64_t chunks = weir_move_chunks(m);
    return chunks == 64 ? UINT64_MAX : ((uint64_t)1 << chunks) - 1;
}

/* Acquire: pairs with the setting of the flags; all that was moved is seen. */
static inline bool weir_move_is_done(const struct weir_move *m)
{
    return weir_load_acquire(&m->from->done) == weir_move_all_done(m);
}

/* Moves the slots of one chunk. */
static inline void weir_move_chunk(struct weir_move *m, uint64_t chunk)
{
    uint64_t begin = chunk * WEIR_CHUNK_LINES;
    uint64_t end = begin + WEIR_CHUNK_LINES;
    uint64_t lines = weir_order_lines(m->from->order);
    uint64_t left = m->left;
    for (uint64_t i = begin; i < end && i < lines; i++) {
        m->lines++;
        for (unsigned slot = 0; slot < WEIR_LINE_SLOTS; slot++)
            weir_move_slot(m, &weir_array_lines(m->from)[i], slot);
    }
    /* Release: pairs with weir_move_is_done. Without it the swing could lead to an array in which
       a moved word is not seen yet. */
    uint64_t flag = (uint64_t)1 << chunk;
    if ((weir_or_acq_rel(&m->from->done, flag) & flag) == 0)
        m->dropped += m->left - left;
}

/*
 * A chunk to move: one that nobody has taken; when there is none, one that is not done, looked for
 * from `start` on. False: all are done. *again: somebody else has taken it.
 */
static inline bool weir_move_next_chunk(const struct weir_move *m, unsigned start, uint64_t *chunk,
                                        bool *again)
{
    uint64_t chunks = weir_move_chunks(m);
    *again = false;
    if (weir_load_relaxed(&m->from->chunks) < chunks) {
        *chunk = weir_add_relaxed(&m->from->chunks, 1);
        if (*chunk < chunks)
            return true;
    }
    uint64_t undone = weir_move_all_done(m) & ~weir_load_acquire(&m->from->done);
    if (undone == 0)
        return false;
    *again = true;
    uint64_t later = undone & ~(((uint64_t)1 << (start & 63)) - 1);
    *chunk = (uint64_t)__builtin_ctzll(later != 0 ? later : undone);
    return true;
}

/* Publishes the successor of an array, which is closed after that. False: there is one. */
static inline bool weir_move_publish(struct weir_array *from, struct weir_array *to, uint64_t now,
                                     uint64_t stale_max)
{
    /* Inherited: what was left behind on the way into `from` is not moved again. But one bogus
       instant in the future is not handed down. */
    uint64_t horizon = weir_load_acquire(&from->horizon); /* see weir_array_fresh_at */
    if (horizon > now && horizon - now > stale_max)
        horizon = now;
    weir_store_relaxed(&to->horizon, horizon);
    uint64_t none = 0;
    /* Release: who follows `next` finds the header filled in and the lines zero. */
    return weir_cas_acq_rel(&from->next, &none, weir_array_pack(to));
}

#endif
