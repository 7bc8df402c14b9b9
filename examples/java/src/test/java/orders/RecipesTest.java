package orders;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import kafkalet.Api;
import kafkalet.Api.NewFault;
import kafkalet.Control.Group;
import kafkalet.Control.Match;
import kafkalet.Control.Message;
import kafkalet.Control.Read;
import kafkalet.Control.Topic;
import kafkalet.Kafkalet;
import kafkalet.KafkaletExtension;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class RecipesTest {
    @RegisterExtension
    final KafkaletExtension kafka = new KafkaletExtension(); // a new broker for each test

    // The following methods stand for the application under test.

    /** Sends a record to the topic orders. */
    void produce(String key, String value) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", kafka.bootstrapServers());
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("orders", key, value)).get();
        }
    }

    /** Returns a consumer of the topic orders in the group billing. */
    KafkaConsumer<String, String> consumer() {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", kafka.bootstrapServers(),
                "group.id", "billing",
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false);
        var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("orders"));
        return consumer;
    }

    /** Returns the next n records. */
    static List<ConsumerRecord<String, String>> poll(KafkaConsumer<String, String> consumer, int n) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        while (records.size() < n) {
            consumer.poll(Duration.ofSeconds(1)).forEach(records::add);
        }
        return records;
    }

    /** Returns a consumer of the topic orders in the share group billing, which acknowledges each record. */
    KafkaShareConsumer<String, String> worker() {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", kafka.bootstrapServers(),
                "group.id", "billing",
                "share.acknowledgement.mode", "explicit");
        var consumer = new KafkaShareConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of("orders"));
        return consumer;
    }

    /** Returns the next records; at least one. */
    static List<ConsumerRecord<String, String>> poll(KafkaShareConsumer<String, String> consumer) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        while (records.isEmpty()) {
            consumer.poll(Duration.ofSeconds(1)).forEach(records::add);
        }
        return records;
    }

    /** Starts a method of the application in a thread. */
    static Future<?> inBackground(Executable method) {
        var task = new FutureTask<>(() -> assertDoesNotThrow(method), null);
        new Thread(task).start();
        return task;
    }

    // --8<-- [start:publish]
    @Test
    void orderIsPublished() throws Exception {
        produce("7", "{\"id\": 7}");
        var order = kafka.topic("orders").waitFor(1).get(0);
        assertEquals("7", order.keyText());
        assertEquals(Map.of("id", 7L), order.json());
    }
    // --8<-- [end:publish]

    // --8<-- [start:wait]
    @Test
    void waitForOneOfManyRecords() throws Exception {
        produce("6", "created");
        produce("7", "created");
        Match match = Match.any().key("7").contains("create").timeout(Duration.ofSeconds(5));
        kafka.topic("orders").waitFor(1, match);
    }
    // --8<-- [end:wait]

    // --8<-- [start:consume]
    @Test
    void orderIsConsumed() {
        kafka.topic("orders").send(Message.of("{\"id\": 7}").key("7").header("source", "web"));
        try (var consumer = consumer()) {
            byte[] source = poll(consumer, 1).get(0).headers().lastHeader("source").value();
            assertEquals("web", new String(source, StandardCharsets.UTF_8));
        }
    }
    // --8<-- [end:consume]

    // --8<-- [start:settle]
    @Test
    void nothingElseIsPublished() throws Exception {
        Topic invoices = kafka.topic("invoices").create(1);
        produce("7", "one");
        kafka.settle();
        assertEquals(List.of(), invoices.values());
    }
    // --8<-- [end:settle]

    // --8<-- [start:batch]
    @Test
    void batch() {
        Topic topic = kafka.topic("orders").create(3, Map.of("retention.ms", -1));
        Instant time = Instant.ofEpochMilli(1_700_000_000_000L);
        topic.send(Message.of("a").partition(1).timestamp(time), Message.of("b").partition(1).timestamp(time));
        var mark = topic.mark();
        topic.send(Message.tombstone("key"));
        assertEquals(Arrays.asList((String) null), topic.values(Read.uncommitted().since(mark)));
    }
    // --8<-- [end:batch]

    // --8<-- [start:commit]
    @Test
    void consumerCommits() {
        kafka.topic("orders").send("one");
        try (var consumer = consumer()) {
            poll(consumer, 1);
            consumer.commitSync();
            kafka.group("billing").waitForLag(0);
            assertEquals(1, kafka.group("billing").committed("orders", 0));
        }
    }
    // --8<-- [end:commit]

    // --8<-- [start:seek]
    @Test
    void groupIsMoved() {
        kafka.topic("orders").send("one", "two", "three");
        kafka.group("billing").seek("orders", 1); // or an Instant
        try (var consumer = consumer()) {
            assertEquals("two", poll(consumer, 1).get(0).value());
        }
    }
    // --8<-- [end:seek]

    // --8<-- [start:evict]
    @Test
    void memberIsEvicted() {
        kafka.topic("orders").create(2).send("one");
        try (var consumer = consumer()) {
            poll(consumer, 1);
            Group group = kafka.group("billing");
            var member = group.waitUntilStable(1).members().get(0);
            assertEquals("Empty", group.evict(member.memberId()).state());
        }
    }
    // --8<-- [end:evict]

    // --8<-- [start:share_release]
    @Test
    void recordIsRedelivered() {
        kafka.topic("orders").send("one");
        kafka.shareGroup("billing").seek("orders", 0);
        try (var consumer = worker()) {
            consumer.acknowledge(poll(consumer).get(0), AcknowledgeType.RELEASE); // try again later
            consumer.acknowledge(poll(consumer).get(0), AcknowledgeType.ACCEPT);
        }
        kafka.shareGroup("billing").waitForAcknowledged(1);
        assertEquals(2, kafka.shareGroup("billing").records().get(0).deliveries());
    }
    // --8<-- [end:share_release]

    // --8<-- [start:share_stop]
    @Test
    void recordOfStoppedConsumerIsRedelivered() {
        kafka.topic("orders").send("one");
        kafka.shareGroup("billing").seek("orders", 0);
        for (short deliveries = 1; deliveries <= 2; deliveries++) {
            try (var consumer = worker()) {
                assertEquals(deliveries, poll(consumer).get(0).deliveryCount().orElseThrow());
            }
        }
    }
    // --8<-- [end:share_stop]

    // --8<-- [start:share_reject]
    @Test
    void poisonMessageIsRejected() {
        kafka.topic("orders").send("poison", "two");
        kafka.shareGroup("billing").seek("orders", 0);
        try (var consumer = worker()) {
            consumer.acknowledge(poll(consumer).get(0), AcknowledgeType.REJECT);
            consumer.commitSync();
        }
        assertEquals(1, kafka.shareGroup("billing").waitForArchived(1).positions().get(0).archived());
    }
    // --8<-- [end:share_reject]

    // --8<-- [start:share_expire]
    @Test
    void slowConsumerLosesItsRecord() {
        kafka.topic("orders").send("one");
        kafka.shareGroup("billing").seek("orders", 0);
        try (var consumer = worker()) {
            var order = poll(consumer).get(0);
            kafka.shareGroup("billing").expireLocks(); // as if the consumer had been too slow
            consumer.acknowledge(order, AcknowledgeType.ACCEPT); // too late
            assertEquals((short) 2, poll(consumer).get(0).deliveryCount().orElseThrow());
        }
    }
    // --8<-- [end:share_expire]

    // --8<-- [start:transaction]
    @Test
    void openTransaction() {
        Topic topic = kafka.topic("orders").create(1);
        try (var transaction = kafka.openTransaction("payments")) { // aborts unless it was committed
            transaction.send("orders", "one");
            assertEquals(List.of(), topic.values(Read.committed()));
            transaction.commit();
        }
        assertEquals(List.of("one"), topic.values(Read.committed()));
    }
    // --8<-- [end:transaction]

    // --8<-- [start:release]
    @Test
    void release() {
        var options = Kafkalet.options().version("3.9").topics("orders:6").property("message.max.bytes", 1000);
        try (Kafkalet broker = options.start()) {
            assertEquals(6, broker.api().getTopic("orders").partitions().size());
        }
    }
    // --8<-- [end:release]

    // --8<-- [start:stop_broker]
    @Test
    void leaderStops() {
        try (var cluster = Kafkalet.options().brokers(3).property("default.replication.factor", 3).start()) {
            Topic topic = cluster.topic("orders").create(1);
            cluster.api().stopBroker(1);
            topic.send("one");
            cluster.api().startBroker(1);
            cluster.api().rollBrokers(new Api.Roll()); // restarts every broker, one after the other
            assertEquals(List.of("one"), topic.values());
        }
    }
    // --8<-- [end:stop_broker]

    // --8<-- [start:clock]
    @Test
    void recordsExpire() {
        Topic topic = kafka.topic("audit").create(1, Map.of("retention.ms", 3_600_000));
        topic.send("old");
        kafka.clock().advance(Duration.ofHours(2));
        assertEquals(List.of(), topic.values());
    }
    // --8<-- [end:clock]

    // --8<-- [start:fault]
    @Test
    void producerRetries() throws Exception {
        try (var fault = kafka.fault("Produce", new NewFault().error("NOT_LEADER_OR_FOLLOWER").times(2))) {
            produce("7", "one");
        } // fails unless the fault has fired twice
        assertEquals(List.of("one"), kafka.topic("orders").values());
    }
    // --8<-- [end:fault]

    // --8<-- [start:lost_response]
    @Test
    void responseIsLost() throws Exception {
        try (var lost = kafka.fault("Produce", new NewFault().disconnect("after").times(1));
                var slow = kafka.fault("Metadata", new NewFault().delay(0.1))) {
            produce("7", "one");
        }
        assertEquals(List.of("one"), kafka.topic("orders").values()); // sent twice, not duplicated
    }
    // --8<-- [end:lost_response]

    // --8<-- [start:hold]
    @Test
    void requestIsHeld() throws Exception {
        Future<?> sent;
        try (var fault = kafka.fault("Produce", new NewFault().hang(true))) { // until the end, or fault.release()
            sent = inBackground(() -> produce("7", "one"));
            fault.waitUntilFired(1);
            assertEquals(1, fault.fired());
            assertEquals(List.of(), kafka.topic("orders").values());
        }
        sent.get();
    }
    // --8<-- [end:hold]

    // --8<-- [start:gap]
    @Test
    void readerSkipsGaps() {
        kafka.topic("orders").create(1);
        kafka.api().appendLayout("orders", 0, new Api.AppendLayout("gap").first(5).size(3).after(2));
        try (var consumer = consumer()) {
            assertEquals(9, poll(consumer, 7).get(6).offset());
        }
    }
    // --8<-- [end:gap]

    // --8<-- [start:snapshot]
    @Test
    void snapshot() {
        Topic topic = kafka.topic("orders");
        topic.send("one");
        byte[] snapshot = kafka.api().takeSnapshot();
        topic.send("two");
        kafka.api().restore(snapshot);
        assertEquals(List.of("one"), topic.values());
    }
    // --8<-- [end:snapshot]

    // --8<-- [start:requests]
    @Test
    void numberOfRequests() throws Exception {
        produce("7", "one");
        var produced = new Api.CountRequestsQuery().apis(List.of("Produce"));
        assertEquals(1, kafka.api().countRequests(produced).count());
        assertEquals(Map.of(), kafka.api().listUnsupported().counts());
    }
    // --8<-- [end:requests]
}
