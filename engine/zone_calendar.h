/* SPDX-License-Identifier: MIT */
/*
 * The calendar that time zones share: days since 1970, and the months that they fall into.
 */
#ifndef WEIR_ZONE_CALENDAR_H
#define WEIR_ZONE_CALENDAR_H

#include <stdint.h>

#define WEIR_ZONE_DAY_S   ((int64_t)86400)
#define WEIR_ZONE_CYCLE_S (146097 * WEIR_ZONE_DAY_S) /* 400 years */

/* Instants are taken to be no further from 1970: sums of a few such stay far from the ends. */
#define WEIR_ZONE_INSTANT_MAX ((int64_t)100000000000)

static inline int64_t weir_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Month 0 is January 1970. Days are counted in years that begin with March, so that the day that
   not all have comes last; 719468 days lie between the March that begins year 0 and 1970. */
static inline int64_t weir_first_day_of(int64_t month)
{
    int64_t from_march = month + 12 * (int64_t)1970 - 2;
    int64_t year = weir_floor_div(from_march, 12);
    int64_t month_of_year = from_march - 12 * year;
    return 365 * year + weir_floor_div(year, 4) - weir_floor_div(year, 100) +
           weir_floor_div(year, 400) + (153 * month_of_year + 2) / 5 - 719468;
}

static inline int64_t weir_month_of(int64_t day)
{
    int64_t month = weir_floor_div(day * 4800, 146097); /* as if all had the same length */
    while (weir_first_day_of(month) > day)
        month--;
    while (weir_first_day_of(month + 1) <= day)
        month++;
    return month;
}

#endif
