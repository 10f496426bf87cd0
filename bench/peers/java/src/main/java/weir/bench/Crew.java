// SPDX-License-Identifier: MIT
package weir.bench;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/**
 * The threads that play, all of them as many passes.
 *
 * <p>Before each bout they meet at a barrier, and the last to come looks at the clock and says how
 * many passes the next bout has: one, then as many as fit in what is left of the time. So the clock
 * is never read while passes are played, and threads wait for each other a few times a run. Between
 * runs they are parked.
 */
final class Crew {
    /** The given clock at the start of pass 0, ns: any number that is not 0 will do. */
    private static final long START = 1_000_000_000L;
    private static final int BOUT_MAX = 1_000_000;

    /** What a run showed. */
    record Outcome(long passes, long nanos, long cpuNanos, long admitted) {
    }

    private final long span;
    private final Player[] players;
    private final CyclicBarrier gate;
    private final CyclicBarrier meeting;

    /* The barriers order all of these. */
    private long wanted;
    private boolean playing;
    private long began;
    private long cpuBegan;
    private long nanos;
    private long cpuNanos;
    /** Of the present bout, 0: none, the run is over. */
    private int bout;
    /** Passes of this run, without the present bout. */
    private long done;
    /** Passes since the beginning, without the present bout. */
    private long pass;

    Crew(Trace trace, Subject subject) {
        span = trace.span;
        players = new Player[trace.lists.length];
        gate = new CyclicBarrier(players.length + 1);
        meeting = new CyclicBarrier(players.length, this::decide);
        for (int t = 0; t < players.length; t++) {
            players[t] = new Player(this, subject, trace.lists[t], "player-" + t);
            players[t].start();
        }
    }

    /** Plays whole passes, at least one, until so much time has passed. */
    Outcome run(double seconds) {
        wanted = (long) (seconds * 1e9);
        await(gate);
        await(gate);
        long admitted = 0;
        for (Player player : players) {
            admitted += player.admitted;
        }
        return new Outcome(done, nanos, cpuNanos, admitted);
    }

    boolean begins() {
        await(gate);
        return true;
    }

    void ends() {
        await(gate);
    }

    /** How many passes all threads play next. */
    int agree() {
        await(meeting);
        return bout;
    }

    /** Of the p-th pass of the present bout: the given clock. */
    long startOfPass(int p) {
        return Math.addExact(START, Math.multiplyExact(pass + p, span));
    }

    private void decide() {
        long at = System.nanoTime();
        if (!playing) {
            playing = true;
            done = 0;
            bout = 1;
            cpuBegan = Processor.nanos();
            began = System.nanoTime();
            return;
        }
        done += bout;
        pass += bout;
        nanos = at - began;
        if (nanos >= wanted) {
            cpuNanos = Processor.nanos() - cpuBegan;
            playing = false;
            bout = 0;
            return;
        }
        double passNanos = Math.max(1.0, (double) nanos / done);
        bout = (int) Math.max(1, Math.min(BOUT_MAX, (wanted - nanos) / passNanos));
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
