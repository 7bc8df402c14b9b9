import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * OldSteps BOOTSTRAP TOPIC: the steps that kafka-clients 0.10.1 knows: no headers, idempotence, transactions or admin.
 *
 * <p>TOPIC has three partitions and nothing in them. A poll of this client waits until its group has settled.
 */
public class OldSteps {
    private static final int COUNT = 1000;
    private final String servers;
    private final String topic;
    private final Set<TopicPartition> all = new HashSet<>();
    private final long base = System.currentTimeMillis() - 1_000_000;
    private final Map<TopicPartition, List<Integer>> sent = new HashMap<>();

    private OldSteps(String servers, String topic) {
        this.servers = servers;
        this.topic = topic;
        for (int n = 0; n < 3; n++) {
            all.add(new TopicPartition(topic, n));
        }
    }

    public static void main(String[] args) {
        OldSteps steps = new OldSteps(args[0], args[1]);
        Step.run("produce", steps::produce);
        Step.run("resume", steps::resume);
        Step.run("rebalance", steps::rebalance);
        Step.run("times", steps::times);
        Step.run("codecs", steps::codecs);
        Step.run("describe", steps::describe);
        Step.run("out of range", steps::outOfRange);
    }

    private Map<String, Object> config(String... more) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("enable.auto.commit", "false");
        config.put("auto.offset.reset", "earliest");
        for (int n = 0; n < more.length; n += 2) {
            config.put(more[n], more[n + 1]);
        }
        return config;
    }

    private KafkaConsumer<String, String> consumer(String... more) {
        return new KafkaConsumer<>(config(more), new StringDeserializer(), new StringDeserializer());
    }

    private KafkaProducer<String, String> producer(String codec) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("acks", "all");
        config.put("linger.ms", "20");
        config.put("compression.type", codec);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private void produce() throws Exception {
        try (KafkaProducer<String, String> producer = producer("none")) {
            List<Future<RecordMetadata>> answers = new ArrayList<>();
            for (int n = 0; n < COUNT; n++) {
                answers.add(producer.send(
                        new ProducerRecord<>(topic, null, base + n, "key " + n % 100, "value " + n)));
            }
            for (int n = 0; n < COUNT; n++) {
                RecordMetadata answer = answers.get(n).get();
                TopicPartition partition = new TopicPartition(topic, answer.partition());
                List<Integer> before = sent.get(partition);
                if (before == null) {
                    sent.put(partition, before = new ArrayList<>());
                }
                Step.same("offset of record " + n, (long) before.size(), answer.offset());
                before.add(n);
            }
        }
        Step.same("partitions with records", all, sent.keySet());
    }

    private void resume() throws Exception {
        String[] member = {"group.id", topic + "-group", "max.poll.records", "100"};
        List<ConsumerRecord<String, String>> read = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer(member)) {
            join(consumer, read);
            Step.await("some records", () -> poll(consumer, read) >= 400);
            consumer.commitSync();
        }
        Step.holds("some are left", read.size() < COUNT);
        try (KafkaConsumer<String, String> consumer = consumer(member)) {
            join(consumer, read);
            Step.await("the rest", () -> poll(consumer, read) >= COUNT);
            consumer.commitSync();
        }
        Step.same("records read", COUNT, read.size());
        for (ConsumerRecord<String, String> record : read) {
            int n = sent.get(new TopicPartition(topic, record.partition())).get((int) record.offset());
            Step.same("record", "key " + n % 100 + " value " + n, record.key() + " " + record.value());
            Step.same("timestamp", base + n, record.timestamp());
        }
        try (KafkaConsumer<String, String> consumer = consumer(member)) {
            List<ConsumerRecord<String, String>> more = new ArrayList<>();
            join(consumer, more);
            for (TopicPartition partition : all) {
                long end = sent.get(partition).size();
                Step.same("position", end, consumer.position(partition));
                Step.same("committed", end, consumer.committed(partition).offset());
            }
            Step.same("records after a restart", 0, more.size());
        }
    }

    private void join(KafkaConsumer<String, String> consumer, List<ConsumerRecord<String, String>> into)
            throws Exception {
        consumer.subscribe(Collections.singletonList(topic));
        long start = System.nanoTime();
        poll(consumer, into);
        Step.same("assignment", all, consumer.assignment());
        System.out.printf("   assigned after %d ms%n", (System.nanoTime() - start) / 1_000_000);
    }

    private static int poll(KafkaConsumer<String, String> consumer, List<ConsumerRecord<String, String>> into) {
        for (ConsumerRecord<String, String> record : consumer.poll(50)) {
            into.add(record);
        }
        return into.size();
    }

    private void rebalance() throws Exception {
        try (Member one = new Member()) {
            Step.await("all partitions", () -> one.assignment.equals(all));
            try (Member two = new Member()) {
                Step.await("two members share", () -> shared(one.assignment, two.assignment));
            }
            Step.await("one member has all", () -> one.assignment.equals(all));
        }
    }

    private boolean shared(Set<TopicPartition> one, Set<TopicPartition> two) {
        Set<TopicPartition> together = new HashSet<>(one);
        together.addAll(two);
        return together.equals(all) && one.size() + two.size() == all.size() && one.size() < 3 && two.size() < 3;
    }

    /** A consumer that polls in a thread of its own. */
    private final class Member implements AutoCloseable, ConsumerRebalanceListener, Runnable {
        private final KafkaConsumer<String, String> consumer =
                consumer("group.id", topic + "-pair", "heartbeat.interval.ms", "200");
        private final Thread thread = new Thread(this);
        private volatile Set<TopicPartition> assignment = Collections.emptySet();

        Member() {
            consumer.subscribe(Collections.singletonList(topic), this);
            thread.start();
        }

        @Override
        public void run() {
            try {
                while (true) {
                    consumer.poll(1000);
                }
            } catch (WakeupException end) {
                consumer.close();
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            assignment = new HashSet<>(partitions);
        }

        @Override
        public void close() throws InterruptedException {
            consumer.wakeup();
            thread.join();
        }
    }

    private void times() {
        try (KafkaConsumer<String, String> consumer = consumer()) {
            Map<TopicPartition, Long> asked = new HashMap<>();
            for (TopicPartition partition : all) {
                asked.put(partition, base + 500);
            }
            Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(asked);
            for (TopicPartition partition : all) {
                List<Integer> numbers = sent.get(partition);
                int first = 0;
                while (numbers.get(first) < 500) {
                    first++;
                }
                Step.same("offset by time", (long) first, found.get(partition).offset());
                Step.same("its time", base + numbers.get(first), found.get(partition).timestamp());
            }
            for (TopicPartition partition : all) {
                asked.put(partition, base + 900_000);
            }
            Step.same("no such time", null, consumer.offsetsForTimes(asked).get(all.iterator().next()));
            Step.same("beginnings", Collections.singleton(0L), new HashSet<>(consumer.beginningOffsets(all).values()));
            for (Map.Entry<TopicPartition, Long> end : consumer.endOffsets(all).entrySet()) {
                Step.same("end", (long) sent.get(end.getKey()).size(), end.getValue());
            }
        }
    }

    private void codecs() throws Exception {
        TopicPartition partition = new TopicPartition(topic, 0);
        long from = sent.get(partition).size();
        List<String> wanted = new ArrayList<>();
        for (String codec : Arrays.asList("gzip", "snappy", "lz4")) {
            try (KafkaProducer<String, String> producer = producer(codec)) {
                for (int n = 0; n < 50; n++) {
                    String value = codec + " " + n + " .................................................";
                    wanted.add(value);
                    producer.send(new ProducerRecord<>(topic, 0, "key", value));
                }
            }
        }
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = consumer()) {
            consumer.assign(Collections.singletonList(partition));
            consumer.seek(partition, from);
            Step.await("150 values", () -> {
                for (ConsumerRecord<String, String> record : consumer.poll(50)) {
                    found.add(record.value());
                }
                return found.size() >= wanted.size();
            });
        }
        Step.same("values", wanted, found);
    }

    private void describe() {
        try (KafkaConsumer<String, String> consumer = consumer()) {
            Step.same("partitions", 3, consumer.partitionsFor(topic).size());
            Step.same("of the list", 3, consumer.listTopics().get(topic).size());
            Step.same("in sync", 1, consumer.partitionsFor(topic).get(0).inSyncReplicas().length);
        }
    }

    private void outOfRange() {
        try (KafkaConsumer<String, String> consumer =
                consumer("auto.offset.reset", "none", "group.id", topic + "-range")) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(Collections.singletonList(partition));
            Step.refused(() -> Step.await("a refusal", () -> !consumer.poll(50).isEmpty()),
                    NoOffsetForPartitionException.class);
            consumer.seek(partition, 9999);
            Step.refused(() -> Step.await("a refusal", () -> !consumer.poll(50).isEmpty()),
                    OffsetOutOfRangeException.class);
        }
    }
}
