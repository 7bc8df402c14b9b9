package kafkalet;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/**
 * {@code Runner FILE SECONDS SELECTOR...}: runs tests, and appends a line to a file when one ends.
 *
 * A selector is the name of a class, CLASS#METHOD, or a unique id of JUnit. A test is interrupted after some seconds. If it
 * does not end within ten more, the JVM exits with status 3, to be started again: tests with a line are not run again.
 *
 * A line has the unique id, class, method, display name, status, seconds, what the test used inside Kafka, and the error.
 */
public final class Runner implements TestExecutionListener {
    private static final int GRACE_S = 10;
    private static final Set<String> DONE = new HashSet<>();
    private static final Set<String> SEEN = new HashSet<>();

    private final Path file;
    private volatile TestIdentifier current;
    private volatile Thread thread;
    private volatile long startedNs;
    private volatile boolean interrupted;

    private Runner(Path file) {
        this.file = file;
    }

    public static void main(String[] args) throws Exception {
        Path file = Path.of(args[0]);
        int seconds = Integer.parseInt(args[1]);
        if (Files.exists(file)) Files.readAllLines(file).forEach(line -> DONE.add(line.split("\t")[0]));
        Runner runner = new Runner(file);
        Thread watchdog = new Thread(() -> runner.watch(seconds), "watchdog");
        watchdog.setDaemon(true);
        watchdog.start();
        LauncherFactory.create().execute(LauncherDiscoveryRequestBuilder.request()
            .selectors(Arrays.stream(args).skip(2).map(Runner::selector).toList())
            .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
            .build(), runner);
        System.exit(0);  // threads that tests left behind must not keep the JVM alive
    }

    private static DiscoverySelector selector(String text) {
        if (text.startsWith("[")) return DiscoverySelectors.selectUniqueId(text);
        return text.contains("#") ? DiscoverySelectors.selectMethod(text) : DiscoverySelectors.selectClass(text);
    }

    private void watch(int seconds) {
        Optional<ProcessHandle> parent = ProcessHandle.current().parent();
        try {
            while (true) {
                Thread.sleep(500);
                if (!parent.equals(ProcessHandle.current().parent())) Runtime.getRuntime().halt(1);  // it was killed
                TestIdentifier test = current;
                if (test == null) continue;
                long age = age();
                if (age > seconds && !interrupted) {
                    interrupted = true;
                    thread.interrupt();
                } else if (age > seconds + GRACE_S) {
                    write(test, "FAILED", "does not end");
                    Runtime.getRuntime().halt(3);
                }
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private long age() {
        return (System.nanoTime() - startedNs) / 1_000_000_000;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (!test.isTest()) return;
        Internals.first = null;
        thread = Thread.currentThread();
        interrupted = false;
        startedNs = System.nanoTime();
        current = test;
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        if (!reason.contains(SkipRepeated.REASON)) write(test, "SKIPPED", reason);
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        current = null;
        boolean isFailed = result.getStatus() == TestExecutionResult.Status.FAILED;
        if (!test.isTest() && !isFailed) return;
        String status = result.getStatus() == TestExecutionResult.Status.SUCCESSFUL ? "PASSED" : isFailed ? "FAILED" : "SKIPPED";
        write(test, status, result.getThrowable().map(Runner::text).orElse(""));
    }

    /** Returns an error and its causes, and prints the stack to the console. */
    private static String text(Throwable error) {
        StringWriter stack = new StringWriter();
        error.printStackTrace(new PrintWriter(stack));
        System.out.println(stack);
        String text = error.toString();
        for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) text += " <- " + cause;
        return text;
    }

    private synchronized void write(TestIdentifier test, String status, String error) {
        String id = test.getUniqueId();
        if (!DONE.add(id)) return;
        String type = id.replaceFirst(".*?\\[class:([^]]*)].*", "$1");
        String method = "";
        if (test.getSource().orElse(null) instanceof MethodSource source) method = source.getMethodName();
        else if (test.getSource().orElse(null) instanceof ClassSource source) type = source.getClassName();
        String used = Internals.first == null ? "" : Internals.first;
        String seconds = Long.toString(startedNs == 0 || status.equals("SKIPPED") ? 0 : age());
        String line = String.join("\t", id, type, method, clean(test.getDisplayName()), status, seconds, used, clean(error));
        System.out.println(line.substring(line.indexOf('\t') + 1));
        try {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static String clean(String text) {
        String line = text.replaceAll("\\s+", " ").strip();
        return line.substring(0, Math.min(line.length(), 1000));
    }

    /**
     * Skips tests that ran before, and those with a combined broker and controller that also run with isolated ones: they are
     * the same for another broker.
     */
    public static final class SkipRepeated implements ExecutionCondition {
        static final String REASON = "RAN BEFORE";

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            if (context.getTestMethod().isEmpty()) return ConditionEvaluationResult.enabled("");
            String id = context.getUniqueId();
            String name = context.getDisplayName();
            boolean runs = !DONE.contains(id);
            if (name.contains("Type=Raft-")) {
                String rest = id.replaceAll("#\\d+]", "") + name.replaceAll("\\[\\d+] Type=Raft-\\w+", "");
                if (name.contains("Type=Raft-Isolated")) SEEN.add(rest);
                else if (SEEN.contains(rest)) runs = false;
            }
            return runs ? ConditionEvaluationResult.enabled("") : ConditionEvaluationResult.disabled(REASON);
        }
    }
}
