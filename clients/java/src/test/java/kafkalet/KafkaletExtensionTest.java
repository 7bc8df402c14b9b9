package kafkalet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

class KafkaletExtensionTest {
    @RegisterExtension
    static final KafkaletExtension ofClass = new KafkaletExtension(Kafkalet.options().topics("orders:3"));

    static String first;

    @BeforeAll
    static void brokerRunsBeforeAllTests() {
        first = ofClass.bootstrapServers();
    }

    @RepeatedTest(2)
    void staticFieldHasOneBrokerForAllTests() throws Exception {
        assertEquals(first, ofClass.bootstrapServers());
        KafkaletTest.connect(ofClass.bootstrapServers());
    }

    @Nested
    class Inside {
        @Test
        void nestedClassHasTheBrokerOfTheClassAroundIt() {
            assertEquals(first, ofClass.bootstrapServers());
        }
    }

    @Nested
    class WithInstanceField {
        static String previous = "";

        @RegisterExtension
        final KafkaletExtension ofTest = new KafkaletExtension();

        @RepeatedTest(2)
        void instanceFieldHasOneBrokerForEachTest() throws Exception {
            assertNotEquals(first, ofTest.bootstrapServers());
            KafkaletTest.connect(ofTest.bootstrapServers());
            if (!previous.isEmpty() && !previous.equals(ofTest.bootstrapServers())) {
                KafkaletTest.assertRefused(previous);
            }
            previous = ofTest.bootstrapServers();
        }
    }

    @Nested
    @ExtendWith(KafkaletExtension.class)
    class WithAnnotation {
        static Kafkalet previous;

        @RepeatedTest(2)
        void parameterIsTheBrokerOfTheClass(Kafkalet broker) throws Exception {
            KafkaletTest.connect(broker.bootstrapServers());
            if (previous != null) {
                assertSame(previous, broker);
            }
            previous = broker;
        }
    }
}
