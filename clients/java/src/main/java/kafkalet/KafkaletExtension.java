package kafkalet;

import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A kafkalet broker for JUnit 5.
 *
 * <pre>{@code
 * @RegisterExtension
 * static final KafkaletExtension kafka = new KafkaletExtension(Kafkalet.options().topics("orders:6"));
 *
 * @Test
 * void orderIsPublished() {
 *     Map<String, Object> config = Map.of("bootstrap.servers", kafka.bootstrapServers());
 *     ...
 *     kafka.topic("orders").waitFor(1, Match.any().key("7"));
 * }
 * }</pre>
 *
 * A static field is one broker for all tests of the class, an instance field a new broker for each test. With
 * {@code @ExtendWith(KafkaletExtension.class)} the class has one broker with default options; tests take it as a parameter
 * of type {@link Kafkalet}.
 */
public final class KafkaletExtension extends Control
        implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
    private final ExtensionContext.Namespace namespace = ExtensionContext.Namespace.create(this);
    private final Kafkalet.Options options;
    private volatile Kafkalet broker;

    /** A broker with default options. */
    public KafkaletExtension() {
        this(Kafkalet.options());
    }

    /** A broker with these options. */
    public KafkaletExtension(Kafkalet.Options options) {
        this.options = options;
    }

    @Override
    public String bootstrapServers() {
        return broker().bootstrapServers();
    }

    @Override
    public String controlUrl() {
        return broker().controlUrl();
    }

    /**
     * The broker of the running test.
     *
     * @throws IllegalStateException before the first test and after the last one
     */
    public Kafkalet broker() {
        Kafkalet running = broker;
        if (running == null) {
            throw new IllegalStateException("no broker is running; it starts before @BeforeAll or @BeforeEach methods");
        }
        return running;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        start(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        start(context);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == Kafkalet.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        start(context);
        return broker();
    }

    /** Starts a broker unless one runs in this context or an outer one. JUnit closes it at the end of the context. */
    private void start(ExtensionContext context) {
        context.getStore(namespace).getOrComputeIfAbsent("broker", key -> new Running());
    }

    private final class Running implements ExtensionContext.Store.CloseableResource {
        Running() {
            broker = options.start();
        }

        @Override
        public void close() {
            Kafkalet running = broker;
            broker = null;
            running.close();
        }
    }
}
