/* SPDX-License-Identifier: MIT */
/*
 * The word: 64 bits that are all the state of one key under one limit.
 *
 *    63      62 .. 58      57 .. 0
 *    0    | generation |   payload        in an engine; generation 1 to 31; bit 63 is for moves
 *
 *    1    |        payload (63 bits)      in a cell
 *
 * Word 0 is a key that was never used. Generation 0 is never given out and a cell's words have
 * bit 63, so that a used word is never 0 again: 0 may always be replaced, any other word only by
 * a compare-and-swap from the value that the new one was computed from.
 */
#ifndef WEIR_SLOT_WORD_H
#define WEIR_SLOT_WORD_H

#include <stdint.h>

#define WEIR_WORD_FROZEN  ((uint64_t)1 << 63) /* a move is copying this slot */
#define WEIR_PAYLOAD_BITS 58
#define WEIR_PAYLOAD_MAX  (((uint64_t)1 << WEIR_PAYLOAD_BITS) - 1)
#define WEIR_GENERATIONS  31

#define WEIR_CELL_MARK ((uint64_t)1 << 63)
#define WEIR_CELL_SPAN (WEIR_CELL_MARK - 1)
/* Room above the line's end for a full bucket and as much debt: 30 years are left of 31. */
#define WEIR_CELL_LINE_MAX (WEIR_CELL_SPAN - ((uint64_t)1 << 57))

static inline uint64_t weir_word_mark(unsigned generation)
{
    return (uint64_t)generation << WEIR_PAYLOAD_BITS;
}

static inline unsigned weir_word_generation(uint64_t word)
{
    return (unsigned)(word >> WEIR_PAYLOAD_BITS) & WEIR_GENERATIONS;
}

#endif
