import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Clients of one cluster, and what the scripts do with them again and again. Strings in, strings out. */
final class Clients {
    static final Duration BREATH = Duration.ofMillis(50);
    final String servers;

    Clients(String servers) {
        this.servers = servers;
    }

    Admin admin(String... more) {
        return Admin.create(config(more));
    }

    KafkaProducer<String, String> producer(String... more) {
        return new KafkaProducer<>(config(more), new StringSerializer(), new StringSerializer());
    }

    /** Commits only when told to, and begins at the beginning, where `more` says nothing else. */
    KafkaConsumer<String, String> consumer(String... more) {
        Map<String, Object> config = config("enable.auto.commit", "false", "auto.offset.reset", "earliest");
        config.putAll(config(more));
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    KafkaConsumer<String, String> reader(String isolation) {
        return consumer("isolation.level", isolation);
    }

    private Map<String, Object> config(String... more) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        for (int n = 0; n < more.length; n += 2) {
            config.put(more[n], more[n + 1]);
        }
        return config;
    }

    static Set<TopicPartition> partitions(String topic, int count) {
        Set<TopicPartition> partitions = new HashSet<>();
        for (int n = 0; n < count; n++) {
            partitions.add(new TopicPartition(topic, n));
        }
        return partitions;
    }

    static Collection<TopicPartition> one(TopicPartition partition) {
        return Collections.singleton(partition);
    }

    /** Subscribes, and polls until all of those are assigned; prints how long that took. */
    static List<ConsumerRecord<String, String>> join(
            Consumer<String, String> consumer, String topic, Set<TopicPartition> all) throws Exception {
        long[] assigned = new long[1];
        consumer.subscribe(Collections.singletonList(topic), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                assigned[0] = System.nanoTime();
            }
        });
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long start = System.nanoTime();
        Step.await("an assignment of " + all, () -> {
            consumer.poll(BREATH).forEach(records::add);
            return consumer.assignment().equals(all);
        });
        System.out.printf("   assigned after %d ms%n", (assigned[0] - start) / 1_000_000);
        return records;
    }

    /** Polls the members in turn until their assignments are as wanted. */
    @SafeVarargs
    static void settle(
            String what, Predicate<List<Set<TopicPartition>>> wanted, Consumer<String, String>... members)
            throws Exception {
        Step.await(what, () -> {
            List<Set<TopicPartition>> assignments = new ArrayList<>();
            for (Consumer<String, String> member : members) {
                member.poll(BREATH);
            }
            for (Consumer<String, String> member : members) {
                assignments.add(member.assignment());
            }
            return wanted.test(assignments);
        });
    }

    /** Polls, whatever comes, until the broker refuses. */
    static void refuses(Consumer<String, String> consumer, Class<? extends Throwable> kind) {
        Step.refused(() -> Step.await("a refusal", () -> consumer.poll(Clients.BREATH) == null), kind);
    }

    /** True where each member has something, and all of them together each partition once. */
    static Predicate<List<Set<TopicPartition>>> share(Set<TopicPartition> all) {
        return assignments -> {
            Set<TopicPartition> together = new HashSet<>();
            int count = 0;
            for (Set<TopicPartition> one : assignments) {
                together.addAll(one);
                count += one.isEmpty() ? 1000 : one.size();
            }
            return together.equals(all) && count == all.size();
        };
    }

    /** The values in a partition from an offset on, read by assignment until the end that the consumer may see. */
    static List<String> read(Consumer<String, String> consumer, TopicPartition partition, long from) throws Exception {
        long end = consumer.endOffsets(one(partition)).get(partition);
        consumer.assign(one(partition));
        consumer.seek(partition, from);
        List<String> values = new ArrayList<>();
        Step.await("the end of " + partition, () -> {
            consumer.poll(BREATH).forEach(record -> values.add(record.value()));
            return consumer.position(partition) >= end;
        });
        return values;
    }

    static long end(Consumer<String, String> consumer, TopicPartition partition) {
        return consumer.endOffsets(one(partition)).get(partition);
    }

    static List<String> list(String... values) {
        return Arrays.asList(values);
    }

    static Set<String> set(String... values) {
        return new TreeSet<>(list(values));
    }
}
