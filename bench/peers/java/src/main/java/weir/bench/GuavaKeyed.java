// SPDX-License-Identifier: MIT
package weir.bench;

import com.google.common.util.concurrent.RateLimiter;
import java.util.concurrent.ConcurrentHashMap;

/** A limiter per key in a ConcurrentHashMap made for as many keys. It has no setting for burst. */
@SuppressWarnings("UnstableApiUsage")
final class GuavaKeyed extends Subject {
    private final ConcurrentHashMap<Long, RateLimiter> limiters;
    private final double perSecond;

    GuavaKeyed(Trace trace) {
        needsTokens(trace);
        toInt(trace.nMax, "the largest n");
        limiters = new ConcurrentHashMap<>(trace.keys);
        perSecond = trace.limit * 1e9 / trace.period;
    }

    @Override
    boolean allow(long key, long n) {
        RateLimiter limiter = limiters.get(key);
        if (limiter == null) {
            limiter = limiters.computeIfAbsent(key, k -> RateLimiter.create(perSecond));
        }
        return limiter.tryAcquire((int) n);
    }
}
