package kafkalet;

/** A test uses an object inside Kafka's broker, or one of its Java plugins. Another broker does not have them. */
public final class Internals extends Error {
    /** The first one that the current test used, even if the test caught the error. */
    static volatile String first;

    public Internals(String what) {
        super("Kafka's own " + what);
        if (first == null) first = what;
    }
}
