package kafkalet;

import kafka.cluster.Partition;
import kafka.log.LogManager;
import kafka.network.SocketServer;
import kafka.raft.KafkaRaftManager;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import kafka.server.SharedServer;

import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.token.delegation.DelegationToken;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.controller.QuorumController;
import org.apache.kafka.controller.ResultOrError;
import org.apache.kafka.coordinator.group.Group;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.image.ClusterImage;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.loader.MetadataLoader;
import org.apache.kafka.metadata.BrokerRegistration;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.raft.KafkaRaftClient;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.LogOffsetMetadata;
import org.apache.kafka.raft.RaftLog;
import org.apache.kafka.security.CredentialProvider;
import org.apache.kafka.server.BrokerLifecycleManager;
import org.apache.kafka.server.HostedPartition;
import org.apache.kafka.server.authorizer.AclCreateResult;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;
import org.mockito.stubbing.Answer;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/**
 * Stand-ins for the brokers and controllers of Kafka's test kit. They have what kafkalet's control API and an admin client
 * return: whether a broker runs, its properties and ports, topics, leaders, ACLs. Everything else throws {@link Internals}.
 */
public final class Stand {
    private Stand() {
    }

    static <T> T of(Class<T> type, Map<String, Answer<Object>> known) {
        return Mockito.mock(type, Mockito.withSettings().stubOnly().defaultAnswer(call -> {
            String name = call.getMethod().getName();
            if (known.containsKey(name)) return known.get(name).answer(call);
            return switch (name) {
                case "toString" -> type.getSimpleName() + " of kafkalet";
                case "hashCode" -> System.identityHashCode(call.getMock());
                case "equals" -> call.getMock() == call.getArgument(0);
                default -> throw new Internals(type.getSimpleName() + "." + name);
            };
        }));
    }

    public static BrokerServer broker(int id, Cluster cluster, KafkaConfig config) {
        Map<String, Answer<Object>> known = new HashMap<>();
        known.put("isShutdown", call -> !cluster.isRunning(id));
        known.put("startup", call -> {
            cluster.start(id);
            return null;
        });
        known.put("shutdown", call -> {
            cluster.stop(id);
            return null;
        });
        known.put("awaitShutdown", call -> null);
        known.put("brokerState", call -> cluster.state(id));
        known.put("config", call -> cluster.config(id, config));
        known.put("clusterId", call -> cluster.clusterId());
        Answer<Object> port = call -> cluster.port(id, call.getArgument(0));
        known.put("boundPort", port);
        constant(known, "socketServer", of(SocketServer.class, Map.of("boundPort", port)));
        KRaftMetadataCache cache = metadataCache(cluster);
        constant(known, "metadataCache", cache);
        MetadataLoader loader = of(MetadataLoader.class, Map.of("lastAppliedOffset", call -> Long.MAX_VALUE));
        constant(known, "sharedServer", of(SharedServer.class, Map.of("loader", call -> loader)));
        constant(known, "dataPlaneRequestProcessor", of(KafkaApis.class, Map.of("metadataCache", call -> cache, "brokerId", call -> id, "clusterId",
            call -> cluster.clusterId(), "authorizerPlugin", call -> authorizer(cluster, config),
            "isConsumerGroupProtocolEnabled", call -> cluster.isEnabled(Feature.GROUP_VERSION)
                && config.groupCoordinatorRebalanceProtocols().contains(Group.GroupType.CONSUMER))));
        constant(known, "groupCoordinator", of(GroupCoordinator.class, Map.of("groupMetadataTopicConfigs", call -> {
            Properties topic = new Properties();
            topic.put("cleanup.policy", "compact");
            topic.put("compression.type", "producer");
            topic.put("segment.bytes", Integer.toString(config.groupCoordinatorConfig().offsetsTopicSegmentBytes()));
            return topic;
        })));
        Answer<Object> log = call -> option(replica(cluster, id, call).map(partition -> log(cluster, id, call.getArgument(0))));
        Answer<Optional<Partition>> partition = call -> replica(cluster, id, call).filter(found -> cluster.isRunning(id))
            .map(found -> partition(found, id, cluster, call.getArgument(0)));
        LogCleaner cleaner = of(LogCleaner.class, Map.of("awaitCleaned", call -> {
            cluster.rollAndClean();
            return true;
        }));
        ProducerStateManagerConfig producers = of(ProducerStateManagerConfig.class, Map.of("producerIdExpirationMs",
            call -> cluster.config(id, config).getInt("producer.id.expiration.ms")));
        LogManager logs = of(LogManager.class, Map.of("getLog", log, "getLog$default$2", call -> false, "cleaner", call -> cleaner,
            "producerStateManagerConfig", call -> producers,
            "isLogDirOnline", call -> cluster.admin().describeLogDirs(List.of(id)).allDescriptions().get().get(id)
                .get(call.<String>getArgument(0)).error() == null,
            "liveLogDirs", call -> CollectionConverters.asScala(cluster.logDirectories(id)).toSeq()));
        constant(known, "logManager", logs);
        Answer<Object> fail = call -> {
            cluster.fail(id, call.getArgument(0));
            return null;
        };
        constant(known, "logDirFailureChannel", of(LogDirFailureChannel.class, Map.of("maybeAddOfflineLogDir", fail)));
        constant(known, "replicaManager", of(ReplicaManager.class, Map.of("onlinePartition", call -> option(partition.answer(call)),
            "getPartition", call -> partition.answer(call).<Object>map(HostedPartition.Online::new).orElseGet(HostedPartition.None::new),
            "getLogEndOffsetLag", call -> Math.max(0, offset(cluster, call.getArgument(0), OffsetSpec.latest()) - call.<Long>getArgument(1)),
            "handleLogDirFailure", fail, "handleLogDirFailure$default$2", call -> true,
            "localLog", log, "getLog", log, "logManager", call -> logs, "metadataCache", call -> cache)));
        known.put("authorizerPlugin", call -> authorizer(cluster, config));
        BrokerLifecycleManager lifecycle = of(BrokerLifecycleManager.class,
            Map.of("initialUnfenceFuture", call -> CompletableFuture.completedFuture(null)));
        constant(known, "lifecycleManager", lifecycle);
        constant(known, "tokenCache", of(DelegationTokenCache.class, Map.of("tokens", call -> cluster.admin().describeDelegationToken()
            .delegationTokens().get().stream().map(DelegationToken::tokenInfo).toList())));
        constant(known, "metrics", of(Metrics.class, Map.of("metrics", call -> cluster.metrics())));
        known.put("credentialProvider", call -> credentials(cluster));
        constant(known, "groupConfigManager", of(GroupConfigManager.class, Map.of("groupConfig",
            call -> Optional.of(new GroupConfig(cluster.configs(ConfigResource.Type.GROUP, call.getArgument(0)))))));
        return of(BrokerServer.class, known);
    }

    private static void constant(Map<String, Answer<Object>> known, String name, Object value) {
        known.put(name, call -> value);
    }

    /** Returns a partition if the broker has a replica of it. */
    private static Optional<TopicPartitionInfo> replica(Cluster cluster, int id, InvocationOnMock call) throws Exception {
        int index = call.<TopicPartition>getArgument(0).partition();
        return partition(cluster, call, index).filter(p -> p.replicas().stream().anyMatch(node -> node.id() == id));
    }

    private static Option<Object> option(Optional<?> value) {
        return value.isPresent() ? Option.apply(value.get()) : Option.empty();
    }

    /** Returns a log with the offsets that a client can read, and its files. */
    private static UnifiedLog log(Cluster cluster, int id, TopicPartition partition) {
        File directory = cluster.logDirectories(id).stream().map(path -> new File(path, partition.toString())).filter(File::exists)
            .findFirst().orElse(null);
        ProducerStateManager producers = of(ProducerStateManager.class, Map.of("activeProducers", call -> producers(cluster, partition)));
        Map<String, Answer<Object>> known = new HashMap<>(Map.of("producerStateManager", call -> producers,
            "config", call -> new LogConfig(cluster.configs(ConfigResource.Type.TOPIC, partition.topic())), "dir", call -> directory,
            "partitionMetadataFile", call -> Optional.of(new PartitionMetadataFile(PartitionMetadataFile.newFile(directory), null)),
            "size", call -> segments(directory).stream().mapToLong(File::length).sum(), "numberOfSegments", call -> segments(directory).size(),
            "roll", call -> null,  // rollAndClean does it
            "logStartOffset", call -> offset(cluster, partition, OffsetSpec.earliest()),
            "logEndOffset", call -> offset(cluster, partition, OffsetSpec.latest()),
            "highWatermark", call -> offset(cluster, partition, OffsetSpec.latest())));
        Answer<Object> append = call -> {
            append(cluster, partition, call.getArgument(0));
            return null;
        };
        known.put("appendAsLeader", append);
        known.put("appendAsLeaderWithRecordVersion", append);
        known.put("logEndOffsetMetadata", call -> null);
        known.put("maybeIncrementHighWatermark", call -> Optional.empty());
        known.put("logSegments", call -> {
            List<LogSegment> found = new ArrayList<>();
            for (File file : segments(directory)) found.add(segment(file));
            return found;
        });
        return of(UnifiedLog.class, known);
    }

    /** Appends records to a log in any format, as the broker's own code can do. */
    private static void append(Cluster cluster, TopicPartition partition, MemoryRecords records) throws Exception {
        long next = offset(cluster, partition, OffsetSpec.latest());
        for (MutableRecordBatch batch : records.batches()) {
            batch.setLastOffset(next + batch.lastOffset() - batch.baseOffset());
            next = batch.nextOffset();
        }
        cluster.append(partition, Utils.toArray(records.buffer()));
    }

    private static LogSegment segment(File file) throws IOException {
        FileRecords records = FileRecords.open(file, false);
        return of(LogSegment.class, Map.of("log", call -> records));
    }

    private static List<File> segments(File directory) {
        return List.of(directory.listFiles((in, name) -> name.endsWith(".log")));
    }

    private static Map<Long, ProducerStateEntry> producers(Cluster cluster, TopicPartition partition) throws Exception {
        Map<Long, ProducerStateEntry> entries = new HashMap<>();
        cluster.admin().describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().forEach(state ->
            entries.put(state.producerId(), new ProducerStateEntry(state.producerId(), (short) state.producerEpoch(),
                state.coordinatorEpoch().orElse(-1), state.lastTimestamp(), state.currentTransactionStartOffset())));
        return entries;
    }

    private static long offset(Cluster cluster, TopicPartition partition, OffsetSpec which) throws Exception {
        return cluster.admin().listOffsets(Map.of(partition, which)).partitionResult(partition).get().offset();
    }

    private static Partition partition(TopicPartitionInfo found, int id, Cluster cluster, TopicPartition partition) {
        boolean isLeader = found.leader() != null && found.leader().id() == id;
        UnifiedLog log = log(cluster, id, partition);
        return of(Partition.class, Map.of("isLeader", call -> isLeader, "getLeaderEpoch", call -> cluster.leaderEpoch(partition),
            "leaderReplicaIdOpt", call -> option(Optional.ofNullable(found.leader()).map(Node::id)),
            "leaderIdIfLocal", call -> isLeader ? Option.apply(id) : Option.empty(),
            "leaderLogIfLocal", call -> isLeader ? Option.apply(log) : Option.empty()));
    }

    /** Returns a provider that has the names of the users of SCRAM. */
    private static CredentialProvider credentials(Cluster cluster) throws Exception {
        CredentialProvider provider = new CredentialProvider(ScramMechanism.mechanismNames(), null);
        ScramCredential unknown = new ScramCredential(new byte[0], new byte[0], new byte[0], 0);
        cluster.admin().describeUserScramCredentials().all().get().forEach((user, description) -> description.credentialInfos().forEach(info ->
            provider.credentialCache.cache(info.mechanism().mechanismName(), ScramCredential.class).put(user, unknown)));
        return provider;
    }

    private static Option<Plugin<Authorizer>> authorizer(Cluster cluster, KafkaConfig config) {
        if (config.getString("authorizer.class.name").isEmpty()) return Option.empty();
        Authorizer authorizer = of(Authorizer.class, Map.of(
            "acls", call -> cluster.admin().describeAcls(call.getArgument(0)).values().get(),
            "createAcls", call -> {
                cluster.admin().createAcls(call.getArgument(1)).all().get();
                return call.<List<?>>getArgument(1).stream().map(acl -> CompletableFuture.completedFuture(AclCreateResult.SUCCESS)).toList();
            },
            "deleteAcls", call -> {
                cluster.admin().deleteAcls(call.getArgument(1)).all().get();
                AclDeleteResult deleted = new AclDeleteResult(List.of());
                return call.<List<?>>getArgument(1).stream().map(filter -> CompletableFuture.completedFuture(deleted)).toList();
            }));
        return Option.apply(Plugin.wrapInstance(authorizer, new Metrics(), "authorizer.class.name"));
    }

    public static ControllerServer controller(Cluster cluster, KafkaConfig config) {
        QuorumController controller = of(QuorumController.class, Map.of("findAllTopicIds", call -> {
            Map<String, Uuid> ids = new HashMap<>();
            cluster.admin().listTopics(new ListTopicsOptions().listInternal(true)).listings().get()
                .forEach(t -> ids.put(t.name(), t.topicId()));
            return CompletableFuture.completedFuture(ids);
        }, "findTopicIds", call -> {
            Map<String, ResultOrError<Uuid>> ids = new HashMap<>();
            for (String name : call.<Collection<String>>getArgument(1))
                ids.put(name, cluster.topic(name).map(topic -> ResultOrError.of(topic.topicId()))
                    .orElse(ResultOrError.of(new ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION))));
            return CompletableFuture.completedFuture(ids);
        }, "isActive", call -> true));
        KafkaRaftManager<?> raft = raft(0);
        return of(ControllerServer.class, Map.of("controller", call -> controller, "raftManager", call -> raft,
            "clusterId", call -> cluster.clusterId(), "config", call -> config, "authorizerPlugin", call -> authorizer(cluster, config),
            "socketServer", call -> of(SocketServer.class, Map.of("boundPort", port -> cluster.controllerPort()))));
    }

    /** Returns the member of a quorum with a leader, and an empty log. */
    @SuppressWarnings("unchecked")
    public static KafkaRaftManager<ApiMessageAndVersion> raft(int leader) {
        RaftLog log = of(RaftLog.class, Map.of("endOffset", call -> new LogOffsetMetadata(0)));
        KafkaRaftClient<?> client = of(KafkaRaftClient.class,
            Map.of("leaderAndEpoch", call -> new LeaderAndEpoch(OptionalInt.of(leader), 1)));
        return of(KafkaRaftManager.class, Map.of("raftLog", call -> log, "client", call -> client));
    }

    private static KRaftMetadataCache metadataCache(Cluster cluster) {
        Map<String, Answer<Object>> known = new HashMap<>(Map.<String, Answer<Object>>of(
            "getAliveBrokerNodes", call -> List.copyOf(nodes(cluster, false)),
            "currentImage", call -> of(MetadataImage.class, Map.of("cluster", image -> of(ClusterImage.class, Map.of("brokers",
                brokers -> nodes(cluster, true).stream().collect(Collectors.toMap(Node::id, Stand::registration)))))),
            "getAliveBrokerNode", call -> node(cluster, call.getArgument(0), call.getArgument(1)),
            "getPartitionLeaderEndpoint", call -> partition(cluster, call, call.getArgument(1)).map(TopicPartitionInfo::leader)
                .flatMap(leader -> node(cluster, leader.id(), call.getArgument(2))),
            "getPartitionReplicaEndpoints", call -> {
                Map<Integer, Node> nodes = new HashMap<>();
                for (Node replica : partition(cluster, call, call.<TopicPartition>getArgument(0).partition()).orElseThrow().replicas())
                    node(cluster, replica.id(), call.getArgument(1)).ifPresent(node -> nodes.put(node.id(), node));
                return nodes;
            },
            "topicConfig", call -> {
                Properties topic = new Properties();
                topic.putAll(cluster.configs(ConfigResource.Type.TOPIC, call.getArgument(0), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG));
                return topic;
            },
            "numPartitions", call -> topic(cluster, call).map(topic -> topic.partitions().size()),
            "contains", call -> topic(cluster, call).isPresent(),
            "getTopicId", call -> topic(cluster, call).map(TopicDescription::topicId).orElse(Uuid.ZERO_UUID),
            "getLeaderAndIsr", call -> partition(cluster, call, call.getArgument(1)).map(Stand::leaderAndIsr)));
        known.put("hasAliveBroker", call -> cluster.isRunning(call.getArgument(0)));
        return of(KRaftMetadataCache.class, known);
    }

    private static Optional<TopicPartitionInfo> partition(Cluster cluster, InvocationOnMock call, int index) throws Exception {
        return topic(cluster, call).stream().flatMap(topic -> topic.partitions().stream()).filter(p -> p.partition() == index).findFirst();
    }

    /** Returns a node as clients of a listener see it. */
    private static Optional<Node> node(Cluster cluster, int id, ListenerName listener) {
        return cluster.isRunning(id) ? Optional.of(new Node(id, "localhost", cluster.port(id, listener))) : Optional.empty();
    }

    private static Collection<Node> nodes(Cluster cluster, boolean fencedToo) throws Exception {
        return cluster.admin().describeCluster(new DescribeClusterOptions().includeFencedBrokers(fencedToo)).nodes().get();
    }

    private static BrokerRegistration registration(Node node) {
        return of(BrokerRegistration.class, Map.of("fenced", call -> node.isFenced()));
    }

    private static LeaderAndIsr leaderAndIsr(TopicPartitionInfo partition) {
        int leader = partition.leader() == null ? LeaderAndIsr.NO_LEADER : partition.leader().id();
        return new LeaderAndIsr(leader, partition.isr().stream().map(node -> node.id()).toList());
    }

    private static Optional<TopicDescription> topic(Cluster cluster, InvocationOnMock call) throws Exception {
        Object first = call.getArgument(0);
        return cluster.topic(first instanceof TopicPartition partition ? partition.topic() : (String) first);
    }
}
