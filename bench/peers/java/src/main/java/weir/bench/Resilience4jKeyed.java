// SPDX-License-Identifier: MIT
package weir.bench;

import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import java.math.BigInteger;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

/**
 * A limiter per key in a ConcurrentHashMap made for as many keys; all have one name and one
 * configuration.
 *
 * <p>It gives a number of permissions in each cycle. The nearest that it has to a token bucket:
 * burst in each cycle of the time in which an empty bucket fills, so rate and burst are the same.
 */
final class Resilience4jKeyed extends Subject {
    private final ConcurrentHashMap<Long, RateLimiter> limiters;
    private final RateLimiterConfig config;
    private final Supplier<Long> clock;

    Resilience4jKeyed(Trace trace, boolean given) {
        needsTokens(trace);
        toInt(trace.nMax, "the largest n");
        limiters = new ConcurrentHashMap<>(trace.keys);
        config = RateLimiterConfig.custom().limitForPeriod(toInt(trace.burst, "burst"))
                .limitRefreshPeriod(Duration.ofNanos(fillNanos(trace)))
                .timeoutDuration(Duration.ZERO).build();
        clock = given ? Player::givenNow : System::nanoTime;
    }

    @Override
    boolean allow(long key, long n) {
        RateLimiter limiter = limiters.get(key);
        if (limiter == null) {
            limiter = limiters.computeIfAbsent(key, k -> RateLimiter.of("key", config, clock));
        }
        return limiter.acquirePermission((int) n);
    }

    /** burst * period / limit, rounded up to ns. */
    private static long fillNanos(Trace trace) {
        BigInteger limit = BigInteger.valueOf(trace.limit);
        return BigInteger.valueOf(trace.burst).multiply(BigInteger.valueOf(trace.period))
                .add(limit).subtract(BigInteger.ONE).divide(limit).longValueExact();
    }
}
