// SPDX-License-Identifier: MIT
package weir.bench;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.local.SynchronizationStrategy;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;

/** A lock-free bucket per key in a ConcurrentHashMap made for as many keys. */
final class Bucket4jKeyed extends Subject {
    private final ConcurrentHashMap<Long, Bucket> buckets;
    private final Bandwidth bandwidth;
    private final TimeMeter clock;

    Bucket4jKeyed(Trace trace, boolean given) {
        needsTokens(trace);
        buckets = new ConcurrentHashMap<>(trace.keys);
        bandwidth = bandwidth(trace);
        clock = clock(given);
    }

    @Override
    boolean allow(long key, long n) {
        Bucket bucket = buckets.get(key);
        if (bucket == null) {
            bucket = buckets.computeIfAbsent(key, k -> bucket(bandwidth, clock));
        }
        return bucket.tryConsume(n);
    }

    /** Tokens come one by one, as a token bucket's; it begins full. */
    static Bandwidth bandwidth(Trace trace) {
        return Bandwidth.builder().capacity(trace.burst)
                .refillGreedy(trace.limit, Duration.ofNanos(trace.period)).build();
    }

    static Bucket bucket(Bandwidth bandwidth, TimeMeter clock) {
        return Bucket.builder().addLimit(bandwidth).withCustomTimePrecision(clock)
                .withSynchronizationStrategy(SynchronizationStrategy.LOCK_FREE).build();
    }

    static TimeMeter clock(boolean given) {
        return given ? new GivenClock() : TimeMeter.SYSTEM_NANOTIME;
    }

    private static final class GivenClock implements TimeMeter {
        @Override
        public long currentTimeNanos() {
            return Player.givenNow();
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    }
}
