/* SPDX-License-Identifier: MIT */
/* A program of a user: C++11, built against the installed library. */
#include <weir/weir.h>

#include <cstdio>

namespace
{

int fail(const char *what)
{
    std::printf("C++11: %s\n", what);
    return 1;
}

} // namespace

int main()
{
    /* The struct and the function weir_stats share a name; both can be used. */
    struct weir_stats stats = {};
    struct weir *w = nullptr;
    struct weir_policy policy = weir_pacer(10, WEIR_SECOND, 1);

    if (weir_open(&w, nullptr) != 0)
        return fail("no engine");
    const int limit = weir_add_limit(w, "requests", &policy);
    const weir_key key = weir_key_join(weir_key_u64(w, 7), weir_key_text(w, "path"));
    struct weir_reservation reservation;
    const weir_result result =
        weir_reserve(w, limit, key, 3, WEIR_SECOND, WEIR_FOREVER, &reservation);

    if (result.verdict != WEIR_NEVER)
        return fail("three at once are more than it can hold");
    if (weir_take(w, limit, key, 5, WEIR_SECOND) != 2)
        return fail("slack 1 is a burst of 2");
    if (weir_stats(w, &stats) != 0 || stats.keys != 1 || stats.never != 1)
        return fail("the statistics are wrong");
    weir_close(w);
    std::printf("C++11: %s\n", weir_version());
    return 0;
}
