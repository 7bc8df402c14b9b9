package kafkalet;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import kafkalet.Api.SentRecord;

/**
 * The operations on a running broker: send, read and wait for records, and use groups, faults and the clock.
 *
 * <p>Waits time out after 10 seconds unless a timeout is given. They then throw an AssertionError, whose message shows
 * what happened instead. A call that the broker refuses throws a {@link ControlException}.
 */
public abstract class Control {
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .proxy(HttpClient.Builder.NO_PROXY)
            .build();

    Control() {}

    /** The address of every broker as {@code host:port}, separated by commas. */
    public abstract String bootstrapServers();

    /** The URL of the control API, without a path. */
    public abstract String controlUrl();

    /** A topic, which need not exist. */
    public Topic topic(String name) {
        return new Topic(this, name);
    }

    /** A consumer group, which need not exist. */
    public Group group(String id) {
        return new Group(this, id);
    }

    /** Returns a share group, which need not exist. */
    public ShareGroup shareGroup(String id) {
        return new ShareGroup(this, id);
    }

    /** All operations of the control API. */
    public Api api() {
        return new Api(this);
    }

    /** Sets a fault for the requests of an API, such as {@code Produce}. It stays until it is closed. */
    public Fault fault(String api, Api.NewFault options) {
        return fault(options.api(api));
    }

    /** Sets a fault for the requests that the options name, by default all. It stays until it is closed. */
    public Fault fault(Api.NewFault options) {
        return new Fault(this, api().addFault(options).id());
    }

    /** Begins a transaction without a client. It fences an older producer with the transactional id. */
    public Transaction openTransaction(String transactionalId) {
        return new Transaction(this, transactionalId);
    }

    /** The clock of the brokers: real time plus an offset. */
    public Clock clock() {
        return new Clock(this);
    }

    /**
     * Waits until no request is in progress, no group with members has a lag and no transaction is open. After that,
     * a record that is missing will not arrive.
     */
    public void settle() {
        api().settle(new Api.Settle());
    }

    /** Like {@link #settle()}, with a timeout. */
    public void settle(Duration timeout) {
        api().settle(new Api.Settle().timeout(seconds(timeout)));
    }

    /**
     * Calls a path of the control API. If the environment variable KAFKALET_CONTROL_TOKEN is set, the broker requires
     * it, and the client sends it.
     *
     * @param path the path, which begins with {@code /v1}, and optionally a query
     * @param body the body, sent as JSON: maps, lists, strings, numbers and booleans; or null
     * @return the JSON of the response, with integers as Long and other numbers as Double; empty if there is none
     * @throws ControlException if the broker refuses the call
     */
    public Map<String, Object> control(String method, String path, Object body) {
        byte[] content = body == null ? new byte[0] : Json.write(body).getBytes(StandardCharsets.UTF_8);
        byte[] response = send(method, path, "application/json", content);
        return response.length == 0 ? Map.of() : asMap(Json.read(new String(response, StandardCharsets.UTF_8)));
    }

    byte[] send(String method, String path, String contentType, byte[] body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(controlUrl() + path))
                .method(method, BodyPublishers.ofByteArray(body))
                .header("Content-Type", contentType);
        String token = System.getenv("KAFKALET_CONTROL_TOKEN");
        if (token != null && !token.isEmpty()) {
            request.header("Authorization", "Bearer " + token);
        }
        HttpResponse<byte[]> response;
        try {
            response = CLIENT.send(request.build(), BodyHandlers.ofByteArray());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted during " + method + " " + path, e);
        }
        if (response.statusCode() < 300) {
            return response.body();
        }
        Map<String, Object> failure = asMap(Json.read(new String(response.body(), StandardCharsets.UTF_8)));
        Map<String, Object> error = asMap(failure.get("error"));
        if (response.statusCode() == 408) {
            throw new AssertionError(error.get("message"));
        }
        throw new ControlException(response.statusCode(), (String) error.get("code"), (String) error.get("message"));
    }

    /** The broker refused a call. */
    public static final class ControlException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final int status;
        private final String code;

        ControlException(int status, String code, String message) {
            super(message);
            this.status = status;
            this.code = code;
        }

        /** The HTTP status. */
        public int status() {
            return status;
        }

        /** The name of a Kafka error, such as TOPIC_ALREADY_EXISTS, or of an HTTP error, such as {@code not_found}. */
        public String code() {
            return code;
        }
    }

    /** A topic, which need not exist. */
    public static final class Topic {
        private static final int MAX_LIMIT = 100_000;

        private final Control control;
        private final String name;
        private final String path;

        private Topic(Control control, String name) {
            this.control = control;
            this.name = name;
            this.path = "/v1/topics/" + encoded(name);
        }

        /** Creates the topic and returns it. */
        public Topic create(int partitions) {
            return create(partitions, Map.of());
        }

        /** Creates the topic with properties, such as {@code retention.ms}, and returns it. */
        public Topic create(int partitions, Map<String, ?> config) {
            Map<String, String> texts = new LinkedHashMap<>();
            config.forEach((property, value) -> texts.put(property, String.valueOf(value)));
            control.api().createTopic(new Api.NewTopic(name).partitions(partitions).config(texts));
            return this;
        }

        /** Sends values without keys. A topic that does not exist is created. */
        public List<SentRecord> send(String... values) {
            return send(Arrays.stream(values).map(Message::of).toArray(Message[]::new));
        }

        /**
         * Appends records as a producer with acks=all does, in one batch for each partition. A topic that does not
         * exist is created.
         */
        public List<SentRecord> send(Message... messages) {
            List<Map<String, Object>> records = Arrays.stream(messages).map(message -> message.fields).toList();
            Map<String, Object> body = Map.of("records", records);
            return new Api.SentRecords(control.control("POST", path + "/records", body)).records();
        }

        /** Returns the current end of the topic, for {@code since}. Only the broker reads it. */
        public String mark() {
            return control.api().markTopic(name).mark();
        }

        /** Returns the records that a consumer with read_uncommitted can receive now, by partition and offset. */
        public List<TopicRecord> records() {
            return records(Read.uncommitted());
        }

        /** Returns the records that a consumer can receive now, by partition and offset. */
        public List<TopicRecord> records(Read read) {
            List<TopicRecord> records = new ArrayList<>();
            ArrayDeque<Read> parts = new ArrayDeque<>();
            parts.add(read);
            while (!parts.isEmpty()) { // large topics are read in several parts
                Read part = parts.remove();
                String start = part.since == null ? "offset=" + part.offset : "since=" + encoded(part.since);
                String query = "encoding=base64&isolation=" + part.isolation + "&" + start + "&limit="
                        + Math.min(part.limit, MAX_LIMIT) + (part.partition < 0 ? "" : "&partition=" + part.partition);
                Map<String, Object> page = control.control("GET", path + "/records?" + query, null);
                asMaps(page.get("records")).map(TopicRecord::new).forEach(records::add);
                if ((boolean) page.get("has_more")) {
                    addParts(parts, read.partition(part.partition), asOffsets(page.get("next_offsets")), records);
                }
            }
            records.sort(Comparator.comparingInt(TopicRecord::partition).thenComparingLong(TopicRecord::offset));
            return records;
        }

        private static void addParts(
                ArrayDeque<Read> parts, Read read, Map<Integer, Long> offsets, List<TopicRecord> records) {
            offsets.forEach((partition, offset) -> {
                long known = records.stream().filter(record -> record.partition == partition).count();
                if ((read.partition < 0 || read.partition == partition) && known < read.limit) {
                    parts.add(read.since(null).partition(partition).offset(offset).limit(read.limit - (int) known));
                }
            });
        }

        /** Returns the values of {@link #records()}; the value of a tombstone is null. */
        public List<String> values() {
            return values(Read.uncommitted());
        }

        /** Returns the values of {@link #records(Read)}; the value of a tombstone is null. */
        public List<String> values(Read read) {
            return records(read).stream().map(TopicRecord::text).collect(Collectors.toList());
        }

        /** Waits until the topic has n records, and returns the first n, by partition and offset. */
        public List<TopicRecord> waitFor(int n) {
            return waitFor(n, Match.any());
        }

        /**
         * Waits until n records match, and returns the first n, by partition and offset. Records that are in the topic
         * already count.
         *
         * @throws AssertionError if they do not arrive in time; its message shows the records that did
         */
        public List<TopicRecord> waitFor(int n, Match match) {
            Map<String, Object> body = new LinkedHashMap<>(match.fields);
            body.put("n", n);
            body.put("encoding", "base64");
            return asMaps(control.control("POST", path + "/wait", body).get("records")).map(TopicRecord::new).toList();
        }
    }

    /** A record to send. */
    public static final class Message {
        private final Map<String, Object> fields = new LinkedHashMap<>();
        private final List<Map<String, Object>> headers = new ArrayList<>();

        private Message() {}

        /** A record with this value. */
        public static Message of(String value) {
            return of(bytes(value));
        }

        /** A record with this value. */
        public static Message of(byte[] value) {
            Message message = new Message();
            putBytes(message.fields, "value", value);
            message.fields.put("headers", message.headers);
            return message;
        }

        /** A record without a value. */
        public static Message tombstone(String key) {
            return of((byte[]) null).key(key);
        }

        /** The key, which determines the partition unless a partition is given. */
        public Message key(String key) {
            return key(bytes(key));
        }

        /** The key, which determines the partition unless a partition is given. */
        public Message key(byte[] key) {
            putBytes(fields, "key", key);
            return this;
        }

        /** Adds a header. */
        public Message header(String name, String value) {
            return header(name, bytes(value));
        }

        /** Adds a header. */
        public Message header(String name, byte[] value) {
            Map<String, Object> header = new LinkedHashMap<>(Map.of("name", name));
            putBytes(header, "value", value);
            headers.add(header);
            return this;
        }

        /** The timestamp; by default the broker's current time. */
        public Message timestamp(Instant timestamp) {
            fields.put("timestamp", timestamp.toEpochMilli());
            return this;
        }

        /** The partition. */
        public Message partition(int partition) {
            fields.put("partition", partition);
            return this;
        }
    }

    /** A header of a record; the value may be null. */
    public record Header(String name, byte[] value) {}

    /**
     * A record in the log of a topic.
     *
     * @param timestamp milliseconds since 1970, or -1 if the record has none
     * @param key the key, or null
     * @param value the value, or null for a tombstone
     */
    public record TopicRecord(
            String topic, int partition, long offset, long timestamp, byte[] key, byte[] value, List<Header> headers) {
        private TopicRecord(Map<String, Object> json) {
            this(
                    (String) json.get("topic"),
                    asInt(json.get("partition")),
                    asLong(json.get("offset")),
                    asLong(json.get("timestamp")),
                    asBytes(json.get("key")),
                    asBytes(json.get("value")),
                    asMaps(json.get("headers"))
                            .map(header -> new Header((String) header.get("name"), asBytes(header.get("value"))))
                            .toList());
        }

        /** The key as UTF-8, or null. */
        public String keyText() {
            return key == null ? null : new String(key, StandardCharsets.UTF_8);
        }

        /** The value as UTF-8, or null for a tombstone. */
        public String text() {
            return value == null ? null : new String(value, StandardCharsets.UTF_8);
        }

        /** The value, parsed as JSON: a Map, List, String, Long, Double, Boolean or null. */
        public Object json() {
            return Json.read(text());
        }

        /** The topic, partition, offset, key and value, for messages of assertions. */
        @Override
        public String toString() {
            return topic + "-" + partition + "@" + offset + " " + keyText() + "=" + text();
        }
    }

    /** Selects the records to read. */
    public static final class Read {
        private final String isolation;
        private String since;
        private int partition = -1;
        private long offset;
        private int limit = Integer.MAX_VALUE;

        private Read(String isolation) {
            this.isolation = isolation;
        }

        /** All records, including those of open and aborted transactions. */
        public static Read uncommitted() {
            return new Read("read_uncommitted");
        }

        /** All records except those of open and aborted transactions. */
        public static Read committed() {
            return new Read("read_committed");
        }

        /** Skips the records before a mark. */
        public Read since(String mark) {
            Read read = copy();
            read.since = mark;
            return read;
        }

        /** Only this partition. */
        public Read partition(int partition) {
            Read read = copy();
            read.partition = partition;
            return read;
        }

        /** The first offset in each partition, unless a mark is given. */
        public Read offset(long offset) {
            Read read = copy();
            read.offset = offset;
            return read;
        }

        /** The largest number of records per partition. */
        public Read limit(int limit) {
            Read read = copy();
            read.limit = limit;
            return read;
        }

        private Read copy() {
            Read read = new Read(isolation);
            read.since = since;
            read.partition = partition;
            read.offset = offset;
            read.limit = limit;
            return read;
        }
    }

    /** Selects the records to wait for. A record must meet all conditions. */
    public static final class Match {
        private final Map<String, Object> fields = new LinkedHashMap<>();

        private Match() {}

        /** Any record. */
        public static Match any() {
            return new Match();
        }

        /** Only records with this key. */
        public Match key(String key) {
            return key(bytes(key));
        }

        /** Only records with this key. */
        public Match key(byte[] key) {
            putBytes(fields, "key", key);
            return this;
        }

        /** Only records with this value. */
        public Match value(String value) {
            return value(bytes(value));
        }

        /** Only records with this value. */
        public Match value(byte[] value) {
            putBytes(fields, "value", value);
            return this;
        }

        /** Only records whose value contains a text. */
        public Match contains(String text) {
            return put("value_contains", text);
        }

        /** Only records of committed transactions, and records outside transactions. */
        public Match committed() {
            return put("isolation", "read_committed");
        }

        /** Only records after a mark. */
        public Match since(String mark) {
            return put("since", mark);
        }

        /** Only records of this partition. */
        public Match partition(int partition) {
            return put("partition", partition);
        }

        /** The longest time to wait; 10 seconds by default. */
        public Match timeout(Duration timeout) {
            return put("timeout", seconds(timeout));
        }

        private Match put(String name, Object value) {
            fields.put(name, value);
            return this;
        }
    }

    /** A consumer group, which need not exist. */
    public static final class Group {
        private final Api api;
        private final String id;

        private Group(Control control, String id) {
            this.api = control.api();
            this.id = id;
        }

        /** Returns the state, members, committed offsets and lag of the group. */
        public Api.Group state() {
            return api.getGroup(id);
        }

        /** Returns the committed offset of a partition, or -1 if there is none. */
        public long committed(String topic, int partition) {
            return state().offsets().stream()
                    .filter(each -> each.topic().equals(topic) && each.partition() == partition)
                    .mapToLong(each -> each.committed() == null ? -1 : each.committed())
                    .findFirst()
                    .orElse(-1);
        }

        /** Waits until the lag is at most {@code lag}. */
        public Api.Group waitForLag(long lag) {
            return api.waitForLag(id, new Api.WaitForLag().lag(lag));
        }

        /** Waits until the lag is at most {@code lag}. */
        public Api.Group waitForLag(long lag, Duration timeout) {
            return api.waitForLag(id, new Api.WaitForLag().lag(lag).timeout(seconds(timeout)));
        }

        /** Waits until the group has this number of members, all with their assignments. */
        public Api.Group waitUntilStable(int members) {
            return api.waitUntilStable(id, new Api.WaitUntilStable().members(members));
        }

        /** Waits until the group has this number of members, all with their assignments. */
        public Api.Group waitUntilStable(int members, Duration timeout) {
            return api.waitUntilStable(id, new Api.WaitUntilStable().members(members).timeout(seconds(timeout)));
        }

        /** Removes a member, given by its member id or group.instance.id, as if its session had timed out. */
        public Api.Group evict(String member) {
            return api.evictMember(id, new Api.EvictMember(member));
        }

        /** Commits an offset for all partitions of a topic. The group must have no members. */
        public Api.Group seek(String topic, long offset) {
            return api.seekGroup(id, new Api.SeekGroup().topic(topic).offset(offset));
        }

        /**
         * Commits, for all partitions of a topic, the offset of the first record at or after this timestamp.
         * The group must have no members.
         */
        public Api.Group seek(String topic, Instant timestamp) {
            return api.seekGroup(id, new Api.SeekGroup().topic(topic).timestamp(timestamp.toEpochMilli()));
        }
    }

    /** A share group, which need not exist. */
    public static final class ShareGroup {
        private final Api api;
        private final String id;

        private ShareGroup(Control control, String id) {
            this.api = control.api();
            this.id = id;
        }

        /** Returns the state, members, start offsets and lag of the group, and the number of records in each state. */
        public Api.ShareGroup state() {
            return api.getShareGroup(id);
        }

        /** Returns all records with their states and deliveries. */
        public List<Api.ShareRecord> records() {
            return api.readShareGroupRecords(id, new Api.ReadShareGroupRecordsQuery()).records();
        }

        /** Ends the acquisition locks of all records now, and returns how many there were. */
        public long expireLocks() {
            return api.expireLocks(id, new Api.ExpireLocks()).expired();
        }

        /** Waits until at least this number of records are acknowledged. */
        public Api.ShareGroup waitForAcknowledged(long records) {
            return api.waitForShareGroup(id, new Api.WaitForShareGroup().acknowledged(records));
        }

        /** Waits until at least this number of records are acknowledged. */
        public Api.ShareGroup waitForAcknowledged(long records, Duration timeout) {
            return api.waitForShareGroup(id, new Api.WaitForShareGroup().acknowledged(records).timeout(seconds(timeout)));
        }

        /** Waits until at least this number of records are archived. */
        public Api.ShareGroup waitForArchived(long records) {
            return api.waitForShareGroup(id, new Api.WaitForShareGroup().archived(records));
        }

        /** Waits until at least this number of records are archived. */
        public Api.ShareGroup waitForArchived(long records, Duration timeout) {
            return api.waitForShareGroup(id, new Api.WaitForShareGroup().archived(records).timeout(seconds(timeout)));
        }

        /** Sets the start offset of all partitions of a topic. The group must have no members. */
        public Api.ShareGroup seek(String topic, long offset) {
            return api.seekShareGroup(id, new Api.SeekShareGroup().topic(topic).offset(offset));
        }
    }

    /**
     * A transaction without a client.
     *
     * <pre>{@code
     * try (Transaction transaction = kafka.openTransaction("payments")) {
     *     transaction.send("orders", "one");
     *     transaction.commit();
     * }
     * }</pre>
     */
    public static final class Transaction implements AutoCloseable {
        private final Control control;
        private final String id;
        private boolean hasEnded;

        private Transaction(Control control, String transactionalId) {
            this.control = control;
            this.id = transactionalId;
            control.api().beginTransaction(id, new Api.BeginTransaction());
        }

        /** Appends values without keys to a topic in the transaction. */
        public void send(String topic, String... values) {
            send(topic, Arrays.stream(values).map(Message::of).toArray(Message[]::new));
        }

        /** Appends records to a topic in the transaction. */
        public void send(String topic, Message... messages) {
            for (Message message : messages) {
                Map<String, Object> body = new LinkedHashMap<>(message.fields);
                body.put("topic", topic);
                control.control("POST", "/v1/transactions/" + encoded(id) + "/records", body);
            }
        }

        /** Commits the transaction, and waits until all markers are written. */
        public void commit() {
            hasEnded = true;
            control.api().commitTransaction(id);
        }

        /** Aborts the transaction, and waits until all markers are written. */
        public void abort() {
            hasEnded = true;
            control.api().abortTransaction(id, new Api.AbortTransaction());
        }

        /** Aborts the transaction unless it was committed or aborted before. */
        @Override
        public void close() {
            if (!hasEnded) {
                abort();
            }
        }
    }

    /**
     * A fault that is set.
     *
     * <pre>{@code
     * try (Fault fault = kafka.fault("Produce", new NewFault().error("NOT_LEADER_OR_FOLLOWER").times(2))) {
     * }</pre>
     */
    public static final class Fault implements AutoCloseable {
        private final Api api;
        private final long id;
        private boolean isClosed;

        private Fault(Control control, long id) {
            this.api = control.api();
            this.id = id;
        }

        /** How often the fault has fired. It must not have been closed. */
        public long fired() {
            return api.getFault(id).fired();
        }

        /** Waits until the fault has fired n times. */
        public void waitUntilFired(int n) {
            api.waitForFault(id, new Api.WaitForFault().n(n));
        }

        /** Waits until the fault has fired n times. */
        public void waitUntilFired(int n, Duration timeout) {
            api.waitForFault(id, new Api.WaitForFault().n(n).timeout(seconds(timeout)));
        }

        /** Handles the requests that the fault holds. */
        public void release() {
            api.releaseFault(id);
        }

        /**
         * Removes the fault. A second call has no effect.
         *
         * @throws AssertionError if it has fired less often than expected
         */
        @Override
        public void close() {
            if (isClosed) {
                return;
            }
            isClosed = true;
            String unfired = api.removeFault(id).unfired();
            if (unfired != null) {
                throw new AssertionError(unfired);
            }
        }
    }

    /** The clock of the brokers: real time plus an offset. */
    public static final class Clock {
        private final Control control;

        private Clock(Control control) {
            this.control = control;
        }

        /** The time of the brokers. */
        public Instant now() {
            return Instant.ofEpochMilli(control.api().getClock().nowMs());
        }

        /**
         * Advances the clock, and runs everything that becomes due: retention, timeouts, expiration. Sessions of clients
         * do not expire.
         */
        public void advance(Duration duration) {
            control.api().advanceClock(new Api.AdvanceClock().seconds(seconds(duration)));
        }

        /** Like {@link #advance}, but sessions of members also expire, and long polls end. */
        public void advanceWithSessions(Duration duration) {
            control.api().advanceClock(new Api.AdvanceClock().seconds(seconds(duration)).sessions(true));
        }
    }

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    private static void putBytes(Map<String, Object> fields, String name, byte[] data) {
        fields.put(name, data == null ? null : Base64.getEncoder().encodeToString(data));
        fields.put(name + "_encoding", "base64");
    }

    private static double seconds(Duration duration) {
        return duration.toNanos() / 1e9;
    }

    private static String encoded(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> asMap(Object json) {
        return (Map<String, Object>) json;
    }

    private static Stream<Map<String, Object>> asMaps(Object json) {
        return ((List<?>) json).stream().map(Control::asMap);
    }

    private static Map<Integer, Long> asOffsets(Object json) {
        Map<Integer, Long> offsets = new LinkedHashMap<>();
        asMap(json).forEach((partition, offset) -> offsets.put(Integer.valueOf(partition), asLong(offset)));
        return offsets;
    }

    private static long asLong(Object json) {
        return ((Number) json).longValue();
    }

    private static int asInt(Object json) {
        return Math.toIntExact(asLong(json));
    }

    private static byte[] asBytes(Object json) {
        return json == null ? null : Base64.getDecoder().decode((String) json);
    }
}
