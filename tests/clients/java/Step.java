import java.util.Objects;
import java.util.concurrent.ExecutionException;

/** Steps of a script: each prints "ok NAME", or what differed, which ends the program. */
final class Step {
    private static final long PATIENCE_MS = 30_000;

    interface Body {
        void run() throws Exception;
    }

    interface Condition {
        boolean holds() throws Exception;
    }

    static void run(String name, Body body) {
        try {
            body.run();
        } catch (Throwable different) {
            System.out.println("failed " + name + ": " + different);
            different.printStackTrace();
            System.exit(1);
        }
        System.out.println("ok " + name);
    }

    static void same(String what, Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError(what + ": " + found + ", not " + expected);
        }
    }

    static void holds(String what, boolean condition) {
        if (!condition) {
            throw new AssertionError("not so: " + what);
        }
    }

    /** Asks again until it is so, or patience ends. */
    static void await(String what, Condition condition) throws Exception {
        long end = System.nanoTime() + PATIENCE_MS * 1_000_000;
        while (!condition.holds()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("never came: " + what);
            }
            Thread.sleep(5);
        }
    }

    /** The refusal of that kind, bare or as what a future failed with. */
    @SafeVarargs
    static Throwable refused(Body body, Class<? extends Throwable>... kinds) {
        Throwable thrown = null;
        try {
            body.run();
        } catch (ExecutionException future) {
            thrown = future.getCause();
        } catch (Throwable other) {
            thrown = other;
        }
        for (Class<? extends Throwable> kind : kinds) {
            if (kind.isInstance(thrown)) {
                return thrown;
            }
        }
        throw new AssertionError("refused by " + thrown + ", not by " + kinds[0].getSimpleName(), thrown);
    }
}
