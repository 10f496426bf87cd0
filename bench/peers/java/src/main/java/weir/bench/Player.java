// SPDX-License-Identifier: MIT
package weir.bench;

/**
 * A thread, its list of records, and the loop that is measured.
 *
 * <p>The given clock is the field {@code now} of the thread that asks: what reads it needs no table
 * of thread-locals, only the thread itself, which the JIT has in a register.
 */
final class Player extends Thread {
    private static final int SLICE = 10_000 * Trace.WIDTH;

    /** What the given clock says to this thread, ns. */
    long now;
    /** Admitted in the present run; read by others after the barrier only. */
    long admitted;

    private final Crew crew;
    private final Subject subject;
    private final long[] list;

    Player(Crew crew, Subject subject, long[] list, String name) {
        super(name);
        this.crew = crew;
        this.subject = subject;
        this.list = list;
        setDaemon(true);
    }

    /** What the peers read a given clock by. For who is no player it is long ago. */
    static long givenNow() {
        return Thread.currentThread() instanceof Player player ? player.now : 0;
    }

    @Override
    public void run() {
        try {
            while (crew.begins()) {
                admitted = 0;
                for (int passes = crew.agree(); passes > 0; passes = crew.agree()) {
                    for (int p = 0; p < passes; p++) {
                        admitted += playPass(crew.startOfPass(p));
                    }
                }
                crew.ends();
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    /** One pass; returns how many were admitted. */
    private long playPass(long start) {
        long count = 0;
        int to;
        for (int from = 0; from < list.length; from = to) {
            to = from + Math.min(list.length - from, SLICE);
            count += play(from, to, start);
        }
        return count;
    }

    /**
     * The loop that is measured, over a slice of the list. A method of its own that is called
     * often: so it is soon compiled as a whole, even where a pass has millions of records, and not
     * only replaced on the stack. Of the subjects one alone is ever loaded, so the call is direct
     * and may be inlined.
     */
    private long play(int from, int to, long start) {
        Subject asked = subject;
        long[] records = list;
        long count = 0;
        for (int i = from; i < to; i += Trace.WIDTH) {
            now = start + records[i + 2];
            if (asked.allow(records[i], records[i + 1])) {
                count++;
            }
        }
        return count;
    }
}
