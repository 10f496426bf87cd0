// SPDX-License-Identifier: MIT
package weir.bench;

/** Ends the program: a word for standard error, and the exit status. */
final class Refusal extends RuntimeException {
    /** Wrong usage, or a trace that is none. */
    static final int WRONG = 2;
    /** A combination that the peer cannot do. */
    static final int CANNOT = 3;

    private static final long serialVersionUID = 1;
    final int status;

    private Refusal(int status, String message) {
        super(message);
        this.status = status;
    }

    static Refusal wrong(String format, Object... values) {
        return new Refusal(WRONG, String.format(format, values));
    }

    static Refusal cannot(String format, Object... values) {
        return new Refusal(CANNOT, String.format(format, values));
    }
}
