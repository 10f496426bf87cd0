/* SPDX-License-Identifier: MIT */
/*
 * A zone as it is read: what its name stands for, a TZif file or a POSIX rule, as stretches of one
 * offset each.
 */
#ifndef WEIR_ZONE_FILE_H
#define WEIR_ZONE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in struct weir_zone, and with room for more. */
struct weir_zone_table {
    size_t count, room;
    int64_t last;      /* the file's last change; INT64_MIN: none within reach */
    bool out_of_reach; /* the file has changes after WEIR_ZONE_INSTANT_MAX */
    int64_t cycle_end;
    int64_t *at, *passed, *offset;
};

/*
 * Reads the zone of a name, which is none that weir_zone_find refuses: 0, or what that returns.
 * errno may change. Whatever is returned, t->at is to be freed; *t is {0} before.
 */
int weir_zone_read(const char *name, struct weir_zone_table *t);

#endif
