// SPDX-License-Identifier: MIT
package weir.bench;

/**
 * A thread, its list of records, and the loop that is measured.
 *
 * <p>The given clock is the field {@code now} of the thread that asks: what reads it needs no table
 * of thread-locals, only the thread itself, which the JIT has in a register.
 */
final class Player extends Thread {
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
                        admitted += play(subject, list, crew.startOfPass(p));
                    }
                }
                crew.ends();
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    /**
     * One pass; returns how many were admitted. A method of its own, so that it is compiled as a
     * whole and not only replaced on the stack. Of the subjects one alone is ever loaded, so the
     * call is direct and may be inlined.
     */
    private long play(Subject subject, long[] list, long start) {
        long count = 0;
        for (int i = 0; i < list.length; i += Trace.WIDTH) {
            now = start + list[i + 2];
            if (subject.allow(list[i], list[i + 1])) {
                count++;
            }
        }
        return count;
    }
}
