package kafkalet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import kafkalet.Api.NewFault;
import kafkalet.Api.SentRecord;
import kafkalet.Control.ControlException;
import kafkalet.Control.Fault;
import kafkalet.Control.Group;
import kafkalet.Control.Match;
import kafkalet.Control.Message;
import kafkalet.Control.Read;
import kafkalet.Control.Topic;
import kafkalet.Control.TopicRecord;
import kafkalet.Control.Transaction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

class ControlTest {
    static final Duration SHORT = Duration.ofMillis(1);

    @RegisterExtension
    static final KafkaletExtension kafka = new KafkaletExtension(Kafkalet.options().topics("orders:3"));

    static void assertMessage(Throwable error, String... parts) {
        for (String part : parts) {
            assertTrue(error.getMessage().contains(part), error.getMessage() + " does not contain " + part);
        }
    }

    static void assertFails(Executable executable, String... parts) {
        assertMessage(assertThrows(AssertionError.class, executable), parts);
    }

    @Test
    void recordKeepsEveryByte() {
        byte[] bytes = {(byte) 0xff, 0};
        Topic topic = kafka.topic("bytes");
        List<SentRecord> sent = topic.send(
                Message.of("ü\0")
                        .key(bytes)
                        .header("a", bytes)
                        .header("a", (byte[]) null)
                        .timestamp(Instant.ofEpochMilli(5)),
                Message.tombstone("k"),
                Message.of(""));
        assertEquals(List.of(0L, 1L, 2L), sent.stream().map(SentRecord::offset).toList());
        TopicRecord first = topic.records().get(0);
        assertEquals("bytes", first.topic());
        assertEquals(0, first.offset());
        assertEquals(5, first.timestamp());
        assertArrayEquals(bytes, first.key());
        assertEquals("a", first.headers().get(0).name());
        assertArrayEquals(bytes, first.headers().get(0).value());
        assertNull(first.headers().get(1).value());
        assertEquals(Arrays.asList("ü\0", null, ""), topic.values());
    }

    @Test
    void valueIsParsedAsJson() {
        kafka.topic("json").send("{\"id\": 7}");
        TopicRecord record = kafka.topic("json").records().get(0);
        assertEquals(Map.of("id", 7L), record.json());
        assertEquals("json-0@0 null={\"id\": 7}", record.toString());
    }

    @Test
    void readingIsLimited() {
        Topic topic = kafka.topic("limited").create(2, Map.of("retention.ms", -1));
        topic.send(Message.of("a").partition(0), Message.of("b").partition(0), Message.of("c").partition(0));
        topic.send(Message.of("d").partition(1), Message.of("e").partition(1));
        String mark = topic.mark();
        topic.send(Message.of("f").partition(1));
        Read all = Read.uncommitted();
        assertEquals(List.of("a", "b", "c", "d", "e", "f"), topic.values());
        assertEquals(List.of("a", "d"), topic.values(all.limit(1)));
        assertEquals(List.of("c", "f"), topic.values(all.offset(2)));
        assertEquals(List.of("f"), topic.values(all.since(mark)));
        assertEquals(List.of(), topic.values(all.since(mark).partition(0)));
        assertEquals(List.of("e"), topic.values(all.partition(1).offset(1).limit(1)));
    }

    @Test
    void recordsThatReplaceOlderOnesAreAfterAMark() {
        Topic topic = kafka.topic("replaced");
        topic.send(Message.of("a"), Message.of("b"), Message.of("c"));
        String mark = topic.mark();
        kafka.api().truncateLog("replaced", 0, new Api.TruncateLog(1));
        topic.send("new");
        assertEquals(List.of("new"), topic.values(Read.uncommitted().since(mark)));
        assertEquals(1, topic.waitFor(1, Match.any().since(mark)).get(0).offset());
    }

    @Test
    void largeTopicIsReadCompletely() {
        Topic topic = kafka.topic("large").create(2, Map.of("max.message.bytes", 9_000_000));
        for (int number = 0; number < 6; number++) {
            topic.send(Message.of("x".repeat(3_000_000 + number)).partition(number % 2));
        }
        List<Integer> sizes = topic.values().stream().map(value -> value.length() - 3_000_000).toList();
        assertEquals(List.of(0, 2, 4, 1, 3, 5), sizes);
        assertEquals(4, topic.records(Read.committed().limit(2)).size());
    }

    @Test
    void waitReturnsMatchingRecords() {
        Topic topic = kafka.topic("matching");
        topic.send(Message.of("created").key("6"), Message.of("shipped").key("7").timestamp(Instant.now()));
        assertEquals(1, topic.waitFor(1, Match.any().key("7")).get(0).offset());
        assertEquals(1, topic.waitFor(1, Match.any().contains("ship")).get(0).offset());
        assertEquals(0, topic.waitFor(1, Match.any().value("created")).get(0).offset());
        assertEquals(2, topic.waitFor(2, Match.any().committed().partition(0)).size());
    }

    @Test
    void waitThatTimesOutShowsWhatArrived() {
        Topic topic = kafka.topic("arrived");
        topic.send("one");
        assertFails(() -> topic.waitFor(1, Match.any().value("two").timeout(SHORT)), "arrived", "two", "one");
    }

    @Test
    void refusedCallHasAStatusAndACode() {
        ControlException error =
                assertThrows(ControlException.class, () -> kafka.control("GET", "/v1/topics/missing", null));
        assertEquals(404, error.status());
        assertEquals("UNKNOWN_TOPIC_OR_PARTITION", error.code());
        assertMessage(error, "missing");
    }

    @Test
    void genericCallReturnsTheResponse() {
        assertEquals(kafka.bootstrapServers(), kafka.control("GET", "/v1/cluster", null).get("bootstrap_servers"));
        assertEquals(Map.of(), kafka.control("POST", "/v1/settle", Map.of()));
    }

    @Test
    void nameOfAGroupMayContainAnyCharacter() {
        ControlException error = assertThrows(ControlException.class, () -> kafka.group("a b/ü?%").state());
        assertMessage(error, "a b/ü?% does not exist");
    }

    @Test
    void settleReturns() {
        kafka.settle();
        kafka.settle(Duration.ofSeconds(5));
    }

    @Test
    void groupSeeksWithoutMembers() {
        kafka.topic("sought").send("a", "b", "c");
        Group group = kafka.group("seeking");
        Api.Group state = group.seek("sought", 1);
        assertEquals("Empty", state.state());
        assertEquals(1, group.committed("sought", 0));
        assertEquals(-1, group.committed("sought", 5));
        assertEquals(2, state.lag());
        assertEquals(3, group.seek("sought", Instant.EPOCH).lag());
        assertFails(() -> group.waitForLag(0, SHORT), "seeking", "lag");
        assertFails(() -> group.waitUntilStable(2, SHORT), "seeking", "2 members");
        assertMessage(assertThrows(ControlException.class, () -> group.evict("missing")), "missing");
        assertEquals(3, group.state().lag());
    }

    @Test
    void shareGroupShowsItsRecords() {
        kafka.topic("shared").send("a", "b", "c");
        Control.ShareGroup group = kafka.shareGroup("workers");
        Api.ShareGroup state = group.seek("shared", 1);
        assertEquals("Empty", state.state());
        assertEquals(1, state.positions().get(0).startOffset());
        assertEquals(2, state.lag());
        assertEquals(List.of("b", "c"), group.records().stream().map(Api.ShareRecord::value).toList());
        assertEquals(0, group.expireLocks());
        assertFails(() -> group.waitForAcknowledged(1, SHORT), "workers", "1 acknowledged record");
        assertFails(() -> group.waitForArchived(1, SHORT), "workers", "1 archived record");
        assertEquals(2, group.state().lag());
    }

    @Test
    void faultThatNeverFiredFails() {
        Fault fault = kafka.fault("Produce", new NewFault().error("NOT_LEADER_OR_FOLLOWER"));
        assertEquals(0, fault.fired());
        assertFails(() -> fault.waitUntilFired(1, SHORT), "Produce");
        fault.release();
        assertFails(fault::close, "Produce", "NOT_LEADER_OR_FOLLOWER");
        fault.close(); // has no effect
    }

    @Test
    void faultThatNeverFiredDoesNotHideAnEarlierError() {
        IllegalStateException error = assertThrows(IllegalStateException.class, () -> {
            try (Fault fault = kafka.fault(new NewFault().dropResponse(true).clientId("c"))) {
                throw new IllegalStateException("earlier");
            }
        });
        assertEquals("earlier", error.getMessage());
        assertEquals(1, error.getSuppressed().length);
        assertEquals(List.of(), kafka.api().listFaults().faults());
    }

    @Test
    void everyOptionReachesTheFault() {
        Fault fault = kafka.fault(new NewFault()
                .api(List.of("Fetch", "Produce"))
                .delay(1.5)
                .disconnect("after")
                .topic("orders")
                .partition(0)
                .clientId("c")
                .times(2)
                .broker(1));
        assertFails(
                fault::close,
                "Fetch", "Produce", "delay=1.5", "after", "orders", "partition=0", "client_id='c'",
                "times=2", "broker=1");
        assertFails(kafka.fault("Fetch", new NewFault().disconnect("before").hang(true))::close, "before", "hang");
    }

    @Test
    void unknownErrorNameIsRefused() {
        assertMessage(
                assertThrows(ControlException.class, () -> kafka.fault("Produce", new NewFault().error("NOT_LEADR"))),
                "NOT_LEADR");
    }

    @Test
    void transactionIsCommittedOrAborted() {
        Topic topic = kafka.topic("transactions").create(2);
        try (Transaction transaction = kafka.openTransaction("payments")) {
            transaction.send("transactions", Message.of("a").partition(0), Message.of("b").partition(1));
            assertEquals(List.of(), topic.values(Read.committed()));
            assertEquals(List.of("a", "b"), topic.values());
            transaction.commit();
        }
        assertEquals(List.of("a", "b"), topic.values(Read.committed()));
        try (Transaction transaction = kafka.openTransaction("payments")) {
            transaction.send("transactions", "c");
        }
        Transaction aborted = kafka.openTransaction("payments");
        aborted.send("transactions", "d");
        aborted.abort();
        aborted.close(); // has no effect
        kafka.settle();
        assertEquals(List.of("a", "b"), topic.values(Read.committed()));
        assertMessage(assertThrows(ControlException.class, aborted::commit), "payments", "ended");
    }

    @Test
    void clockAdvances() {
        try (Kafkalet own = Kafkalet.options().start()) {
            Instant before = own.clock().now();
            own.clock().advance(Duration.ofHours(1));
            own.clock().advanceWithSessions(Duration.ofHours(1));
            Duration ahead = Duration.between(before, own.clock().now());
            assertEquals(120, ahead.toMinutes());
        }
    }

    @Test
    void restoreAndResetReplaceTheContents() {
        try (Kafkalet own = Kafkalet.options().start()) {
            Topic topic = own.topic("orders");
            topic.send("one");
            byte[] snapshot = own.api().takeSnapshot();
            own.api().reset();
            String mark = topic.mark();
            own.api().restore(snapshot);
            assertEquals(List.of("one"), topic.values(Read.uncommitted().since(mark)));
            assertEquals(List.of("one"), topic.values());
            ControlException error = assertThrows(ControlException.class, () -> own.api().restore(new byte[5]));
            assertMessage(error, "snapshot");
        }
    }

    @Test
    void brokersStopAndStart() throws Exception {
        try (Kafkalet cluster = Kafkalet.options().brokers(2).start()) {
            String second = cluster.bootstrapServers().split(",")[1];
            cluster.api().stopBroker(2);
            KafkaletTest.assertRefused(second);
            cluster.api().startBroker(2);
            cluster.api().rollBrokers(new Api.Roll());
            KafkaletTest.connect(second);
        }
    }

    @Test
    void requestsAreCounted() {
        try (Kafkalet own = Kafkalet.options().start()) {
            assertEquals(0, own.api().countRequests(new Api.CountRequestsQuery()).count());
            Api.CountRequestsQuery both = new Api.CountRequestsQuery().apis(List.of("Produce", "Fetch"));
            assertEquals(0, own.api().countRequests(both).count());
            assertEquals(Map.of(), own.api().listUnsupported().counts());
            own.api().clearRequests();
        }
    }
}
