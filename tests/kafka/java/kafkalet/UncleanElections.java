package kafkalet;

import com.fasterxml.jackson.databind.JsonNode;
import com.yammer.metrics.core.Meter;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import com.yammer.metrics.core.MetricsRegistry;

import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.mockito.Mockito;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Kafka's metric UncleanLeaderElectionsPerSec: how often a broker that was not in sync has become the leader of a partition. */
final class UncleanElections implements AutoCloseable {
    private static final MetricName NAME = new MetricName("kafka.controller", "ControllerStats", "UncleanLeaderElectionsPerSec");

    private final Kafkalet kafkalet;
    private final Map<String, Set<Integer>> inSync = new HashMap<>();
    private long count;

    UncleanElections(Kafkalet kafkalet) {
        this.kafkalet = kafkalet;
        MetricsRegistry registry = KafkaYammerMetrics.defaultRegistry();
        registry.removeMetric(NAME);
        Meter meter = Mockito.mock(Meter.class, Mockito.withSettings().stubOnly());
        Mockito.when(meter.count()).thenAnswer(call -> look());
        try {
            Method add = MetricsRegistry.class.getDeclaredMethod("getOrAdd", MetricName.class, Metric.class);
            add.setAccessible(true);
            add.invoke(registry, NAME, meter);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Returns the count until now. It has to look at the leaders and ISRs after each broker that stops. */
    long look() {
        for (JsonNode topic : kafkalet.get("/v1/topics").get("topics")) {
            for (JsonNode partition : topic.get("partitions")) {
                Set<Integer> isr = new HashSet<>();
                partition.get("isr").forEach(node -> isr.add(node.asInt()));
                int leader = partition.path("leader").asInt(-1);
                Set<Integer> before = inSync.put(topic.get("topic_id").asText() + partition.get("partition"), isr);
                if (before != null && leader >= 0 && !before.contains(leader)) count++;
            }
        }
        return count;
    }

    @Override
    public void close() {
        KafkaYammerMetrics.defaultRegistry().removeMetric(NAME);
    }
}
