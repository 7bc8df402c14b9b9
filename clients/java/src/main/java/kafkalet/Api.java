package kafkalet;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A method of each operation of kafkalet's control API, and the types of their requests and responses.
 *
 * <p>Written by `python -m tools.clients` from kafkalet/control/openapi.json.
 */
public final class Api {
    private final Control control;

    Api(Control control) {
        this.control = control;
    }

    /** An object of the API: its fields by name. A field that is absent has its default. */
    public abstract static class Fields {
        final Map<String, Object> json;

        Fields(Map<String, Object> json) {
            this.json = json;
        }

        /** The fields as JSON. */
        public Map<String, Object> json() {
            return json;
        }

        @Override
        public boolean equals(Object other) {
            return other != null && other.getClass() == getClass() && json.equals(((Fields) other).json);
        }

        @Override
        public int hashCode() {
            return json.hashCode();
        }

        @Override
        public String toString() {
            return getClass().getSimpleName() + json;
        }

        void set(String name, Object value) {
            json.put(name, plain(value));
        }

        @SuppressWarnings("unchecked")
        <T> T get(String name, Function<Object, T> as) {
            Object value = json.get(name);
            return value == null ? null : as.apply(value);
        }
    }

    private static Object plain(Object value) {
        if (value instanceof Fields fields) {
            return fields.json;
        }
        return value instanceof List<?> list ? list.stream().map(Api::plain).toList() : value;
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object json) {
        return (Map<String, Object>) json;
    }

    private static <T> List<T> list(Object json, Function<Object, T> as) {
        List<T> found = new ArrayList<>();
        ((List<?>) json).forEach(each -> found.add(as.apply(each)));
        return found;
    }

    private static <T> Map<String, T> map(Object json, Function<Object, T> as) {
        Map<String, T> found = new LinkedHashMap<>();
        map(json).forEach((name, each) -> found.put(name, as.apply(each)));
        return found;
    }

    private static Long asLong(Object json) {
        return ((Number) json).longValue();
    }

    private static Double asDouble(Object json) {
        return ((Number) json).doubleValue();
    }

    private static String encoded(Object value) {
        String text = value instanceof List<?> list
                ? String.join(",", list.stream().map(String::valueOf).toList())
                : String.valueOf(value);
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static String query(Fields parameters) {
        List<String> parts = new ArrayList<>();
        parameters.json.forEach((name, value) -> parts.add(name + "=" + encoded(value)));
        return "?" + String.join("&", parts);
    }

    /** Return the brokers, their addresses and the emulated release. */
    public Cluster getCluster() {
        return new Cluster(map(control.control("GET", "/v1/cluster", null)));
    }

    /** Return all topics with the state of their partitions. */
    public Topics listTopics(ListTopicsQuery parameters) {
        return new Topics(map(control.control("GET", "/v1/topics" + query(parameters), null)));
    }

    /** Create a topic. */
    public Topic createTopic(NewTopic body) {
        return new Topic(map(control.control("POST", "/v1/topics", body.json)));
    }

    /** Return a topic with the state of its partitions. */
    public Topic getTopic(String name) {
        return new Topic(map(control.control("GET", "/v1/topics/" + encoded(name), null)));
    }

    /** Delete a topic and its records. */
    public void deleteTopic(String name) {
        control.control("DELETE", "/v1/topics/" + encoded(name), null);
    }

    /** Add partitions to a topic, as CreatePartitions does. Their replicas are spread over the brokers. */
    public Topic addPartitions(String name, AddPartitions body) {
        return new Topic(map(control.control("POST", "/v1/topics/" + encoded(name) + "/add-partitions", body.json)));
    }

    /** Change properties of a topic. Others stay as they are. */
    public Topic configureTopic(String name, ConfigureTopic body) {
        return new Topic(map(control.control("POST", "/v1/topics/" + encoded(name) + "/configure", body.json)));
    }

    /**
     * Return a mark of the current end of a topic. A read or wait that gets it as since skips earlier
     * records.
     *
     * <p>Records that replace older ones are later, too: those that follow a truncation or a restore, and all
     * records of a topic that is created again. The topic need not exist yet.
     */
    public Mark markTopic(String name) {
        return new Mark(map(control.control("GET", "/v1/topics/" + encoded(name) + "/mark", null)));
    }

    /** Return the state of a partition and the offsets of its log. */
    public Partition getPartition(String name, long partition) {
        return new Partition(map(control.control("GET", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition), null)));
    }

    /**
     * Append records as if a producer had sent them with acks=all: a single one, or several in records.
     *
     * <p>A topic that does not exist is created with the defaults of the brokers. If a partition refuses its
     * records, nothing is appended.
     */
    public SentRecords sendRecords(String name, NewRecords body) {
        return new SentRecords(map(control.control("POST", "/v1/topics/" + encoded(name) + "/records", body.json)));
    }

    /**
     * Return records that a consumer can receive now.
     *
     * <p>At most one of offset, time_ms, last and since may be given. If a partition has no leader, its
     * records are unknown, and the request fails.
     */
    public Records readRecords(String name, ReadRecordsQuery parameters) {
        return new Records(map(control.control("GET", "/v1/topics/" + encoded(name) + "/records" + query(parameters), null)));
    }

    /**
     * Wait until records match, and return the first of them.
     *
     * <p>Records that are in the topic already count, unless since_ms or since excludes them. The topic need
     * not exist yet. If the wait times out, the error message shows the records that did arrive, the
     * closest match first.
     */
    public FoundRecords waitForRecords(String name, WaitForRecords body) {
        return new FoundRecords(map(control.control("POST", "/v1/topics/" + encoded(name) + "/wait", body.json)));
    }

    /** Return all consumer groups with their members and lag. */
    public Groups listGroups() {
        return new Groups(map(control.control("GET", "/v1/groups", null)));
    }

    /** Return a consumer group with its members and lag. */
    public Group getGroup(String groupId) {
        return new Group(map(control.control("GET", "/v1/groups/" + encoded(groupId), null)));
    }

    /** Delete a group without members, and its offsets. */
    public void deleteGroup(String groupId) {
        control.control("DELETE", "/v1/groups/" + encoded(groupId), null);
    }

    /** Remove a member from a group, as if its session had timed out. The other members get its partitions. */
    public Group evictMember(String groupId, EvictMember body) {
        return new Group(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/evict", body.json)));
    }

    /** Start a rebalance of a group, unless one is in progress. */
    public Group rebalanceGroup(String groupId) {
        return new Group(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/rebalance", null)));
    }

    /** Commit other offsets for a group without members. The group is created if it does not exist. */
    public Group seekGroup(String groupId, SeekGroup body) {
        return new Group(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/seek", body.json)));
    }

    /** Wait until the lag of a group is at most lag. */
    public Group waitForLag(String groupId, WaitForLag body) {
        return new Group(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/wait-for-lag", body.json)));
    }

    /** Wait until a group has a number of members, all with their assignments. */
    public Group waitUntilStable(String groupId, WaitUntilStable body) {
        return new Group(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/wait-until-stable", body.json)));
    }

    /** Wait until the committed offset of a partition is at least offset. */
    public Group waitForCommit(String groupId, WaitForCommit body) {
        return new Group(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/wait-for-commit", body.json)));
    }

    /**
     * Make another broker the coordinator of a group.
     *
     * <p>Other groups in the same partition of __consumer_offsets move too.
     */
    public Coordinator moveGroupCoordinator(String groupId, MoveCoordinator body) {
        return new Coordinator(map(control.control("POST", "/v1/groups/" + encoded(groupId) + "/move-coordinator", body.json)));
    }

    /**
     * Wait until the brokers are quiet: no request is in progress, no group has a lag, no transaction is
     * open.
     *
     * <p>A record that is missing after that will not arrive. The brokers cannot see a client that is between
     * two requests.
     */
    public void settle(Settle body) {
        control.control("POST", "/v1/settle", body.json);
    }

    /** Return all share groups with their members and the state of their records. */
    public ShareGroups listShareGroups() {
        return new ShareGroups(map(control.control("GET", "/v1/share-groups", null)));
    }

    /** Return a share group with its members and the state of its records. */
    public ShareGroup getShareGroup(String groupId) {
        return new ShareGroup(map(control.control("GET", "/v1/share-groups/" + encoded(groupId), null)));
    }

    /** Delete a share group without members, and the state of its records. */
    public void deleteShareGroup(String groupId) {
        control.control("DELETE", "/v1/share-groups/" + encoded(groupId), null);
    }

    /** Return the records that a share group has consumed or can consume, with their state and deliveries. */
    public ShareRecords readShareGroupRecords(String groupId, ReadShareGroupRecordsQuery parameters) {
        return new ShareRecords(map(control.control("GET", "/v1/share-groups/" + encoded(groupId) + "/records" + query(parameters), null)));
    }

    /** Change properties of a share group, which need not exist, and return all that are set. */
    public ShareGroupConfig configureShareGroup(String groupId, ConfigureShareGroup body) {
        return new ShareGroupConfig(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/configure", body.json)));
    }

    /** Remove a member from a share group, as if its session had timed out. Its records stay locked. */
    public ShareGroup evictShareMember(String groupId, EvictShareMember body) {
        return new ShareGroup(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/evict", body.json)));
    }

    /** End the acquisition locks of a share group now, as if share.record.lock.duration.ms had passed. */
    public ExpiredLocks expireLocks(String groupId, ExpireLocks body) {
        return new ExpiredLocks(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/expire-locks", body.json)));
    }

    /** Set other start offsets of a share group without members. The group is created if it does not exist. */
    public ShareGroup seekShareGroup(String groupId, SeekShareGroup body) {
        return new ShareGroup(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/seek", body.json)));
    }

    /** Wait until at least these numbers of records are available, acquired, acknowledged or archived. */
    public ShareGroup waitForShareGroup(String groupId, WaitForShareGroup body) {
        return new ShareGroup(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/wait", body.json)));
    }

    /** Wait until the deliveries of all records of a share group but lag have ended. */
    public ShareGroup waitForShareLag(String groupId, WaitForShareLag body) {
        return new ShareGroup(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/wait-for-lag", body.json)));
    }

    /** Wait until a share group has a number of members, and all partitions are assigned. */
    public ShareGroup waitUntilShareGroupIsStable(String groupId, WaitUntilShareGroupIsStable body) {
        return new ShareGroup(map(control.control("POST", "/v1/share-groups/" + encoded(groupId) + "/wait-until-stable", body.json)));
    }

    /** Return all transactional ids with their states. */
    public Transactions listTransactions() {
        return new Transactions(map(control.control("GET", "/v1/transactions", null)));
    }

    /** Return the state of a transactional id. */
    public Transaction getTransaction(String transactionalId) {
        return new Transaction(map(control.control("GET", "/v1/transactions/" + encoded(transactionalId), null)));
    }

    /**
     * Make another broker the coordinator of a transactional id.
     *
     * <p>Other ids in the same partition of __transaction_state move too.
     */
    public Coordinator moveTransactionCoordinator(String transactionalId, MoveCoordinator body) {
        return new Coordinator(map(control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/move-coordinator", body.json)));
    }

    /** Wait until a transactional id is in a state. */
    public void waitForTransaction(String transactionalId, WaitForTransaction body) {
        control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/wait", body.json);
    }

    /** Begin a transaction without a client. An older producer with the transactional id is fenced. */
    public Transaction beginTransaction(String transactionalId, BeginTransaction body) {
        return new Transaction(map(control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/begin", body.json)));
    }

    /** Append a record to a transaction that was begun with begin. */
    public Transaction sendInTransaction(String transactionalId, SendInTransaction body) {
        return new Transaction(map(control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/records", body.json)));
    }

    /** Add offsets of a consumer group to a transaction that was begun with begin. */
    public Transaction sendOffsetsInTransaction(String transactionalId, SendOffsetsInTransaction body) {
        return new Transaction(map(control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/offsets", body.json)));
    }

    /** Commit a transaction that was begun with begin, and wait for its markers. */
    public Transaction commitTransaction(String transactionalId) {
        return new Transaction(map(control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/commit", null)));
    }

    /**
     * Abort the open transaction of a transactional id, and wait for its markers.
     *
     * <p>If a client has begun it, its producer is fenced, as after the transaction timeout.
     */
    public Transaction abortTransaction(String transactionalId, AbortTransaction body) {
        return new Transaction(map(control.control("POST", "/v1/transactions/" + encoded(transactionalId) + "/abort", body.json)));
    }

    /** Return the latest requests that the journal keeps. */
    public Requests listRequests(ListRequestsQuery parameters) {
        return new Requests(map(control.control("GET", "/v1/requests" + query(parameters), null)));
    }

    /**
     * Forget all requests and counts, including those of unsupported requests. Requests in progress
     * remain.
     */
    public void clearRequests() {
        control.control("DELETE", "/v1/requests", null);
    }

    /**
     * Count the requests since the start or since the journal was cleared.
     *
     * <p>A count by API and client is always available. Other counts fail with 409 if the journal has dropped
     * requests.
     */
    public RequestCount countRequests(CountRequestsQuery parameters) {
        return new RequestCount(map(control.control("GET", "/v1/requests/count" + query(parameters), null)));
    }

    /** Count the requests by API and client. */
    public RequestCounts listRequestCounts() {
        return new RequestCounts(map(control.control("GET", "/v1/requests/counts", null)));
    }

    /** Return the requests for APIs or versions that the brokers do not serve. */
    public Unsupported listUnsupported() {
        return new Unsupported(map(control.control("GET", "/v1/requests/unsupported", null)));
    }

    /**
     * Wait until clients have sent requests, and return them. Earlier requests count, unless they were
     * cleared.
     */
    public Requests waitForRequests(WaitForRequests body) {
        return new Requests(map(control.control("POST", "/v1/requests/wait", body.json)));
    }

    /** Return the connections of clients. */
    public Connections listConnections() {
        return new Connections(map(control.control("GET", "/v1/connections", null)));
    }

    /** Close a connection with a TCP reset. Responses that have not been sent are lost. */
    public void resetConnection(String id) {
        control.control("POST", "/v1/connections/" + encoded(id) + "/reset", null);
    }

    /**
     * Close the direction to the client: the client reads end of file, while the broker still receives
     * requests.
     */
    public void halfCloseConnection(String id) {
        control.control("POST", "/v1/connections/" + encoded(id) + "/half-close", null);
    }

    /**
     * Discard what the client sends, and send nothing. The connection stays open until the client closes
     * it.
     */
    public void blackHoleConnection(String id) {
        control.control("POST", "/v1/connections/" + encoded(id) + "/black-hole", null);
    }

    /** Return the faults that are set, and how often each has fired. */
    public Faults listFaults() {
        return new Faults(map(control.control("GET", "/v1/faults", null)));
    }

    /**
     * Set a fault. It stays until it is removed.
     *
     * <p>At least one of error, delay, hang, barrier, drop_response, disconnect, corrupt, truncate, throttle,
     * bandwidth and respond must be given.
     */
    public Fault addFault(NewFault body) {
        return new Fault(map(control.control("POST", "/v1/faults", body.json)));
    }

    /** Remove all faults, and return how often they have fired. Requests that they hold are handled. */
    public Faults removeFaults() {
        return new Faults(map(control.control("DELETE", "/v1/faults", null)));
    }

    /** Return a fault, and how often it has fired. */
    public Fault getFault(long faultId) {
        return new Fault(map(control.control("GET", "/v1/faults/" + encoded(faultId), null)));
    }

    /**
     * Remove a fault, and return how often it has fired. Requests that it holds are handled.
     *
     * <p>If unfired is not null, the fault has fired less often than expected, and the test should fail.
     */
    public Fault removeFault(long faultId) {
        return new Fault(map(control.control("DELETE", "/v1/faults/" + encoded(faultId), null)));
    }

    /** Handle the requests that a fault holds (hang, barrier, delay). This ends a fault with hang. */
    public Fault releaseFault(long faultId) {
        return new Fault(map(control.control("POST", "/v1/faults/" + encoded(faultId) + "/release", null)));
    }

    /** Wait until a fault has fired. */
    public Fault waitForFault(long faultId, WaitForFault body) {
        return new Fault(map(control.control("POST", "/v1/faults/" + encoded(faultId) + "/wait", body.json)));
    }

    /** Return the time of the brokers. */
    public Clock getClock() {
        return new Clock(map(control.control("GET", "/v1/clock", null)));
    }

    /**
     * Advance the clock, and run everything that becomes due before the response: retention, timeouts,
     * expiration.
     */
    public Clock advanceClock(AdvanceClock body) {
        return new Clock(map(control.control("POST", "/v1/clock/advance", body.json)));
    }

    /** Return the segments of the leader's log. */
    public Segments listSegments(String name, long partition) {
        return new Segments(map(control.control("GET", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/segments", null)));
    }

    /** Return the headers of batches in the leader's log, including those below the log start offset. */
    public Batches listBatches(String name, long partition, ListBatchesQuery parameters) {
        return new Batches(map(control.control("GET", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/batches" + query(parameters), null)));
    }

    /** Compact all logs that are due, by Kafka's rules and the clock of the brokers. */
    public CleanerResult runCleaner(RunCleaner body) {
        return new CleanerResult(map(control.control("POST", "/v1/cleaner/run", body.json)));
    }

    /** Delete all expired segments, by the clock of the brokers. */
    public RetentionResult runRetention() {
        return new RetentionResult(map(control.control("POST", "/v1/retention/run", null)));
    }

    /** Copy all segments that are due to remote storage, and delete those that have expired there. */
    public TieringResult runTiering() {
        return new TieringResult(map(control.control("POST", "/v1/tiering/run", null)));
    }

    /**
     * Append entries exactly as they are: with gaps, control batches, wrong checksums, any offsets and
     * timestamps.
     */
    public Partition appendBatches(String name, long partition, AppendBatches body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/append-batches", body.json)));
    }

    /** Append ordinary records around a special part, such as a gap of offsets or an aborted transaction. */
    public Partition appendLayout(String name, long partition, AppendLayout body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/layout", body.json)));
    }

    /** Delete the records before an offset, as retention or DeleteRecords does. */
    public Partition deleteRecords(String name, long partition, DeleteRecords body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/delete-records", body.json)));
    }

    /** Remove the records at and after an offset, as if a replica that lacked them had been elected leader. */
    public Partition truncateLog(String name, long partition, TruncateLog body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/truncate", body.json)));
    }

    /** Keep the high watermark from advancing, so that consumers do not see later records. */
    public Partition holdHighWatermark(String name, long partition, HoldHighWatermark body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/hold-high-watermark", body.json)));
    }

    /** Let the high watermark advance again. If it is not held, nothing changes. */
    public Partition releaseHighWatermark(String name, long partition) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/hold-high-watermark/release", null)));
    }

    /** Make a broker the leader of a partition, in a new leader epoch. */
    public Partition moveLeader(String name, long partition, MoveLeader body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/move-leader", body.json)));
    }

    /** Start a new leader epoch with the same leader. */
    public Partition newLeaderEpoch(String name, long partition) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/new-leader-epoch", null)));
    }

    /** Take replicas of a partition offline, as if their disk had failed. */
    public Partition takeOffline(String name, long partition, Replica body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/take-offline", body.json)));
    }

    /** Bring replicas that were taken offline back. */
    public Partition releaseOfflineReplicas(String name, long partition, Replica body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/take-offline/release", body.json)));
    }

    /** Remove followers from the in-sync replicas, and hold them back so that they stay out. */
    public Partition shrinkIsr(String name, long partition, ShrinkIsr body) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/shrink-isr", body.json)));
    }

    /** Let the followers that are held back catch up and join the in-sync replicas again. */
    public Partition releaseIsr(String name, long partition) {
        return new Partition(map(control.control("POST", "/v1/topics/" + encoded(name) + "/partitions/" + encoded(partition) + "/shrink-isr/release", null)));
    }

    /** Return the brokers, running or stopped. */
    public Brokers listBrokers() {
        return new Brokers(map(control.control("GET", "/v1/brokers", null)));
    }

    /** Return a broker, running or stopped. */
    public Broker getBroker(long nodeId) {
        return new Broker(map(control.control("GET", "/v1/brokers/" + encoded(nodeId), null)));
    }

    /** Stop a broker. Its listener closes, and other replicas become leaders of its partitions. */
    public Broker stopBroker(long nodeId) {
        return new Broker(map(control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/stop", null)));
    }

    /** Start a stopped broker again, on the same port. */
    public Broker startBroker(long nodeId) {
        return new Broker(map(control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/start", null)));
    }

    /**
     * Suspend a broker. Connections stay open, but get no responses, and the broker does not follow other
     * leaders.
     */
    public Broker pauseBroker(long nodeId) {
        return new Broker(map(control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/pause", null)));
    }

    /**
     * Let a paused broker continue. It serves the requests that have arrived, and catches up with other
     * leaders.
     */
    public Broker resumeBroker(long nodeId) {
        return new Broker(map(control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/resume", null)));
    }

    /**
     * Cut a broker off from peers, as a partition of the network does. Connections stay open, but carry
     * nothing.
     */
    public Broker cutOffBroker(long nodeId, Peers body) {
        return new Broker(map(control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/cut-off", body.json)));
    }

    /** Let a broker reach everything again. Records that other leaders do not have are truncated. */
    public Broker reconnectBroker(long nodeId) {
        return new Broker(map(control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/reconnect", null)));
    }

    /** Stop replicas of a broker from following their leaders. */
    public void holdReplication(long nodeId, Replicas body) {
        control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/hold-replication", body.json);
    }

    /** Undo a hold-replication with the same body. The replicas catch up before the response. */
    public void releaseReplication(long nodeId, Replicas body) {
        control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/hold-replication/release", body.json);
    }

    /** Refuse new connections to a broker. Open connections continue. */
    public void refuseConnections(long nodeId) {
        control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/refuse-connections", null);
    }

    /** Accept new connections to a broker again. */
    public void releaseConnections(long nodeId) {
        control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/refuse-connections/release", null);
    }

    /** Make a log directory of a broker fail, as if its disk broke. Other in-sync replicas become leaders. */
    public void failLogDir(long nodeId, LogDir body) {
        control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/fail-log-dir", body.json);
    }

    /** Repair a log directory that has failed, as if the broker was restarted: its logs are recovered. */
    public void releaseLogDir(long nodeId, LogDir body) {
        control.control("POST", "/v1/brokers/" + encoded(nodeId) + "/fail-log-dir/release", body.json);
    }

    /**
     * Let no controller be active: leaders, ISRs and topics do not change, and requests for the controller
     * wait.
     */
    public void stopController() {
        control.control("POST", "/v1/controller/stop", null);
    }

    /**
     * Let a controller be active again. It fences brokers that were lost in the meantime when their
     * sessions expire.
     */
    public void startController() {
        control.control("POST", "/v1/controller/start", null);
    }

    /**
     * Restart every running broker, one after the other, each on the same port.
     *
     * <p>After each restart, wait until the replicas of the broker are in sync.
     */
    public Brokers rollBrokers(Roll body) {
        return new Brokers(map(control.control("POST", "/v1/roll", body.json)));
    }

    /** Return the ACLs, in the order of their creation. Each has one operation. */
    public Acls listAcls() {
        return new Acls(map(control.control("GET", "/v1/acls", null)));
    }

    /** Create ACLs, and return all. Those that exist stay as they are. */
    public Acls addAcls(Acls body) {
        return new Acls(map(control.control("POST", "/v1/acls", body.json)));
    }

    /** Delete an ACL, and return those that are left. */
    public Acls removeAcl(RemoveAclQuery parameters) {
        return new Acls(map(control.control("DELETE", "/v1/acls" + query(parameters), null)));
    }

    /** Return the names of the users who can log in with a password. */
    public Users listUsers() {
        return new Users(map(control.control("GET", "/v1/users", null)));
    }

    /** Create a user who can log in with PLAIN and SCRAM, or change the password. Return all names. */
    public Users addUser(User body) {
        return new Users(map(control.control("POST", "/v1/users", body.json)));
    }

    /** Remove a user, and return the names of those who are left. Connections of the user stay open. */
    public Users removeUser(String name) {
        return new Users(map(control.control("DELETE", "/v1/users/" + encoded(name), null)));
    }

    /** Return the settings with which a client logs in and trusts the brokers. They contain the password. */
    public ClientConfig getClientConfig(GetClientConfigQuery parameters) {
        return new ClientConfig(map(control.control("GET", "/v1/client-config" + query(parameters), null)));
    }

    /**
     * Remove all topics, groups, transactions, faults and changed configs. All connections of clients are
     * closed.
     *
     * <p>The topics of the command line are created again, empty. The brokers keep their ports; stopped ones
     * start again.
     */
    public void reset() {
        control.control("POST", "/v1/reset", null);
    }

    /** Return a copy of the contents as a tar archive: topics, records, groups, transactions and configs. */
    public byte[] takeSnapshot() {
        return control.send("GET", "/v1/snapshot", "application/json", new byte[0]);
    }

    /**
     * Replace the contents with those of a snapshot. All connections of clients are closed.
     *
     * <p>A file that is not a complete snapshot of the same brokers is refused, and nothing changes. Only one
     * file is accepted at a time.
     */
    public void restore(byte[] file) {
        control.send("POST", "/v1/restore", "application/octet-stream", file);
    }

    /** Options of an abort. */
    public static final class AbortTransaction extends Fields {
        /** An object with the defaults. */
        public AbortTransaction() {
            super(new LinkedHashMap<>());
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public AbortTransaction timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** ACLs. */
    public static final class Acls extends Fields {
        /** An object with its required fields. */
        public Acls(List<String> acls) {
            super(new LinkedHashMap<>());
            set("acls", acls);
        }

        Acls(Map<String, Object> json) {
            super(json);
        }

        /** The ACLs. An ACL, as in alice:read,describe:topic:orders* or deny:*:delete:topic:*. */
        public List<String> acls() {
            return get("acls", value -> list(value, each -> (String) each));
        }
    }

    /** Partitions to add. */
    public static final class AddPartitions extends Fields {
        /** An object with its required fields. */
        public AddPartitions(long count) {
            super(new LinkedHashMap<>());
            set("count", count);
        }
    }

    /** How far to advance the clock: the sum of these times. */
    public static final class AdvanceClock extends Fields {
        /** An object with the defaults. */
        public AdvanceClock() {
            super(new LinkedHashMap<>());
        }

        /** Milliseconds. */
        public AdvanceClock milliseconds(double milliseconds) {
            set("milliseconds", milliseconds);
            return this;
        }

        /** Seconds. */
        public AdvanceClock seconds(double seconds) {
            set("seconds", seconds);
            return this;
        }

        /** Minutes. */
        public AdvanceClock minutes(double minutes) {
            set("minutes", minutes);
            return this;
        }

        /** Hours. */
        public AdvanceClock hours(double hours) {
            set("hours", hours);
            return this;
        }

        /** Days. */
        public AdvanceClock days(double days) {
            set("days", days);
            return this;
        }

        /** Whether the time of clients advances as well: sessions of members expire, and long polls end. */
        public AdvanceClock sessions(boolean sessions) {
            set("sessions", sessions);
            return this;
        }
    }

    /** Entries of a log. */
    public static final class AppendBatches extends Fields {
        /** An object with its required fields. */
        public AppendBatches(String data) {
            super(new LinkedHashMap<>());
            set("data", data);
        }
    }

    /** A layout of a log. */
    public static final class AppendLayout extends Fields {
        /** An object with its required fields. */
        public AppendLayout(String kind) {
            super(new LinkedHashMap<>());
            set("kind", kind);
        }

        /** The number of ordinary records before the special part. */
        public AppendLayout first(long first) {
            set("first", first);
            return this;
        }

        /** The size of the special part. */
        public AppendLayout size(long size) {
            set("size", size);
            return this;
        }

        /** The number of ordinary records after the special part. */
        public AppendLayout after(long after) {
            set("after", after);
            return this;
        }
    }

    /** A record batch of a log, or a message of the formats 0 and 1. */
    public static final class Batch extends Fields {
        Batch(Map<String, Object> json) {
            super(json);
        }

        /** The first offset. */
        public long baseOffset() {
            return get("base_offset", value -> asLong(value));
        }

        /** The last offset. */
        public long lastOffset() {
            return get("last_offset", value -> asLong(value));
        }

        /**
         * The number of records, or -1 for a compressed batch of an old format, whose header does not contain
         * it.
         */
        public long count() {
            return get("count", value -> asLong(value));
        }

        /** The base offset of the segment. */
        public long segment() {
            return get("segment", value -> asLong(value));
        }

        /** The position in the file of the segment. */
        public long position() {
            return get("position", value -> asLong(value));
        }

        /** The size. */
        public long sizeBytes() {
            return get("size_bytes", value -> asLong(value));
        }

        /** The format: 0, 1 or 2. */
        public long magic() {
            return get("magic", value -> asLong(value));
        }

        /** The checksum that is stored in the batch. */
        public long crc() {
            return get("crc", value -> asLong(value));
        }

        /** The compression codec. */
        public String compression() {
            return get("compression", value -> (String) value);
        }

        /** The epoch of the leader that appended the batch, or -1. */
        public long leaderEpoch() {
            return get("leader_epoch", value -> asLong(value));
        }

        /** The source of timestamps. */
        public String timestampType() {
            return get("timestamp_type", value -> (String) value);
        }

        /** The timestamp of the first record, or -1. */
        public long baseTimestamp() {
            return get("base_timestamp", value -> asLong(value));
        }

        /** The largest timestamp, or -1. */
        public long maxTimestamp() {
            return get("max_timestamp", value -> asLong(value));
        }

        /** The producer id, or -1. */
        public long producerId() {
            return get("producer_id", value -> asLong(value));
        }

        /** The producer epoch, or -1. */
        public long producerEpoch() {
            return get("producer_epoch", value -> asLong(value));
        }

        /** The first sequence number, or -1. */
        public long baseSequence() {
            return get("base_sequence", value -> asLong(value));
        }

        /** Whether the records belong to a transaction. */
        public boolean isTransactional() {
            return get("is_transactional", value -> (Boolean) value);
        }

        /** Whether the batch contains a control record instead of records. */
        public boolean isControl() {
            return get("is_control", value -> (Boolean) value);
        }

        /** COMMIT or ABORT for a transaction marker, else null. */
        public String controlType() {
            return get("control_type", value -> (String) value);
        }
    }

    /** Batches of a log. */
    public static final class Batches extends Fields {
        Batches(Map<String, Object> json) {
            super(json);
        }

        /** The batches, by offset. */
        public List<Batch> batches() {
            return get("batches", value -> list(value, each -> new Batch(map(each))));
        }

        /** The offset of the next request, or null at the end of the log. */
        public Long nextOffset() {
            return get("next_offset", value -> asLong(value));
        }
    }

    /** A transaction without a client. */
    public static final class BeginTransaction extends Fields {
        /** An object with the defaults. */
        public BeginTransaction() {
            super(new LinkedHashMap<>());
        }

        /** The seconds after which the coordinator aborts the transaction. */
        public BeginTransaction timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** A broker of the cluster. */
    public static final class Broker extends Fields {
        Broker(Map<String, Object> json) {
            super(json);
        }

        /** The id of the broker. */
        public long nodeId() {
            return get("node_id", value -> asLong(value));
        }

        /** Whether the broker accepts requests. */
        public boolean isRunning() {
            return get("is_running", value -> (Boolean) value);
        }

        /** Whether the broker is suspended, and its requests wait. */
        public boolean isPaused() {
            return get("is_paused", value -> (Boolean) value);
        }

        /** What the broker does not reach. */
        public List<String> cutOffFrom() {
            return get("cut_off_from", value -> list(value, each -> (String) each));
        }

        /** The host that the broker advertises, or null while it is stopped. */
        public String host() {
            return get("host", value -> (String) value);
        }

        /** The port that the broker advertises, or null while it is stopped. */
        public Long port() {
            return get("port", value -> asLong(value));
        }

        /** The rack of the broker, or null. */
        public String rack() {
            return get("rack", value -> (String) value);
        }

        /** The advertised address of each listener, or empty. */
        public Map<String, String> listeners() {
            return get("listeners", value -> map(value, each -> (String) each));
        }
    }

    /** The brokers. */
    public static final class Brokers extends Fields {
        Brokers(Map<String, Object> json) {
            super(json);
        }

        /** The brokers, by id. */
        public List<Broker> brokers() {
            return get("brokers", value -> list(value, each -> new Broker(map(each))));
        }
    }

    /** What the log cleaner did to one replica. */
    public static final class CleanedPartition extends Fields {
        CleanedPartition(Map<String, Object> json) {
            super(json);
        }

        /** The topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The broker with the replica. */
        public long broker() {
            return get("broker", value -> asLong(value));
        }

        /** The first offset that had not been cleaned before. */
        public long firstDirtyOffset() {
            return get("first_dirty_offset", value -> asLong(value));
        }

        /** The first offset that has not been cleaned yet. */
        public long endOffset() {
            return get("end_offset", value -> asLong(value));
        }

        /** The size of the segments below end_offset before they were cleaned. */
        public long bytesBefore() {
            return get("bytes_before", value -> asLong(value));
        }

        /** Their size now. */
        public long bytesAfter() {
            return get("bytes_after", value -> asLong(value));
        }

        /** The number of records in them before, including transaction markers. */
        public long recordsBefore() {
            return get("records_before", value -> asLong(value));
        }

        /** The number of records in them now. */
        public long recordsAfter() {
            return get("records_after", value -> asLong(value));
        }
    }

    /** The replicas that were cleaned. */
    public static final class CleanerResult extends Fields {
        CleanerResult(Map<String, Object> json) {
            super(json);
        }

        /** In the order of cleaning. */
        public List<CleanedPartition> cleaned() {
            return get("cleaned", value -> list(value, each -> new CleanedPartition(map(each))));
        }
    }

    /** The settings of a client. */
    public static final class ClientConfig extends Fields {
        ClientConfig(Map<String, Object> json) {
            super(json);
        }

        /** The settings by name. */
        public Map<String, String> config() {
            return get("config", value -> map(value, each -> (String) each));
        }

        /** The settings as the text of a Java properties file. */
        public String properties() {
            return get("properties", value -> (String) value);
        }
    }

    /** The clock of the brokers. */
    public static final class Clock extends Fields {
        Clock(Map<String, Object> json) {
            super(json);
        }

        /** The time of logs, in milliseconds since 1970 (UTC). */
        public long nowMs() {
            return get("now_ms", value -> asLong(value));
        }

        /** How far it is ahead of the machine's clock, with an accuracy of two milliseconds. */
        public long aheadMs() {
            return get("ahead_ms", value -> asLong(value));
        }
    }

    /** The cluster. */
    public static final class Cluster extends Fields {
        Cluster(Map<String, Object> json) {
            super(json);
        }

        /** The id of the cluster. */
        public String clusterId() {
            return get("cluster_id", value -> (String) value);
        }

        /** The release of Apache Kafka that is emulated, or newest. */
        public String kafkaVersion() {
            return get("kafka_version", value -> (String) value);
        }

        /** The version of kafkalet. */
        public String kafkaletVersion() {
            return get("kafkalet_version", value -> (String) value);
        }

        /** The running brokers as host:port, separated by commas. */
        public String bootstrapServers() {
            return get("bootstrap_servers", value -> (String) value);
        }

        /** The broker to which clients send admin requests, or null if none is running. */
        public Long controllerId() {
            return get("controller_id", value -> asLong(value));
        }

        /** The time of the brokers, in milliseconds since 1970 (UTC). */
        public long nowMs() {
            return get("now_ms", value -> asLong(value));
        }

        /** The brokers, by id. */
        public List<Broker> brokers() {
            return get("brokers", value -> list(value, each -> new Broker(map(each))));
        }
    }

    /** An offset to commit. */
    public static final class CommittedOffset extends Fields {
        /** An object with its required fields. */
        public CommittedOffset(String topic, long partition, long offset) {
            super(new LinkedHashMap<>());
            set("topic", topic);
            set("partition", partition);
            set("offset", offset);
        }
    }

    /** Properties to set or to remove. */
    public static final class ConfigureShareGroup extends Fields {
        /** An object with its required fields. */
        public ConfigureShareGroup(Map<String, String> config) {
            super(new LinkedHashMap<>());
            set("config", config);
        }
    }

    /** Properties to set or to remove. */
    public static final class ConfigureTopic extends Fields {
        /** An object with its required fields. */
        public ConfigureTopic(Map<String, String> config) {
            super(new LinkedHashMap<>());
            set("config", config);
        }
    }

    /** A connection of a client. */
    public static final class Connection extends Fields {
        Connection(Map<String, Object> json) {
            super(json);
        }

        /** The address and port of the client, as in 127.0.0.1:50123. */
        public String id() {
            return get("id", value -> (String) value);
        }

        /** The id of the broker. */
        public long broker() {
            return get("broker", value -> asLong(value));
        }

        /** The client id, or an empty string before the first request. */
        public String clientId() {
            return get("client_id", value -> (String) value);
        }

        /** The API and version of the last request, as in Fetch v13, or an empty string. */
        public String lastRequest() {
            return get("last_request", value -> (String) value);
        }
    }

    /** The connections. */
    public static final class Connections extends Fields {
        Connections(Map<String, Object> json) {
            super(json);
        }

        /** By broker, oldest first. */
        public List<Connection> connections() {
            return get("connections", value -> list(value, each -> new Connection(map(each))));
        }
    }

    /** The broker that coordinates a group or a transactional id. */
    public static final class Coordinator extends Fields {
        Coordinator(Map<String, Object> json) {
            super(json);
        }

        /** The id of the broker. */
        public long nodeId() {
            return get("node_id", value -> asLong(value));
        }
    }

    /** Requests of one API by one client. */
    public static final class CountedRequests extends Fields {
        CountedRequests(Map<String, Object> json) {
            super(json);
        }

        /** The API. */
        public String api() {
            return get("api", value -> (String) value);
        }

        /** The client id. */
        public String clientId() {
            return get("client_id", value -> (String) value);
        }

        /** The number of requests. */
        public long count() {
            return get("count", value -> asLong(value));
        }
    }

    /** The records to delete. */
    public static final class DeleteRecords extends Fields {
        /** An object with its required fields. */
        public DeleteRecords(long before) {
            super(new LinkedHashMap<>());
            set("before", before);
        }
    }

    /** A member to evict. */
    public static final class EvictMember extends Fields {
        /** An object with its required fields. */
        public EvictMember(String memberId) {
            super(new LinkedHashMap<>());
            set("member_id", memberId);
        }
    }

    /** A member to evict. */
    public static final class EvictShareMember extends Fields {
        /** An object with its required fields. */
        public EvictShareMember(String memberId) {
            super(new LinkedHashMap<>());
            set("member_id", memberId);
        }
    }

    /** Locks to end. */
    public static final class ExpireLocks extends Fields {
        /** An object with the defaults. */
        public ExpireLocks() {
            super(new LinkedHashMap<>());
        }

        /** The topic. The default is all topics. */
        public ExpireLocks topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** The member. The default is all members. */
        public ExpireLocks memberId(String memberId) {
            set("member_id", memberId);
            return this;
        }
    }

    /** Locks that were ended. */
    public static final class ExpiredLocks extends Fields {
        ExpiredLocks(Map<String, Object> json) {
            super(json);
        }

        /** How many records were locked. */
        public long expired() {
            return get("expired", value -> asLong(value));
        }
    }

    /** A fault that is set. */
    public static final class Fault extends Fields {
        Fault(Map<String, Object> json) {
            super(json);
        }

        /** The id. The first fault of the brokers has 1. */
        public long id() {
            return get("id", value -> asLong(value));
        }

        /** The fault on one line. */
        public String text() {
            return get("text", value -> (String) value);
        }

        /** The options that were given. */
        public Map<String, Object> options() {
            return get("options", value -> map(value, each -> each));
        }

        /** How often the fault has fired. */
        public long fired() {
            return get("fired", value -> asLong(value));
        }

        /** What happened instead, if the fault has fired less often than expected, else null. */
        public String unfired() {
            return get("unfired", value -> (String) value);
        }

        /** The latest 20 requests that matched. */
        public List<String> seen() {
            return get("seen", value -> list(value, each -> (String) each));
        }
    }

    /** The faults. */
    public static final class Faults extends Fields {
        Faults(Map<String, Object> json) {
            super(json);
        }

        /** In the order in which they were set. */
        public List<Fault> faults() {
            return get("faults", value -> list(value, each -> new Fault(map(each))));
        }
    }

    /** The records for which a request waited. */
    public static final class FoundRecords extends Fields {
        FoundRecords(Map<String, Object> json) {
            super(json);
        }

        /** The first n that match, by partition and offset. */
        public List<Record> records() {
            return get("records", value -> list(value, each -> new Record(map(each))));
        }
    }

    /** A consumer group. */
    public static final class Group extends Fields {
        Group(Map<String, Object> json) {
            super(json);
        }

        /** The id. */
        public String groupId() {
            return get("group_id", value -> (String) value);
        }

        /** The state as named by Kafka, such as Stable or Empty. */
        public String state() {
            return get("state", value -> (String) value);
        }

        /** classic or consumer. */
        public String protocol() {
            return get("protocol", value -> (String) value);
        }

        /** The members. */
        public List<Member> members() {
            return get("members", value -> list(value, each -> new Member(map(each))));
        }

        /** The positions, by topic and partition. */
        public List<GroupOffset> offsets() {
            return get("offsets", value -> list(value, each -> new GroupOffset(map(each))));
        }

        /** The sum of the lags. */
        public long lag() {
            return get("lag", value -> asLong(value));
        }
    }

    /** The position of a group in a partition. */
    public static final class GroupOffset extends Fields {
        GroupOffset(Map<String, Object> json) {
            super(json);
        }

        /** The topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The committed offset, or null if there is none. */
        public Long committed() {
            return get("committed", value -> asLong(value));
        }

        /** The high watermark, or the last stable offset for consumers with read_committed. */
        public long end() {
            return get("end", value -> asLong(value));
        }

        /** The number of offsets left to process, or 0 if only transaction markers are left. */
        public long lag() {
            return get("lag", value -> asLong(value));
        }
    }

    /** The groups. */
    public static final class Groups extends Fields {
        Groups(Map<String, Object> json) {
            super(json);
        }

        /** The groups, by id. */
        public List<Group> groups() {
            return get("groups", value -> list(value, each -> new Group(map(each))));
        }
    }

    /** A header of a record. */
    public static final class Header extends Fields {
        /** An object with its required fields. */
        public Header(String name) {
            super(new LinkedHashMap<>());
            set("name", name);
        }

        Header(Map<String, Object> json) {
            super(json);
        }

        /** The name. */
        public String name() {
            return get("name", value -> (String) value);
        }

        /** The value, or null. */
        public String value() {
            return get("value", value -> (String) value);
        }

        /** The value, or null. */
        public Header value(String value) {
            set("value", value);
            return this;
        }

        /** The encoding of value. */
        public String valueEncoding() {
            return get("value_encoding", value -> (String) value);
        }

        /** The encoding of value. */
        public Header valueEncoding(String valueEncoding) {
            set("value_encoding", valueEncoding);
            return this;
        }
    }

    /** Where to hold the high watermark. */
    public static final class HoldHighWatermark extends Fields {
        /** An object with the defaults. */
        public HoldHighWatermark() {
            super(new LinkedHashMap<>());
        }

        /** The offset. The default is the current high watermark. */
        public HoldHighWatermark at(long at) {
            set("at", at);
            return this;
        }
    }

    /** A log directory of a broker. */
    public static final class LogDir extends Fields {
        /** An object with the defaults. */
        public LogDir() {
            super(new LinkedHashMap<>());
        }

        /** The number of the directory in log.dirs, or its path. */
        public LogDir logDir(Object logDir) {
            set("log_dir", logDir);
            return this;
        }
    }

    /** A position at the end of a topic. */
    public static final class Mark extends Fields {
        Mark(Map<String, Object> json) {
            super(json);
        }

        /** The mark, to pass as since. Its format may change. */
        public String mark() {
            return get("mark", value -> (String) value);
        }
    }

    /** A member of a group. */
    public static final class Member extends Fields {
        Member(Map<String, Object> json) {
            super(json);
        }

        /** The member id. */
        public String memberId() {
            return get("member_id", value -> (String) value);
        }

        /** The client id. */
        public String clientId() {
            return get("client_id", value -> (String) value);
        }

        /** The address of the client. */
        public String host() {
            return get("host", value -> (String) value);
        }

        /** The group.instance.id of a static member, or null. */
        public String instanceId() {
            return get("instance_id", value -> (String) value);
        }

        /** The partitions that the member may read. */
        public List<TopicPartition> assignment() {
            return get("assignment", value -> list(value, each -> new TopicPartition(map(each))));
        }
    }

    /** A new coordinator. */
    public static final class MoveCoordinator extends Fields {
        /** An object with the defaults. */
        public MoveCoordinator() {
            super(new LinkedHashMap<>());
        }

        /** The broker. The default is another in-sync replica. */
        public MoveCoordinator to(long to) {
            set("to", to);
            return this;
        }
    }

    /** A new leader. */
    public static final class MoveLeader extends Fields {
        /** An object with its required fields. */
        public MoveLeader(long to) {
            super(new LinkedHashMap<>());
            set("to", to);
        }

        /** Whether a replica that is not in sync may become the leader and lose records. */
        public MoveLeader unclean(boolean unclean) {
            set("unclean", unclean);
            return this;
        }
    }

    /**
     * A fault: which requests match, on which of them it fires, and what happens to them. Names match
     * exactly.
     */
    public static final class NewFault extends Fields {
        /** An object with the defaults. */
        public NewFault() {
            super(new LinkedHashMap<>());
        }

        /** The API, such as Produce, or a list of APIs. The default is all. */
        public NewFault api(Object api) {
            set("api", api);
            return this;
        }

        /** The error of the response, such as NOT_LEADER_OR_FOLLOWER. */
        public NewFault error(String error) {
            set("error", error);
            return this;
        }

        /** The request is handled after this number of seconds. */
        public NewFault delay(double delay) {
            set("delay", delay);
            return this;
        }

        /** The request is handled when the fault is released or removed. */
        public NewFault hang(boolean hang) {
            set("hang", hang);
            return this;
        }

        /** Hold requests until this number of them have arrived. */
        public NewFault barrier(long barrier) {
            set("barrier", barrier);
            return this;
        }

        /** The request is handled, but its response is not sent. */
        public NewFault dropResponse(boolean dropResponse) {
            set("drop_response", dropResponse);
            return this;
        }

        /** Close the connection before or after the request is handled. */
        public NewFault disconnect(String disconnect) {
            set("disconnect", disconnect);
            return this;
        }

        /** Corrupt this number of bytes of the response; for Fetch, of its records. */
        public NewFault corrupt(long corrupt) {
            set("corrupt", corrupt);
            return this;
        }

        /** The connection is closed after this number of bytes of the response. */
        public NewFault truncate(long truncate) {
            set("truncate", truncate);
            return this;
        }

        /**
         * The response has this throttle time in seconds, and the broker reads no requests of the client for
         * so long.
         */
        public NewFault throttle(double throttle) {
            set("throttle", throttle);
            return this;
        }

        /** The response is sent at this number of bytes per second. */
        public NewFault bandwidth(double bandwidth) {
            set("bandwidth", bandwidth);
            return this;
        }

        /** Change fields of the response. The journal shows their names. */
        public NewFault respond(List<PatchOperation> respond) {
            set("respond", respond);
            return this;
        }

        /** Only requests that name this topic. */
        public NewFault topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** Only requests that name this partition. */
        public NewFault partition(long partition) {
            set("partition", partition);
            return this;
        }

        /** Only requests that name this group. */
        public NewFault group(String group) {
            set("group", group);
            return this;
        }

        /** Only requests of this client. */
        public NewFault clientId(String clientId) {
            set("client_id", clientId);
            return this;
        }

        /** Only requests of this version. */
        public NewFault version(long version) {
            set("version", version);
            return this;
        }

        /** With version: only requests from that version to this one. */
        public NewFault maxVersion(long maxVersion) {
            set("max_version", maxVersion);
            return this;
        }

        /** Only requests to this broker. */
        public NewFault broker(long broker) {
            set("broker", broker);
            return this;
        }

        /** Fire on this number of requests. The default is all that match. */
        public NewFault times(long times) {
            set("times", times);
            return this;
        }

        /** Fire on the n-th request, counted from 1. */
        public NewFault nth(long nth) {
            set("nth", nth);
            return this;
        }

        /** Fire on every n-th request. */
        public NewFault every(long every) {
            set("every", every);
            return this;
        }

        /** Fire on each request with this probability. */
        public NewFault probability(double probability) {
            set("probability", probability);
            return this;
        }

        /** Makes the choice by probability reproducible. */
        public NewFault seed(long seed) {
            set("seed", seed);
            return this;
        }
    }

    /** A record to send. */
    public static final class NewRecord extends Fields {
        /** An object with the defaults. */
        public NewRecord() {
            super(new LinkedHashMap<>());
        }

        /** The key. */
        public NewRecord key(String key) {
            set("key", key);
            return this;
        }

        /** The encoding of key. */
        public NewRecord keyEncoding(String keyEncoding) {
            set("key_encoding", keyEncoding);
            return this;
        }

        /** The value. */
        public NewRecord value(String value) {
            set("value", value);
            return this;
        }

        /** The encoding of value. */
        public NewRecord valueEncoding(String valueEncoding) {
            set("value_encoding", valueEncoding);
            return this;
        }

        /** The headers. */
        public NewRecord headers(List<Header> headers) {
            set("headers", headers);
            return this;
        }

        /** Milliseconds since 1970 (UTC). The default is the current time. */
        public NewRecord timestamp(long timestamp) {
            set("timestamp", timestamp);
            return this;
        }

        /**
         * The partition. By default, the key determines it, as in the Java producer; the records of a request
         * that have no key go to one partition, and those of the next request to the next one.
         */
        public NewRecord partition(long partition) {
            set("partition", partition);
            return this;
        }
    }

    /** Records to send, in one batch for each partition, or in several if max.message.bytes requires that. */
    public static final class NewRecords extends Fields {
        /** An object with its required fields. */
        public NewRecords(List<NewRecord> records) {
            super(new LinkedHashMap<>());
            set("records", records);
        }

        /** The compression codec. */
        public NewRecords compression(String compression) {
            set("compression", compression);
            return this;
        }
    }

    /** A topic to create. What is left out has the defaults of the brokers. */
    public static final class NewTopic extends Fields {
        /** An object with its required fields. */
        public NewTopic(String name) {
            super(new LinkedHashMap<>());
            set("name", name);
        }

        /** The number of partitions. */
        public NewTopic partitions(long partitions) {
            set("partitions", partitions);
            return this;
        }

        /** The number of replicas of each partition. */
        public NewTopic replicationFactor(long replicationFactor) {
            set("replication_factor", replicationFactor);
            return this;
        }

        /** Properties of the topic, as in {"retention.ms": "1000"}. */
        public NewTopic config(Map<String, String> config) {
            set("config", config);
            return this;
        }

        /** The brokers of each partition, the leader first, instead of the two numbers. */
        public NewTopic assignments(List<List<Long>> assignments) {
            set("assignments", assignments);
            return this;
        }
    }

    /** A partition of a topic and the log of its leader. */
    public static final class Partition extends Fields {
        Partition(Map<String, Object> json) {
            super(json);
        }

        /** The index of the partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The id of the leader, or null if the partition has none. */
        public Long leader() {
            return get("leader", value -> asLong(value));
        }

        /** The epoch of the leader. */
        public long leaderEpoch() {
            return get("leader_epoch", value -> asLong(value));
        }

        /** The ids of the brokers with a replica. */
        public List<Long> replicas() {
            return get("replicas", value -> list(value, each -> asLong(each)));
        }

        /** The ids of the brokers whose replica is in sync. */
        public List<Long> isr() {
            return get("isr", value -> list(value, each -> asLong(each)));
        }

        /**
         * The ids of brokers with a replica that is offline: the broker is stopped, or the replica's log is
         * offline.
         */
        public List<Long> offlineReplicas() {
            return get("offline_replicas", value -> list(value, each -> asLong(each)));
        }

        /** The first offset that can be read. null while the partition has no leader. */
        public Long logStartOffset() {
            return get("log_start_offset", value -> asLong(value));
        }

        /** The first offset that read_committed cannot read. null while the partition has no leader. */
        public Long lastStableOffset() {
            return get("last_stable_offset", value -> asLong(value));
        }

        /** The first offset that consumers cannot read. null while the partition has no leader. */
        public Long highWatermark() {
            return get("high_watermark", value -> asLong(value));
        }

        /** The offset of the next record. null while the partition has no leader. */
        public Long logEndOffset() {
            return get("log_end_offset", value -> asLong(value));
        }

        /** The size of the log. null while the partition has no leader. */
        public Long sizeBytes() {
            return get("size_bytes", value -> asLong(value));
        }
    }

    /** An operation of a JSON Patch (RFC 6902) on a decoded response. */
    public static final class PatchOperation extends Fields {
        /** An object with its required fields. */
        public PatchOperation(String op, String path) {
            super(new LinkedHashMap<>());
            set("op", op);
            set("path", path);
        }

        /** The new value: a number, a string, a boolean, null, or a list of those. */
        public PatchOperation value(Object value) {
            set("value", value);
            return this;
        }
    }

    /** What a broker is cut off from. */
    public static final class Peers extends Fields {
        /** An object with its required fields. */
        public Peers(List<String> peers) {
            super(new LinkedHashMap<>());
            set("peers", peers);
        }
    }

    /** A record in a log. */
    public static final class Record extends Fields {
        Record(Map<String, Object> json) {
            super(json);
        }

        /** The name of the topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The offset. */
        public long offset() {
            return get("offset", value -> asLong(value));
        }

        /** Milliseconds since 1970 (UTC), or -1 if the record has no timestamp. */
        public long timestamp() {
            return get("timestamp", value -> asLong(value));
        }

        /** The key, or null. */
        public String key() {
            return get("key", value -> (String) value);
        }

        /** The encoding of key. */
        public String keyEncoding() {
            return get("key_encoding", value -> (String) value);
        }

        /** The value, or null for a tombstone. */
        public String value() {
            return get("value", value -> (String) value);
        }

        /** The encoding of value. */
        public String valueEncoding() {
            return get("value_encoding", value -> (String) value);
        }

        /** The headers, in the order of the producer. */
        public List<Header> headers() {
            return get("headers", value -> list(value, each -> new Header(map(each))));
        }
    }

    /** Records of a topic. */
    public static final class Records extends Fields {
        Records(Map<String, Object> json) {
            super(json);
        }

        /** The records, by partition and offset. */
        public List<Record> records() {
            return get("records", value -> list(value, each -> new Record(map(each))));
        }

        /** The offset at which to continue, for each partition read. */
        public Map<String, Long> nextOffsets() {
            return get("next_offsets", value -> map(value, each -> asLong(each)));
        }

        /** Whether there are more records to read at next_offsets. */
        public boolean hasMore() {
            return get("has_more", value -> (Boolean) value);
        }
    }

    /** A replica of the partition, or all. */
    public static final class Replica extends Fields {
        /** An object with the defaults. */
        public Replica() {
            super(new LinkedHashMap<>());
        }

        /** The broker of the replica. The default is all replicas. */
        public Replica broker(long broker) {
            set("broker", broker);
            return this;
        }
    }

    /** Replicas of a broker: all, those of one topic, or a single one. */
    public static final class Replicas extends Fields {
        /** An object with the defaults. */
        public Replicas() {
            super(new LinkedHashMap<>());
        }

        /** The topic. The default is all topics. */
        public Replicas topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** The partition. The default is all partitions. */
        public Replicas partition(long partition) {
            set("partition", partition);
            return this;
        }
    }

    /** A request of a client, and its response. */
    public static final class Request extends Fields {
        Request(Map<String, Object> json) {
            super(json);
        }

        /** The API, such as Fetch; API 999 for a key that Kafka does not know. */
        public String api() {
            return get("api", value -> (String) value);
        }

        /** The version that the client chose. */
        public long version() {
            return get("version", value -> asLong(value));
        }

        /** The correlation id of the request. */
        public long correlationId() {
            return get("correlation_id", value -> asLong(value));
        }

        /** The client id, or an empty string. */
        public String clientId() {
            return get("client_id", value -> (String) value);
        }

        /** The number of the connection. */
        public long connection() {
            return get("connection", value -> asLong(value));
        }

        /** The address of the client. */
        public String host() {
            return get("host", value -> (String) value);
        }

        /** The port of the client. */
        public long port() {
            return get("port", value -> asLong(value));
        }

        /** The id of the broker. */
        public long broker() {
            return get("broker", value -> asLong(value));
        }

        /** When the broker received it, in milliseconds since 1970, by the machine's clock. */
        public long timeMs() {
            return get("time_ms", value -> asLong(value));
        }

        /** The time until the response, or until now while it waits. */
        public double durationMs() {
            return get("duration_ms", value -> asDouble(value));
        }

        /** Whether it has no response yet, like a long poll. */
        public boolean isWaiting() {
            return get("is_waiting", value -> (Boolean) value);
        }

        /** Whether the broker delayed the response. */
        public boolean hasWaited() {
            return get("has_waited", value -> (Boolean) value);
        }

        /** The size of the request. */
        public long sizeBytes() {
            return get("size_bytes", value -> asLong(value));
        }

        /** The topics that the request or the response names. */
        public List<String> topics() {
            return get("topics", value -> list(value, each -> (String) each));
        }

        /** The errors in the response, such as NOT_LEADER_OR_FOLLOWER. */
        public List<String> errors() {
            return get("errors", value -> list(value, each -> (String) each));
        }

        /** Why the broker closed the connection instead of responding, or null. */
        public String closed() {
            return get("closed", value -> (String) value);
        }

        /** The id of the fault that has fired on the request, or null. */
        public Long fault() {
            return get("fault", value -> asLong(value));
        }

        /** The request and its response on one line. */
        public String text() {
            return get("text", value -> (String) value);
        }

        /**
         * The decoded request, with bytes as base64. null if messages is false or the request was too large to
         * keep.
         */
        public Object request() {
            return get("request", value -> value);
        }

        /** The decoded response, like request. */
        public Object response() {
            return get("response", value -> value);
        }
    }

    /** Numbers of requests. */
    public static final class RequestCount extends Fields {
        RequestCount(Map<String, Object> json) {
            super(json);
        }

        /** The number of all selected requests. */
        public long count() {
            return get("count", value -> asLong(value));
        }
    }

    /** Numbers of requests. */
    public static final class RequestCounts extends Fields {
        RequestCounts(Map<String, Object> json) {
            super(json);
        }

        /** By API and client, including requests that the journal no longer keeps. */
        public List<CountedRequests> counts() {
            return get("counts", value -> list(value, each -> new CountedRequests(map(each))));
        }
    }

    /** Requests of clients. */
    public static final class Requests extends Fields {
        Requests(Map<String, Object> json) {
            super(json);
        }

        /** The requests, oldest first. */
        public List<Request> requests() {
            return get("requests", value -> list(value, each -> new Request(map(each))));
        }
    }

    /** What retention did to one replica. */
    public static final class RetainedPartition extends Fields {
        RetainedPartition(Map<String, Object> json) {
            super(json);
        }

        /** The topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The broker with the replica. */
        public long broker() {
            return get("broker", value -> asLong(value));
        }

        /** The number of segments that were deleted. */
        public long deletedSegments() {
            return get("deleted_segments", value -> asLong(value));
        }

        /** The log start offset now. */
        public long logStartOffset() {
            return get("log_start_offset", value -> asLong(value));
        }
    }

    /** The replicas whose segments were deleted. */
    public static final class RetentionResult extends Fields {
        RetentionResult(Map<String, Object> json) {
            super(json);
        }

        /** The replicas. */
        public List<RetainedPartition> retained() {
            return get("retained", value -> list(value, each -> new RetainedPartition(map(each))));
        }
    }

    /** A rolling restart. */
    public static final class Roll extends Fields {
        /** An object with the defaults. */
        public Roll() {
            super(new LinkedHashMap<>());
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public Roll timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** What to clean. */
    public static final class RunCleaner extends Fields {
        /** An object with the defaults. */
        public RunCleaner() {
            super(new LinkedHashMap<>());
        }

        /**
         * Whether to roll the active segments of compacted topics first. The active segment is never
         * compacted.
         */
        public RunCleaner roll(boolean roll) {
            set("roll", roll);
            return this;
        }
    }

    /** Where to move a group: to an offset or to a timestamp. */
    public static final class SeekGroup extends Fields {
        /** An object with the defaults. */
        public SeekGroup() {
            super(new LinkedHashMap<>());
        }

        /** An offset, earliest or latest. */
        public SeekGroup offset(Object offset) {
            set("offset", offset);
            return this;
        }

        /** Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one. */
        public SeekGroup timestamp(long timestamp) {
            set("timestamp", timestamp);
            return this;
        }

        /** The topic. The default is every partition with a committed offset. */
        public SeekGroup topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** The partition. The default is all of the topic. */
        public SeekGroup partition(long partition) {
            set("partition", partition);
            return this;
        }
    }

    /** Where to move a share group: to an offset or to a timestamp. */
    public static final class SeekShareGroup extends Fields {
        /** An object with the defaults. */
        public SeekShareGroup() {
            super(new LinkedHashMap<>());
        }

        /** An offset, earliest or latest. */
        public SeekShareGroup offset(Object offset) {
            set("offset", offset);
            return this;
        }

        /** Milliseconds since 1970 (UTC): move to the first record with this timestamp or a later one. */
        public SeekShareGroup timestamp(long timestamp) {
            set("timestamp", timestamp);
            return this;
        }

        /** The topic. The default is every partition that the group has consumed. */
        public SeekShareGroup topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** The partition. The default is all of the topic. */
        public SeekShareGroup partition(long partition) {
            set("partition", partition);
            return this;
        }
    }

    /** A segment of a log. */
    public static final class Segment extends Fields {
        Segment(Map<String, Object> json) {
            super(json);
        }

        /** The first offset of the segment. */
        public long baseOffset() {
            return get("base_offset", value -> asLong(value));
        }

        /** The size of the segment. */
        public long sizeBytes() {
            return get("size_bytes", value -> asLong(value));
        }

        /** The largest timestamp, or -1 if no record has one. */
        public long largestTimestamp() {
            return get("largest_timestamp", value -> asLong(value));
        }
    }

    /** The segments of a log. */
    public static final class Segments extends Fields {
        Segments(Map<String, Object> json) {
            super(json);
        }

        /** From oldest to newest. */
        public List<Segment> segments() {
            return get("segments", value -> list(value, each -> new Segment(map(each))));
        }
    }

    /** A record to append to a transaction. */
    public static final class SendInTransaction extends Fields {
        /** An object with its required fields. */
        public SendInTransaction(String topic) {
            super(new LinkedHashMap<>());
            set("topic", topic);
        }

        /** The key. */
        public SendInTransaction key(String key) {
            set("key", key);
            return this;
        }

        /** The encoding of key. */
        public SendInTransaction keyEncoding(String keyEncoding) {
            set("key_encoding", keyEncoding);
            return this;
        }

        /** The value. */
        public SendInTransaction value(String value) {
            set("value", value);
            return this;
        }

        /** The encoding of value. */
        public SendInTransaction valueEncoding(String valueEncoding) {
            set("value_encoding", valueEncoding);
            return this;
        }

        /** The headers. */
        public SendInTransaction headers(List<Header> headers) {
            set("headers", headers);
            return this;
        }

        /** Milliseconds since 1970. The default is the current time. */
        public SendInTransaction timestamp(long timestamp) {
            set("timestamp", timestamp);
            return this;
        }

        /** The partition. By default, the key determines it. */
        public SendInTransaction partition(long partition) {
            set("partition", partition);
            return this;
        }
    }

    /** Offsets of a consumer group that are committed with a transaction. */
    public static final class SendOffsetsInTransaction extends Fields {
        /** An object with its required fields. */
        public SendOffsetsInTransaction(String groupId, List<CommittedOffset> offsets) {
            super(new LinkedHashMap<>());
            set("group_id", groupId);
            set("offsets", offsets);
        }
    }

    /** The position of a record in the log. */
    public static final class SentRecord extends Fields {
        SentRecord(Map<String, Object> json) {
            super(json);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The offset. */
        public long offset() {
            return get("offset", value -> asLong(value));
        }
    }

    /** The positions of the records. */
    public static final class SentRecords extends Fields {
        SentRecords(Map<String, Object> json) {
            super(json);
        }

        /** In the order of the request. */
        public List<SentRecord> records() {
            return get("records", value -> list(value, each -> new SentRecord(map(each))));
        }
    }

    /** What to wait for. */
    public static final class Settle extends Fields {
        /** An object with the defaults. */
        public Settle() {
            super(new LinkedHashMap<>());
        }

        /**
         * true or false: whether groups with members must have no lag; or ids of groups, with or without
         * members.
         */
        public Settle groups(Object groups) {
            set("groups", groups);
            return this;
        }

        /** Whether no transaction may be open. */
        public Settle transactions(boolean transactions) {
            set("transactions", transactions);
            return this;
        }

        /** Whether no request may be in progress, and every partition must have a leader. */
        public Settle requests(boolean requests) {
            set("requests", requests);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public Settle timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** A share group. */
    public static final class ShareGroup extends Fields {
        ShareGroup(Map<String, Object> json) {
            super(json);
        }

        /** The id. */
        public String groupId() {
            return get("group_id", value -> (String) value);
        }

        /** Empty, or Stable if the group has members. */
        public String state() {
            return get("state", value -> (String) value);
        }

        /** The members. */
        public List<ShareMember> members() {
            return get("members", value -> list(value, each -> new ShareMember(map(each))));
        }

        /** The state of each partition, by topic and partition. */
        public List<SharePosition> positions() {
            return get("positions", value -> list(value, each -> new SharePosition(map(each))));
        }

        /** The sum of the lags. */
        public long lag() {
            return get("lag", value -> asLong(value));
        }

        /** The properties of the group, by Kafka's names. */
        public Map<String, String> config() {
            return get("config", value -> map(value, each -> (String) each));
        }
    }

    /** The properties of a share group. */
    public static final class ShareGroupConfig extends Fields {
        ShareGroupConfig(Map<String, Object> json) {
            super(json);
        }

        /** The properties that are set, by Kafka's names. */
        public Map<String, String> config() {
            return get("config", value -> map(value, each -> (String) each));
        }
    }

    /** The share groups. */
    public static final class ShareGroups extends Fields {
        ShareGroups(Map<String, Object> json) {
            super(json);
        }

        /** The groups, by id. */
        public List<ShareGroup> shareGroups() {
            return get("share_groups", value -> list(value, each -> new ShareGroup(map(each))));
        }
    }

    /** A member of a share group. */
    public static final class ShareMember extends Fields {
        ShareMember(Map<String, Object> json) {
            super(json);
        }

        /** The member id. */
        public String memberId() {
            return get("member_id", value -> (String) value);
        }

        /** The client id. */
        public String clientId() {
            return get("client_id", value -> (String) value);
        }

        /** The address of the client. */
        public String host() {
            return get("host", value -> (String) value);
        }

        /** The rack of the client, or null. */
        public String rackId() {
            return get("rack_id", value -> (String) value);
        }

        /** The topics to which the member subscribes. */
        public List<String> topics() {
            return get("topics", value -> list(value, each -> (String) each));
        }

        /** The partitions that the member may read. */
        public List<TopicPartition> assignment() {
            return get("assignment", value -> list(value, each -> new TopicPartition(map(each))));
        }
    }

    /** A partition, as consumed by a share group. */
    public static final class SharePosition extends Fields {
        SharePosition(Map<String, Object> json) {
            super(json);
        }

        /** The topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** All records below it are done. null until the first fetch. */
        public Long startOffset() {
            return get("start_offset", value -> asLong(value));
        }

        /** The high watermark. */
        public long end() {
            return get("end", value -> asLong(value));
        }

        /** The number of records from the start offset to the end that are not done. */
        public long lag() {
            return get("lag", value -> asLong(value));
        }

        /** The number of records that a member can acquire. */
        public long available() {
            return get("available", value -> asLong(value));
        }

        /** The number of records that members have acquired. */
        public long acquired() {
            return get("acquired", value -> asLong(value));
        }

        /** The number of records that members have accepted. */
        public long acknowledged() {
            return get("acknowledged", value -> asLong(value));
        }

        /** The number of records that were rejected or delivered too often. */
        public long archived() {
            return get("archived", value -> asLong(value));
        }
    }

    /** A record, and what a share group has done with it. */
    public static final class ShareRecord extends Fields {
        ShareRecord(Map<String, Object> json) {
            super(json);
        }

        /** The name of the topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The offset. */
        public long offset() {
            return get("offset", value -> asLong(value));
        }

        /** Milliseconds since 1970 (UTC), or -1 if the record has no timestamp. */
        public long timestamp() {
            return get("timestamp", value -> asLong(value));
        }

        /** The key, or null. */
        public String key() {
            return get("key", value -> (String) value);
        }

        /** The encoding of key. */
        public String keyEncoding() {
            return get("key_encoding", value -> (String) value);
        }

        /** The value, or null for a tombstone. */
        public String value() {
            return get("value", value -> (String) value);
        }

        /** The encoding of value. */
        public String valueEncoding() {
            return get("value_encoding", value -> (String) value);
        }

        /** The headers, in the order of the producer. */
        public List<Header> headers() {
            return get("headers", value -> list(value, each -> new Header(map(each))));
        }

        /** The state. */
        public String state() {
            return get("state", value -> (String) value);
        }

        /** How often the record was delivered. */
        public long deliveries() {
            return get("deliveries", value -> asLong(value));
        }

        /** The member that has acquired the record, or null. */
        public String memberId() {
            return get("member_id", value -> (String) value);
        }
    }

    /** Records of a share group. */
    public static final class ShareRecords extends Fields {
        ShareRecords(Map<String, Object> json) {
            super(json);
        }

        /** The records, by topic, partition and offset. */
        public List<ShareRecord> records() {
            return get("records", value -> list(value, each -> new ShareRecord(map(each))));
        }
    }

    /** Followers. */
    public static final class ShrinkIsr extends Fields {
        /** An object with its required fields. */
        public ShrinkIsr(List<Long> brokers) {
            super(new LinkedHashMap<>());
            set("brokers", brokers);
        }
    }

    /** What the remote log manager did to one partition. */
    public static final class TieredPartition extends Fields {
        TieredPartition(Map<String, Object> json) {
            super(json);
        }

        /** The topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }

        /** The leader. */
        public long broker() {
            return get("broker", value -> asLong(value));
        }

        /** The number of segments that were copied to remote storage. */
        public long copiedSegments() {
            return get("copied_segments", value -> asLong(value));
        }

        /** The number of segments that were deleted there. */
        public long deletedSegments() {
            return get("deleted_segments", value -> asLong(value));
        }

        /** The log start offset now. */
        public long logStartOffset() {
            return get("log_start_offset", value -> asLong(value));
        }

        /** The offset after the last one that has been copied. */
        public long remoteEndOffset() {
            return get("remote_end_offset", value -> asLong(value));
        }
    }

    /** The partitions whose remote segments have changed. */
    public static final class TieringResult extends Fields {
        TieringResult(Map<String, Object> json) {
            super(json);
        }

        /** The partitions. */
        public List<TieredPartition> tiered() {
            return get("tiered", value -> list(value, each -> new TieredPartition(map(each))));
        }
    }

    /** A topic and its partitions. */
    public static final class Topic extends Fields {
        Topic(Map<String, Object> json) {
            super(json);
        }

        /** The name. */
        public String name() {
            return get("name", value -> (String) value);
        }

        /** The id, as in Kafka's tools. */
        public String topicId() {
            return get("topic_id", value -> (String) value);
        }

        /** Whether the topic belongs to the brokers, like __consumer_offsets. */
        public boolean isInternal() {
            return get("is_internal", value -> (Boolean) value);
        }

        /** The properties that are set for the topic. */
        public Map<String, String> config() {
            return get("config", value -> map(value, each -> (String) each));
        }

        /** The partitions, by index. */
        public List<Partition> partitions() {
            return get("partitions", value -> list(value, each -> new Partition(map(each))));
        }
    }

    /** A partition of a topic. */
    public static final class TopicPartition extends Fields {
        TopicPartition(Map<String, Object> json) {
            super(json);
        }

        /** The topic. */
        public String topic() {
            return get("topic", value -> (String) value);
        }

        /** The partition. */
        public long partition() {
            return get("partition", value -> asLong(value));
        }
    }

    /** The topics. */
    public static final class Topics extends Fields {
        Topics(Map<String, Object> json) {
            super(json);
        }

        /** The topics, by name. */
        public List<Topic> topics() {
            return get("topics", value -> list(value, each -> new Topic(map(each))));
        }
    }

    /** A transactional id and its current or last transaction. */
    public static final class Transaction extends Fields {
        Transaction(Map<String, Object> json) {
            super(json);
        }

        /** The transactional id. */
        public String transactionalId() {
            return get("transactional_id", value -> (String) value);
        }

        /** Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit or CompleteAbort, as in Kafka. */
        public String state() {
            return get("state", value -> (String) value);
        }

        /** The producer id. */
        public long producerId() {
            return get("producer_id", value -> asLong(value));
        }

        /** The producer epoch. */
        public long producerEpoch() {
            return get("producer_epoch", value -> asLong(value));
        }

        /** The transaction timeout, in milliseconds. */
        public long timeoutMs() {
            return get("timeout_ms", value -> asLong(value));
        }

        /** The start of the last transaction in milliseconds since 1970, or -1. */
        public long startedMs() {
            return get("started_ms", value -> asLong(value));
        }

        /** The partitions in the transaction that have no marker yet. */
        public List<TopicPartition> partitions() {
            return get("partitions", value -> list(value, each -> new TopicPartition(map(each))));
        }

        /** The id of the broker that coordinates the transactional id. */
        public long coordinator() {
            return get("coordinator", value -> asLong(value));
        }
    }

    /** The transactional ids. */
    public static final class Transactions extends Fields {
        Transactions(Map<String, Object> json) {
            super(json);
        }

        /** The transactional ids in alphabetical order. */
        public List<Transaction> transactions() {
            return get("transactions", value -> list(value, each -> new Transaction(map(each))));
        }
    }

    /** The records to remove. */
    public static final class TruncateLog extends Fields {
        /** An object with its required fields. */
        public TruncateLog(long to) {
            super(new LinkedHashMap<>());
            set("to", to);
        }
    }

    /** Requests that the brokers do not serve. */
    public static final class Unsupported extends Fields {
        Unsupported(Map<String, Object> json) {
            super(json);
        }

        /** The number of requests by API, as in {"ShareFetch": 2}. */
        public Map<String, Long> counts() {
            return get("counts", value -> map(value, each -> asLong(each)));
        }

        /** The requests, by API, version and client. */
        public List<UnsupportedRequest> requests() {
            return get("requests", value -> list(value, each -> new UnsupportedRequest(map(each))));
        }
    }

    /** A request that the brokers do not serve. */
    public static final class UnsupportedRequest extends Fields {
        UnsupportedRequest(Map<String, Object> json) {
            super(json);
        }

        /** The API, or its key if Kafka has no such API. */
        public String api() {
            return get("api", value -> (String) value);
        }

        /** The version. */
        public long version() {
            return get("version", value -> asLong(value));
        }

        /** The client id. */
        public String clientId() {
            return get("client_id", value -> (String) value);
        }

        /** What is served instead, such as versions 0 to 11; empty if the API is not served. */
        public String served() {
            return get("served", value -> (String) value);
        }

        /** The number of requests. */
        public long count() {
            return get("count", value -> asLong(value));
        }
    }

    /** A user and the password. */
    public static final class User extends Fields {
        /** An object with its required fields. */
        public User(String name, String password) {
            super(new LinkedHashMap<>());
            set("name", name);
            set("password", password);
        }
    }

    /** The users who can log in with a password. */
    public static final class Users extends Fields {
        Users(Map<String, Object> json) {
            super(json);
        }

        /** The names of the users. */
        public List<String> users() {
            return get("users", value -> list(value, each -> (String) each));
        }
    }

    /** A committed offset to wait for. */
    public static final class WaitForCommit extends Fields {
        /** An object with its required fields. */
        public WaitForCommit(String topic, long offset) {
            super(new LinkedHashMap<>());
            set("topic", topic);
            set("offset", offset);
        }

        /** The partition. */
        public WaitForCommit partition(long partition) {
            set("partition", partition);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForCommit timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** How often the fault must have fired. */
    public static final class WaitForFault extends Fields {
        /** An object with the defaults. */
        public WaitForFault() {
            super(new LinkedHashMap<>());
        }

        /** The number of times. */
        public WaitForFault n(long n) {
            set("n", n);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForFault timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** A lag to wait for. */
    public static final class WaitForLag extends Fields {
        /** An object with the defaults. */
        public WaitForLag() {
            super(new LinkedHashMap<>());
        }

        /** The largest lag. */
        public WaitForLag lag(long lag) {
            set("lag", lag);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForLag timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** What to wait for. Records match if they meet all conditions. */
    public static final class WaitForRecords extends Fields {
        /** An object with the defaults. */
        public WaitForRecords() {
            super(new LinkedHashMap<>());
        }

        /** The number of records. */
        public WaitForRecords n(long n) {
            set("n", n);
            return this;
        }

        /** The key of the records. null matches any. */
        public WaitForRecords key(String key) {
            set("key", key);
            return this;
        }

        /** The encoding of key. */
        public WaitForRecords keyEncoding(String keyEncoding) {
            set("key_encoding", keyEncoding);
            return this;
        }

        /** The value of the records. null matches any. */
        public WaitForRecords value(String value) {
            set("value", value);
            return this;
        }

        /** The encoding of value. */
        public WaitForRecords valueEncoding(String valueEncoding) {
            set("value_encoding", valueEncoding);
            return this;
        }

        /** A text that the values contain, as UTF-8. */
        public WaitForRecords valueContains(String valueContains) {
            set("value_contains", valueContains);
            return this;
        }

        /** A header of the records. */
        public WaitForRecords header(Header header) {
            set("header", header);
            return this;
        }

        /** The partition. The default is all partitions. */
        public WaitForRecords partition(long partition) {
            set("partition", partition);
            return this;
        }

        /** With read_committed, records of open and aborted transactions are left out. */
        public WaitForRecords isolation(String isolation) {
            set("isolation", isolation);
            return this;
        }

        /** Skip records with an older timestamp. */
        public WaitForRecords sinceMs(long sinceMs) {
            set("since_ms", sinceMs);
            return this;
        }

        /** A mark, as returned by /mark. Records before it are skipped. */
        public WaitForRecords since(String since) {
            set("since", since);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForRecords timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }

        /**
         * How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always
         * base64.
         */
        public WaitForRecords encoding(String encoding) {
            set("encoding", encoding);
            return this;
        }
    }

    /** Requests to wait for. */
    public static final class WaitForRequests extends Fields {
        /** An object with the defaults. */
        public WaitForRequests() {
            super(new LinkedHashMap<>());
        }

        /** The APIs. The default is all. */
        public WaitForRequests apis(List<String> apis) {
            set("apis", apis);
            return this;
        }

        /** The number of requests. */
        public WaitForRequests n(long n) {
            set("n", n);
            return this;
        }

        /** The client id. */
        public WaitForRequests clientId(String clientId) {
            set("client_id", clientId);
            return this;
        }

        /** A topic that the request or the response names. */
        public WaitForRequests topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** Errors; the response must have one of them. */
        public WaitForRequests errors(List<String> errors) {
            set("errors", errors);
            return this;
        }

        /** Whether to return the decoded messages. */
        public WaitForRequests messages(boolean messages) {
            set("messages", messages);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForRequests timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** The states to wait for. */
    public static final class WaitForShareGroup extends Fields {
        /** An object with the defaults. */
        public WaitForShareGroup() {
            super(new LinkedHashMap<>());
        }

        /** At least this number of records must be in the state. */
        public WaitForShareGroup available(long available) {
            set("available", available);
            return this;
        }

        /** At least this number of records must be in the state. */
        public WaitForShareGroup acquired(long acquired) {
            set("acquired", acquired);
            return this;
        }

        /** At least this number of records must be in the state. */
        public WaitForShareGroup acknowledged(long acknowledged) {
            set("acknowledged", acknowledged);
            return this;
        }

        /** At least this number of records must be in the state. */
        public WaitForShareGroup archived(long archived) {
            set("archived", archived);
            return this;
        }

        /** The topic. The default is all topics. */
        public WaitForShareGroup topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForShareGroup timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** A lag to wait for. */
    public static final class WaitForShareLag extends Fields {
        /** An object with the defaults. */
        public WaitForShareLag() {
            super(new LinkedHashMap<>());
        }

        /** The largest lag. */
        public WaitForShareLag lag(long lag) {
            set("lag", lag);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForShareLag timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** A state to wait for. */
    public static final class WaitForTransaction extends Fields {
        /** An object with its required fields. */
        public WaitForTransaction(String state) {
            super(new LinkedHashMap<>());
            set("state", state);
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitForTransaction timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** Members to wait for. */
    public static final class WaitUntilShareGroupIsStable extends Fields {
        /** An object with the defaults. */
        public WaitUntilShareGroupIsStable() {
            super(new LinkedHashMap<>());
        }

        /** The number of members. The default is at least one. */
        public WaitUntilShareGroupIsStable members(long members) {
            set("members", members);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitUntilShareGroupIsStable timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** Members to wait for. */
    public static final class WaitUntilStable extends Fields {
        /** An object with the defaults. */
        public WaitUntilStable() {
            super(new LinkedHashMap<>());
        }

        /** The number of members. The default is at least one. */
        public WaitUntilStable members(long members) {
            set("members", members);
            return this;
        }

        /** The longest time to wait, in seconds. The default is 10. */
        public WaitUntilStable timeout(double timeout) {
            set("timeout", timeout);
            return this;
        }
    }

    /** The parameters of listTopics. */
    public static final class ListTopicsQuery extends Fields {
        /** An object with the defaults. */
        public ListTopicsQuery() {
            super(new LinkedHashMap<>());
        }

        /** Whether to include the topics of the brokers, like __consumer_offsets. */
        public ListTopicsQuery internal(boolean internal) {
            set("internal", internal);
            return this;
        }
    }

    /** The parameters of readRecords. */
    public static final class ReadRecordsQuery extends Fields {
        /** An object with the defaults. */
        public ReadRecordsQuery() {
            super(new LinkedHashMap<>());
        }

        /** The partition. The default is all partitions. */
        public ReadRecordsQuery partition(long partition) {
            set("partition", partition);
            return this;
        }

        /** The first offset to read. The default is the log start offset. */
        public ReadRecordsQuery offset(long offset) {
            set("offset", offset);
            return this;
        }

        /** Start at the first record with this timestamp or a later one, as in ListOffsets. */
        public ReadRecordsQuery timeMs(long timeMs) {
            set("time_ms", timeMs);
            return this;
        }

        /** Start this many offsets before the end. */
        public ReadRecordsQuery last(long last) {
            set("last", last);
            return this;
        }

        /** A mark, as returned by /mark. Records before it are skipped. */
        public ReadRecordsQuery since(String since) {
            set("since", since);
            return this;
        }

        /** The largest number of records of each partition. */
        public ReadRecordsQuery limit(long limit) {
            set("limit", limit);
            return this;
        }

        /** With read_committed, records of open and aborted transactions are left out. */
        public ReadRecordsQuery isolation(String isolation) {
            set("isolation", isolation);
            return this;
        }

        /**
         * How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always
         * base64.
         */
        public ReadRecordsQuery encoding(String encoding) {
            set("encoding", encoding);
            return this;
        }
    }

    /** The parameters of readShareGroupRecords. */
    public static final class ReadShareGroupRecordsQuery extends Fields {
        /** An object with the defaults. */
        public ReadShareGroupRecordsQuery() {
            super(new LinkedHashMap<>());
        }

        /** The state of the records. The default is all states. */
        public ReadShareGroupRecordsQuery state(String state) {
            set("state", state);
            return this;
        }

        /** The topic. The default is all topics. */
        public ReadShareGroupRecordsQuery topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** The largest number of records. */
        public ReadShareGroupRecordsQuery limit(long limit) {
            set("limit", limit);
            return this;
        }

        /**
         * How keys and values are written: auto is text for UTF-8 and base64 for other bytes; base64 is always
         * base64.
         */
        public ReadShareGroupRecordsQuery encoding(String encoding) {
            set("encoding", encoding);
            return this;
        }
    }

    /** The parameters of listRequests. */
    public static final class ListRequestsQuery extends Fields {
        /** An object with the defaults. */
        public ListRequestsQuery() {
            super(new LinkedHashMap<>());
        }

        /** The APIs, separated by commas. The default is all. */
        public ListRequestsQuery apis(List<String> apis) {
            set("apis", apis);
            return this;
        }

        /** The client id. */
        public ListRequestsQuery clientId(String clientId) {
            set("client_id", clientId);
            return this;
        }

        /** A topic that the request or the response names. */
        public ListRequestsQuery topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** true for responses with an error, false for those without, or names of errors. */
        public ListRequestsQuery errors(List<String> errors) {
            set("errors", errors);
            return this;
        }

        /** Only requests since this time, in milliseconds since 1970. */
        public ListRequestsQuery sinceMs(long sinceMs) {
            set("since_ms", sinceMs);
            return this;
        }

        /** Only requests until this time, in milliseconds since 1970. */
        public ListRequestsQuery untilMs(long untilMs) {
            set("until_ms", untilMs);
            return this;
        }

        /** The largest number of requests; the latest are returned. */
        public ListRequestsQuery limit(long limit) {
            set("limit", limit);
            return this;
        }

        /** Whether to return the decoded messages. */
        public ListRequestsQuery messages(boolean messages) {
            set("messages", messages);
            return this;
        }
    }

    /** The parameters of countRequests. */
    public static final class CountRequestsQuery extends Fields {
        /** An object with the defaults. */
        public CountRequestsQuery() {
            super(new LinkedHashMap<>());
        }

        /** The APIs, separated by commas. The default is all. */
        public CountRequestsQuery apis(List<String> apis) {
            set("apis", apis);
            return this;
        }

        /** The client id. */
        public CountRequestsQuery clientId(String clientId) {
            set("client_id", clientId);
            return this;
        }

        /** A topic that the request or the response names. */
        public CountRequestsQuery topic(String topic) {
            set("topic", topic);
            return this;
        }

        /** true for responses with an error, false for those without, or names of errors. */
        public CountRequestsQuery errors(List<String> errors) {
            set("errors", errors);
            return this;
        }
    }

    /** The parameters of listBatches. */
    public static final class ListBatchesQuery extends Fields {
        /** An object with the defaults. */
        public ListBatchesQuery() {
            super(new LinkedHashMap<>());
        }

        /** The offset at which to start. The first batch contains it or follows it. */
        public ListBatchesQuery offset(long offset) {
            set("offset", offset);
            return this;
        }

        /** The largest number of batches. */
        public ListBatchesQuery limit(long limit) {
            set("limit", limit);
            return this;
        }
    }

    /** The parameters of removeAcl. */
    public static final class RemoveAclQuery extends Fields {
        /** An object with its required fields. */
        public RemoveAclQuery(String acl) {
            super(new LinkedHashMap<>());
            set("acl", acl);
        }
    }

    /** The parameters of getClientConfig. */
    public static final class GetClientConfigQuery extends Fields {
        /** An object with the defaults. */
        public GetClientConfigQuery() {
            super(new LinkedHashMap<>());
        }

        /** The user who logs in. The default is no login. */
        public GetClientConfigQuery user(String user) {
            set("user", user);
            return this;
        }

        /** The client: java or confluent-kafka (librdkafka). */
        public GetClientConfigQuery client(String client) {
            set("client", client);
            return this;
        }

        /** The SASL mechanism. The default is the first enabled one. */
        public GetClientConfigQuery mechanism(String mechanism) {
            set("mechanism", mechanism);
            return this;
        }

        /** The listener. The default is the first one that fits. */
        public GetClientConfigQuery listener(String listener) {
            set("listener", listener);
            return this;
        }
    }
}
