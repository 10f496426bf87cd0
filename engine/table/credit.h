/* SPDX-License-Identifier: MIT */
/*
 * Credits: how max_keys is dealt to the shards, so that the bound holds without a hot counter.
 *
 * A shard takes them by the block, pays one for each new key, gets one back for each key that it
 * leaves behind, and then gives whole blocks back. A key is paid for after its slot was claimed, so
 * that who finds no credit left finds the slot: without that, two threads that meet a new key could
 * take one of them for refused and the other for placed. So credits may fall below 0, by one for
 * each key that is claimed in the very moment when the last is taken.
 *
 * Common subset of C11 and C++11.
 */
#ifndef WEIR_TABLE_CREDIT_H
#define WEIR_TABLE_CREDIT_H

#include "table/table.h"

/* Acquire: pairs with weir_credit_pay; who finds none left sees the tags that they went for, his
   own key's perhaps. */
static inline bool weir_credit_is_left(const struct weir_share *share)
{
    return (int64_t)weir_load_acquire(&share->credits) > 0;
}

/*
 * Deals a shard a block. It has the credits before they are taken from the others, so that there is
 * no moment when neither has them. False: there are none.
 */
static inline bool weir_credit_deal(struct weir_table *t, struct weir_share *share)
{
    uint64_t block = (uint64_t)1 << t->block_log2;
    uint64_t unspent = weir_load_acquire(&t->unspent);
    if (unspent == 0)
        return false;
    weir_add_relaxed(&share->credits, block);
    while (unspent != 0) {
        uint64_t dealt = unspent < block ? unspent : block;
        /* Release: who finds nothing unspent finds it with the shard, or spent there. */
        if (weir_cas_acq_rel(&t->unspent, &unspent, unspent - dealt)) {
            weir_add_relaxed(&share->credits, dealt - block);
            return true;
        }
    }
    weir_add_relaxed(&share->credits, 0 - block);
    return false;
}

/* Whether the shard may take a new key; deals it what it needs for that. */
static inline bool weir_credit_ready(struct weir_table *t, struct weir_share *share)
{
    while (!weir_credit_is_left(share)) {
        if (!weir_credit_deal(t, share))
            return weir_credit_is_left(share);
    }
    return true;
}

/* The same, but deals nothing. */
static inline bool weir_credit_is_there(const struct weir_table *t, const struct weir_share *share)
{
    return weir_credit_is_left(share) || weir_load_acquire(&t->unspent) != 0 ||
           weir_credit_is_left(share);
}

/* Pays for n keys whose slots are claimed. Release: see weir_credit_ready. */
static inline void weir_credit_pay(struct weir_share *share, uint64_t n)
{
    weir_add_release(&share->credits, 0 - n);
}

/* Those of keys that were left behind; whole blocks go back, one by one. The others have a block
   before the shard has it no more: see weir_credit_deal. */
static inline void weir_credit_return(struct weir_table *t, struct weir_share *share, uint64_t n)
{
    uint64_t block = (uint64_t)1 << t->block_log2;
    uint64_t credits = weir_add_relaxed(&share->credits, n) + n;
    while ((int64_t)credits >= (int64_t)block) {
        weir_add_release(&t->unspent, block);
        /* Release: who finds none left finds the block unspent. */
        credits = weir_add_release(&share->credits, 0 - block) - block;
    }
}

#endif
