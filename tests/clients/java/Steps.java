import java.nio.charset.StandardCharsets;
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
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;

/** Steps BOOTSTRAP PREFIX: what every client does in these tests, with kafka-clients 2.4 and later. */
public class Steps {
    private static final int COUNT = 1000;
    private final Clients clients;
    private final Admin admin;
    private final String topic;
    private final String group;
    private final String name;
    private final Set<TopicPartition> all;
    private final long base = System.currentTimeMillis() - 1_000_000;
    private final Map<TopicPartition, List<Integer>> sent = new HashMap<>();

    private Steps(String servers, String prefix) {
        clients = new Clients(servers);
        admin = clients.admin();
        name = prefix;
        topic = prefix + "-records";
        group = prefix + "-group";
        all = Clients.partitions(topic, 3);
    }

    public static void main(String[] args) {
        Steps steps = new Steps(args[0], args[1]);
        Step.run("create", steps::create);
        Step.run("produce", steps::produce);
        Step.run("resume", steps::resume);
        Step.run("rebalance", steps::rebalance);
        Step.run("times", steps::times);
        Step.run("transactions", steps::transactions);
        Step.run("offsets in a transaction", steps::offsetsInTransaction);
        Step.run("fencing", steps::fencing);
        Step.run("delete records", steps::deleteRecords);
        Step.run("codecs", steps::codecs);
        Step.run("describe", steps::describe);
        Step.run("delete", steps::delete);
        Step.run("unknown topic", steps::unknownTopic);
        Step.run("out of range", steps::outOfRange);
        steps.admin.close();
    }

    private void create() throws Exception {
        create(topic, 3, Collections.singletonMap("retention.ms", "86400000"));
        Step.same("partitions", 3, Api.topics(admin, Clients.list(topic)).get(topic).partitions().size());
        Step.refused(() -> create(topic, 3, Collections.emptyMap()), TopicExistsException.class);
    }

    private void create(String topic, int partitions, Map<String, String> config) throws Exception {
        NewTopic wanted = new NewTopic(topic, partitions, (short) 1).configs(config);
        admin.createTopics(Collections.singleton(wanted)).all().get();
        Step.await("topic " + topic, () -> admin.listTopics().names().get().contains(topic));
    }

    private void produce() throws Exception {
        try (KafkaProducer<String, String> producer =
                clients.producer("enable.idempotence", "true", "acks", "all", "linger.ms", "5")) {
            List<Future<RecordMetadata>> answers = new ArrayList<>();
            for (int n = 0; n < COUNT; n++) {
                ProducerRecord<String, String> record =
                        new ProducerRecord<>(topic, null, base + n, "key " + n % 100, "value " + n);
                record.headers().add("number", String.valueOf(n).getBytes(StandardCharsets.UTF_8));
                record.headers().add("nothing", null);
                answers.add(producer.send(record));
            }
            for (int n = 0; n < COUNT; n++) {
                RecordMetadata answer = answers.get(n).get();
                List<Integer> before = sent.computeIfAbsent(
                        new TopicPartition(topic, answer.partition()), key -> new ArrayList<>());
                Step.same("offset of record " + n, (long) before.size(), answer.offset());
                before.add(n);
            }
        }
        Step.same("partitions with records", all, sent.keySet());
    }

    private void resume() throws Exception {
        List<ConsumerRecord<String, String>> read = new ArrayList<>();
        Map<TopicPartition, Long> ends;
        try (KafkaConsumer<String, String> consumer = clients.consumer("group.id", group, "max.poll.records", "100")) {
            read.addAll(Clients.join(consumer, topic, all));
            Step.await("some records", () -> poll(consumer, read) >= 400);
            consumer.commitSync();
            ends = consumer.endOffsets(all);
        }
        Step.holds("some are left", read.size() < COUNT);
        try (KafkaConsumer<String, String> consumer = clients.consumer("group.id", group)) {
            read.addAll(Clients.join(consumer, topic, all));
            Step.await("the rest", () -> poll(consumer, read) >= COUNT);
            consumer.commitSync();
        }
        Step.same("records read", COUNT, read.size());
        for (ConsumerRecord<String, String> record : read) {
            int n = sent.get(new TopicPartition(topic, record.partition())).get((int) record.offset());
            Step.same("key", "key " + n % 100, record.key());
            Step.same("value", "value " + n, record.value());
            Step.same("timestamp", base + n, record.timestamp());
            Header[] headers = record.headers().toArray();
            Step.same("headers", 2, headers.length);
            Step.same("header", "number " + n, headers[0].key() + " " + new String(headers[0].value()));
            Step.same("null header", "nothing null", headers[1].key() + " " + headers[1].value());
        }
        try (KafkaConsumer<String, String> consumer = clients.consumer("group.id", group)) {
            List<ConsumerRecord<String, String>> more = Clients.join(consumer, topic, all);
            for (TopicPartition partition : all) {
                Step.same("position", ends.get(partition), consumer.position(partition));
                Step.same("committed", ends.get(partition), committed(group, partition));
            }
            Step.same("records after a restart", Collections.emptyList(), more);
        }
    }

    private static int poll(KafkaConsumer<String, String> consumer, List<ConsumerRecord<String, String>> into) {
        consumer.poll(Clients.BREATH).forEach(into::add);
        return into.size();
    }

    private Long committed(String group, TopicPartition partition) throws Exception {
        OffsetAndMetadata found =
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(partition);
        return found == null ? null : found.offset();
    }

    private void rebalance() throws Exception {
        String[] member = {"group.id", name + "-pair", "heartbeat.interval.ms", "200"};
        try (KafkaConsumer<String, String> one = clients.consumer(member)) {
            Clients.join(one, topic, all);
            try (KafkaConsumer<String, String> two = clients.consumer(member)) {
                two.subscribe(Collections.singletonList(topic));
                Clients.settle("two members share", Clients.share(all), one, two);
            }
            Clients.settle("one member has all", Clients.share(all), one);
        }
    }

    private void times() throws Exception {
        try (KafkaConsumer<String, String> consumer = clients.reader("read_uncommitted")) {
            Map<TopicPartition, Long> asked = new HashMap<>();
            all.forEach(partition -> asked.put(partition, base + 500));
            Map<TopicPartition, OffsetAndTimestamp> found = consumer.offsetsForTimes(asked);
            for (TopicPartition partition : all) {
                List<Integer> numbers = sent.get(partition);
                int first = 0;
                while (numbers.get(first) < 500) {
                    first++;
                }
                Step.same("offset by time", (long) first, found.get(partition).offset());
                Step.same("its time", base + numbers.get(first), found.get(partition).timestamp());
                Step.same("end", (long) numbers.size(), Clients.end(consumer, partition));
                Step.same("beginning", 0L, consumer.beginningOffsets(Clients.one(partition)).get(partition));
            }
            TopicPartition any = all.iterator().next();
            Step.same("no such time", null, consumer.offsetsForTimes(
                    Collections.singletonMap(any, base + 900_000)).get(any));
        }
    }

    private void transactions() throws Exception {
        TopicPartition partition = new TopicPartition(name + "-transactions", 0);
        create(partition.topic(), 1, Collections.emptyMap());
        try (KafkaProducer<String, String> producer = clients.producer("transactional.id", name + "-open");
                KafkaConsumer<String, String> committed = clients.reader("read_committed");
                KafkaConsumer<String, String> uncommitted = clients.reader("read_uncommitted")) {
            producer.initTransactions();
            begin(producer, partition, "a", "b");
            producer.commitTransaction();
            begin(producer, partition, "c", "d");
            producer.abortTransaction();
            begin(producer, partition, "e");
            Step.same("end of read_committed", 6L, Clients.end(committed, partition));
            Step.same("end of read_uncommitted", 7L, Clients.end(uncommitted, partition));
            Step.same("committed", Clients.list("a", "b"), Clients.read(committed, partition, 0));
            Step.same("all", Clients.list("a", "b", "c", "d", "e"), Clients.read(uncommitted, partition, 0));
            producer.abortTransaction();
            Step.await("the last marker", () -> Clients.end(committed, partition) == 8);
            Step.same("end", 8L, Clients.end(uncommitted, partition));
            Step.same("still", Clients.list("a", "b"), Clients.read(committed, partition, 0));
        }
    }

    /** Leaves a transaction open with those values on the broker. */
    private static void begin(KafkaProducer<String, String> producer, TopicPartition partition, String... values) {
        producer.beginTransaction();
        for (String value : values) {
            producer.send(new ProducerRecord<>(partition.topic(), partition.partition(), null, value));
        }
        producer.flush();
    }

    private void offsetsInTransaction() throws Exception {
        String group = name + "-copier";
        TopicPartition from = new TopicPartition(topic, 0);
        TopicPartition to = new TopicPartition(name + "-transactions", 0);
        try (KafkaConsumer<String, String> consumer = clients.consumer("group.id", group);
                KafkaProducer<String, String> producer = clients.producer("transactional.id", group)) {
            producer.initTransactions();
            Clients.join(consumer, topic, all);
            begin(producer, to, "copied");
            Api.send(producer, Collections.singletonMap(from, new OffsetAndMetadata(5, "five")), consumer, group);
            Step.same("before the commit", null, committed(group, from));
            producer.commitTransaction();
            Step.await("the offset of the commit", () -> Long.valueOf(5).equals(committed(group, from)));
            begin(producer, to, "not copied");
            Api.send(producer, Collections.singletonMap(from, new OffsetAndMetadata(7)), consumer, group);
            producer.abortTransaction();
            Step.same("after an abort", 5L, committed(group, from));
            begin(producer, to);
            Api.send(producer, Collections.singletonMap(from, new OffsetAndMetadata(9)), consumer, group);
            producer.commitTransaction();
            Step.await("offsets without records", () -> Long.valueOf(9).equals(committed(group, from)));
        }
    }

    private void fencing() throws Exception {
        TopicPartition partition = new TopicPartition(name + "-fencing", 0);
        create(partition.topic(), 1, Collections.emptyMap());
        try (KafkaProducer<String, String> zombie = clients.producer("transactional.id", name + "-fenced");
                KafkaProducer<String, String> next = clients.producer("transactional.id", name + "-fenced");
                KafkaConsumer<String, String> committed = clients.reader("read_committed")) {
            zombie.initTransactions();
            begin(zombie, partition, "a");
            next.initTransactions();
            Step.refused(zombie::commitTransaction, ProducerFencedException.class);
            begin(next, partition, "b");
            next.commitTransaction();
            Step.await("the marker", () -> Clients.end(committed, partition) == 4);
            Step.same("committed", Clients.list("b"), Clients.read(committed, partition, 0));
        }
    }

    private void deleteRecords() throws Exception {
        TopicPartition partition = new TopicPartition(topic, 1);
        Map<TopicPartition, RecordsToDelete> before =
                Collections.singletonMap(partition, RecordsToDelete.beforeOffset(100));
        Step.same("low watermark", 100L,
                admin.deleteRecords(before).lowWatermarks().get(partition).get().lowWatermark());
        try (KafkaConsumer<String, String> consumer = clients.reader("read_uncommitted")) {
            Step.same("beginning", 100L, consumer.beginningOffsets(Clients.one(partition)).get(partition));
            List<String> values = Clients.read(consumer, partition, 0);
            Step.same("records left", sent.get(partition).size() - 100, values.size());
            Step.same("the first", "value " + sent.get(partition).get(100), values.get(0));
        }
        Map<TopicPartition, RecordsToDelete> beyond =
                Collections.singletonMap(partition, RecordsToDelete.beforeOffset(10_000));
        Step.refused(() -> admin.deleteRecords(beyond).all().get(),
                org.apache.kafka.common.errors.OffsetOutOfRangeException.class);
    }

    private void codecs() throws Exception {
        TopicPartition partition = new TopicPartition(name + "-codecs", 0);
        create(partition.topic(), 1, Collections.emptyMap());
        List<String> wanted = new ArrayList<>();
        for (String codec : Clients.list("gzip", "snappy", "lz4", "zstd")) {
            try (KafkaProducer<String, String> producer =
                    clients.producer("compression.type", codec, "linger.ms", "50")) {
                for (int n = 0; n < 50; n++) {
                    wanted.add(codec + " " + n + " ......................................................");
                    producer.send(new ProducerRecord<>(partition.topic(), wanted.get(wanted.size() - 1)));
                }
            }
        }
        try (KafkaConsumer<String, String> consumer = clients.reader("read_uncommitted")) {
            Step.same("values", wanted, Clients.read(consumer, partition, 0));
        }
    }

    private void describe() throws Exception {
        Set<Integer> nodes = new HashSet<>();
        admin.describeCluster().nodes().get().forEach(found -> nodes.add(found.id()));
        Step.holds("a cluster id", admin.describeCluster().clusterId().get() != null);
        Step.holds("a controller", nodes.contains(admin.describeCluster().controller().get().id()));
        int node = nodes.iterator().next();
        TopicDescription described = Api.topics(admin, Clients.list(topic)).get(topic);
        Step.holds("a topic of clients", !described.isInternal());
        Step.holds("a leader", nodes.contains(described.partitions().get(2).leader().id()));
        Step.same("in sync", 1, described.partitions().get(2).isr().size());
        Map<String, ConfigEntry> config = config(ConfigResource.Type.TOPIC, topic);
        Step.same("retention.ms", "86400000", config.get("retention.ms").value());
        Step.same("its source", ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, config.get("retention.ms").source());
        Step.same("cleanup.policy", "delete", config.get("cleanup.policy").value());
        Step.same("its source", ConfigEntry.ConfigSource.DEFAULT_CONFIG, config.get("cleanup.policy").source());
        Step.holds("a broker has many properties", config(ConfigResource.Type.BROKER, "" + node).size() > 100);
        try (KafkaConsumer<String, String> member = clients.consumer("group.id", group, "client.id", "described")) {
            Clients.join(member, topic, all);
            ConsumerGroupDescription found = describe(group);
            Step.same("assignor", "range", found.partitionAssignor());
            Step.same("members", 1, found.members().size());
            MemberDescription one = found.members().iterator().next();
            Step.same("client id", "described", one.clientId());
            Step.same("assignment", all, one.assignment().topicPartitions());
            Step.holds("a member id", one.consumerId().startsWith("described-"));
            Step.holds("a coordinator", nodes.contains(found.coordinator().id()));
            Set<String> listed = new HashSet<>();
            for (ConsumerGroupListing listing : admin.listConsumerGroups().all().get()) {
                listed.add(listing.groupId());
            }
            Step.holds("listed", listed.containsAll(Clients.list(group, name + "-pair", name + "-copier")));
            Step.refused(() -> admin.deleteConsumerGroups(Clients.list(group)).all().get(),
                    GroupNotEmptyException.class);
        }
    }

    private Map<String, ConfigEntry> config(ConfigResource.Type type, String name) throws Exception {
        Config found = admin.describeConfigs(Collections.singleton(new ConfigResource(type, name)))
                .all().get().values().iterator().next();
        Map<String, ConfigEntry> entries = new HashMap<>();
        found.entries().forEach(entry -> entries.put(entry.name(), entry));
        return entries;
    }

    private ConsumerGroupDescription describe(String group) throws Exception {
        return admin.describeConsumerGroups(Clients.list(group)).describedGroups().get(group).get();
    }

    private void delete() throws Exception {
        Step.same("members", 0, describe(group).members().size());
        admin.deleteConsumerGroups(Clients.list(group)).all().get();
        Step.same("offsets of a group that is gone", null, committed(group, new TopicPartition(topic, 0)));
        Step.refused(() -> admin.deleteConsumerGroups(Clients.list(group)).all().get(),
                GroupIdNotFoundException.class);
        Collection<String> ours = Arrays.asList(topic, name + "-transactions", name + "-fencing", name + "-codecs");
        admin.deleteTopics(ours).all().get();
        Step.await("they are gone", () -> Collections.disjoint(admin.listTopics().names().get(), ours));
    }

    private void unknownTopic() throws Exception {
        Step.refused(() -> Api.topics(admin, Clients.list(topic)), UnknownTopicOrPartitionException.class);
        Step.refused(() -> admin.deleteTopics(Clients.list(topic)).all().get(),
                UnknownTopicOrPartitionException.class);
        try (KafkaConsumer<String, String> consumer = clients.consumer("allow.auto.create.topics", "false")) {
            List<?> found = consumer.partitionsFor(topic, Duration.ofSeconds(5));
            Step.holds("no partitions", found == null || found.isEmpty());
        }
    }

    private void outOfRange() throws Exception {
        TopicPartition partition = new TopicPartition(name + "-range", 0);
        create(partition.topic(), 1, Collections.emptyMap());
        try (KafkaConsumer<String, String> consumer =
                clients.consumer("auto.offset.reset", "none", "group.id", name + "-range")) {
            consumer.assign(Clients.one(partition));
            Clients.refuses(consumer, NoOffsetForPartitionException.class);
            consumer.seek(partition, 99);
            Clients.refuses(consumer, OffsetOutOfRangeException.class);
        }
        admin.deleteTopics(Clients.list(partition.topic())).all().get();
    }
}
