import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupSubscribedToTopicException;
import org.apache.kafka.common.errors.InvalidConfigurationException;
import org.apache.kafka.common.errors.InvalidPartitionsException;
import org.apache.kafka.common.errors.InvalidReplicaAssignmentException;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.NoReassignmentInProgressException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TransactionalIdNotFoundException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;

/** AdminSteps BOOTSTRAP PREFIX: what the admin client of 4.4 can ask beyond the steps of all clients. */
public class AdminSteps {
    private final Clients clients;
    private final Admin admin;
    private final String name;
    private final String topic;
    private final Set<TopicPartition> all;
    private final TopicPartition first;
    private final List<Integer> nodes = new ArrayList<>();

    private AdminSteps(String servers, String prefix) {
        clients = new Clients(servers);
        admin = clients.admin();
        name = prefix;
        topic = prefix + "-admin";
        all = Clients.partitions(topic, 3);
        first = new TopicPartition(topic, 0);
    }

    public static void main(String[] args) {
        AdminSteps steps = new AdminSteps(args[0], args[1]);
        Step.run("topics", steps::topics);
        Step.run("offsets", steps::offsets);
        Step.run("configs", steps::configs);
        Step.run("groups", steps::groups);
        Step.run("offsets of groups", steps::offsetsOfGroups);
        Step.run("transactions", steps::transactions);
        Step.run("aborts", steps::aborts);
        Step.run("fencing", steps::fencing);
        Step.run("leaders", steps::leaders);
        Step.run("reassignments", steps::reassignments);
        Step.run("quotas", steps::quotas);
        Step.run("features", steps::features);
        Step.run("quorum", steps::quorum);
        Step.run("telemetry", steps::telemetry);
        steps.admin.close();
    }

    private void topics() throws Exception {
        for (Node node : admin.describeCluster().nodes().get()) {
            nodes.add(node.id());
        }
        List<Integer> one = List.of(nodes.get(0));
        admin.createTopics(List.of(new NewTopic(topic, Map.of(0, one, 1, one)))).all().get();
        Step.await("the topic", () -> admin.listTopics().names().get().contains(topic));
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3, List.of(one)))).all().get();
        Step.await("three partitions", () -> describe().partitions().size() == 3);
        Step.refused(() -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(2))).all().get(),
                InvalidPartitionsException.class);
        admin.createTopics(List.of(new NewTopic(topic + "-gone", Optional.of(2), Optional.empty()))).all().get();
        Step.await("the other topic", () -> admin.listTopics().names().get().contains(topic + "-gone"));
        Uuid id = admin.describeTopics(List.of(topic + "-gone")).allTopicNames().get().get(topic + "-gone").topicId();
        TopicCollection ids = TopicCollection.ofTopicIds(List.of(id));
        Step.same("by id", topic + "-gone", admin.describeTopics(ids).allTopicIds().get().get(id).name());
        admin.deleteTopics(ids).all().get();
        Step.await("its end", () -> !admin.listTopics().names().get().contains(topic + "-gone"));
        Step.refused(() -> admin.describeTopics(ids).allTopicIds().get(), UnknownTopicIdException.class);
        Step.holds("its directory", admin.describeLogDirs(one).allDescriptions().get().get(one.get(0)).values()
                .stream().anyMatch(folder -> folder.replicaInfos().containsKey(first)));
    }

    private TopicDescription describe() throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    private void offsets() throws Exception {
        long base = System.currentTimeMillis() - 100_000;
        try (KafkaProducer<String, String> producer = clients.producer()) {
            for (long time : new long[] {10, 30, 20}) {
                producer.send(new ProducerRecord<>(topic, 0, base + time, null, "value")).get();
            }
        }
        Step.same("earliest", 0L, offset(OffsetSpec.earliest()));
        Step.same("latest", 3L, offset(OffsetSpec.latest()));
        Step.same("of the largest time", 1L, offset(OffsetSpec.maxTimestamp()));
        Step.same("by time", 1L, offset(OffsetSpec.forTimestamp(base + 15)));
        Step.same("too late", -1L, offset(OffsetSpec.forTimestamp(base + 31)));
        Step.same("earliest that is local", 0L, offset(OffsetSpec.earliestLocal()));
        Step.same("latest in a tier", -1L, offset(OffsetSpec.latestTiered()));
        admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(-1))).all().get();
        Step.same("earliest of nothing", 3L, offset(OffsetSpec.earliest()));
    }

    private long offset(OffsetSpec which) throws Exception {
        return admin.listOffsets(Map.of(first, which)).partitionResult(first).get().offset();
    }

    private void configs() throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        alter(resource, "cleanup.policy", "compact", AlterConfigOp.OpType.APPEND);
        Step.await("both policies", () -> "delete,compact".equals(value(resource, "cleanup.policy")));
        alter(resource, "cleanup.policy", "delete", AlterConfigOp.OpType.SUBTRACT);
        Step.await("one policy", () -> "compact".equals(value(resource, "cleanup.policy")));
        alter(resource, "cleanup.policy", null, AlterConfigOp.OpType.DELETE);
        Step.await("its default", () -> "delete".equals(value(resource, "cleanup.policy")));
        Step.refused(() -> alter(resource, "retention.ms", "soon", AlterConfigOp.OpType.SET),
                InvalidConfigurationException.class);
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, String.valueOf(nodes.get(0)));
        alter(broker, "log.cleaner.threads", "2", AlterConfigOp.OpType.SET);
        Step.await("two threads", () -> "2".equals(value(broker, "log.cleaner.threads")));
        alter(broker, "log.cleaner.threads", null, AlterConfigOp.OpType.DELETE);
        Step.await("one thread", () -> "1".equals(value(broker, "log.cleaner.threads")));
    }

    private void alter(ConfigResource resource, String key, String value, AlterConfigOp.OpType how) throws Exception {
        admin.incrementalAlterConfigs(Map.of(resource, List.of(new AlterConfigOp(new ConfigEntry(key, value), how))))
                .all().get();
    }

    private String value(ConfigResource resource, String key) throws Exception {
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).get(key).value();
    }

    private KafkaConsumer<String, String> member(String group) {
        return clients.consumer("group.id", name + "-" + group, "client.id", "admin-member");
    }

    private void groups() throws Exception {
        try (KafkaConsumer<String, String> live = member("live")) {
            Clients.join(live, topic, all);
            OffsetAndMetadata three = new OffsetAndMetadata(3);
            live.commitSync(Map.of(first, three, new TopicPartition(topic, 1), new OffsetAndMetadata(0)));
            admin.alterConsumerGroupOffsets(name + "-still", Map.of(first, new OffsetAndMetadata(1))).all().get();
            ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(name + "-live")).all().get()
                    .get(name + "-live");
            Step.same("state", GroupState.STABLE, found.groupState());
            Step.same("type", GroupType.CLASSIC, found.type());
            Step.same("assignor", "range", found.partitionAssignor());
            Step.same("host", "/127.0.0.1", found.members().iterator().next().host());
            ListGroupsOptions any = new ListGroupsOptions();
            Step.same("all", Clients.set(name + "-live", name + "-still"), list(any));
            ListGroupsOptions stable = new ListGroupsOptions().inGroupStates(Set.of(GroupState.STABLE));
            Step.same("stable ones", Clients.set(name + "-live"), list(stable));
            ListGroupsOptions empty = new ListGroupsOptions().inGroupStates(Set.of(GroupState.EMPTY));
            Step.same("empty ones", Clients.set(name + "-still"), list(empty));
            ListGroupsOptions classic = new ListGroupsOptions().withTypes(Set.of(GroupType.CLASSIC));
            Step.same("classic ones", Clients.set(name + "-live", name + "-still"), list(classic));
            ListGroupsOptions consumer = new ListGroupsOptions().withTypes(Set.of(GroupType.CONSUMER));
            Step.same("of the consumer protocol", Clients.set(), list(consumer));
        }
        Step.holds("there is no other", isUnknown(name + "-none"));
    }

    /** Brokers before 4.0 describe a group that nobody knows as a dead one. */
    private boolean isUnknown(String group) throws Exception {
        try {
            ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
            return found.groupState() == GroupState.DEAD;
        } catch (ExecutionException refused) {
            return refused.getCause() instanceof GroupIdNotFoundException;
        }
    }

    private Set<String> list(ListGroupsOptions options) throws Exception {
        Set<String> ours = new TreeSet<>();
        for (GroupListing group : admin.listGroups(options).all().get()) {
            if (group.groupId().startsWith(name)) {
                ours.add(group.groupId());
            }
        }
        return ours;
    }

    private void offsetsOfGroups() throws Exception {
        String live = name + "-live";
        String still = name + "-still";
        try (KafkaConsumer<String, String> member = member("live")) {
            Clients.join(member, topic, all);
            Step.refused(() -> alterOffset(live, 2), UnknownMemberIdException.class);
            Step.refused(() -> admin.deleteConsumerGroupOffsets(live, Set.of(first)).all().get(),
                    GroupSubscribedToTopicException.class);
            Step.same("as the member committed", 3L, offsets(live).get(first).offset());
        }
        alterOffset(live, 2);
        Step.same("altered", new OffsetAndMetadata(2, "by hand"), offsets(live).get(first));
        alterOffset(still, 3);
        Step.same("altered", 3L, offsets(still).get(first).offset());
        admin.deleteConsumerGroupOffsets(live, Set.of(first)).all().get();
        Step.same("deleted", false, offsets(live).containsKey(first));
        admin.deleteConsumerGroups(List.of(live, still)).all().get();
        Step.same("groups left", Clients.set(), list(new ListGroupsOptions()));
    }

    private void alterOffset(String group, long offset) throws Exception {
        admin.alterConsumerGroupOffsets(group, Map.of(first, new OffsetAndMetadata(offset, "by hand"))).all().get();
    }

    private Map<TopicPartition, OffsetAndMetadata> offsets(String group) throws Exception {
        return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    }

    private KafkaProducer<String, String> transaction(String id) {
        KafkaProducer<String, String> producer =
                clients.producer("transactional.id", name + "-" + id, "transaction.timeout.ms", "55000");
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, 1, null, id));
        producer.flush();
        return producer;
    }

    private TransactionDescription describe(String id) throws Exception {
        return admin.describeTransactions(List.of(name + "-" + id)).all().get().get(name + "-" + id);
    }

    private void transactions() throws Exception {
        try (KafkaProducer<String, String> producer = transaction("listed")) {
            TransactionDescription found = describe("listed");
            Step.same("state", TransactionState.ONGOING, found.state());
            Step.same("partitions", Set.of(new TopicPartition(topic, 1)), found.topicPartitions());
            Step.same("timeout", 55_000L, found.transactionTimeoutMs());
            Step.holds("a start", found.transactionStartTimeMs().getAsLong() > 0);
            Step.same("ongoing", Map.of(name + "-listed", TransactionState.ONGOING),
                    list(new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING))));
            Step.same("of its producer", Map.of(name + "-listed", TransactionState.ONGOING),
                    list(new ListTransactionsOptions().filterProducerIds(Set.of(found.producerId()))));
            Step.same("older than a minute", Map.of(), list(new ListTransactionsOptions().filterOnDuration(60_000)));
            ProducerState state = producers().get(0);
            Step.same("producer id", found.producerId(), state.producerId());
            Step.same("producer epoch", found.producerEpoch(), state.producerEpoch());
            Step.same("start", 0L, state.currentTransactionStartOffset().getAsLong());
            Step.same("sequence", 0, state.lastSequence());
            producer.commitTransaction();
            Step.await("the end", () -> describe("listed").state() == TransactionState.COMPLETE_COMMIT);
            Step.await("the marker", () -> producers().stream()
                    .noneMatch(one -> one.currentTransactionStartOffset().isPresent()));
        }
        Step.refused(() -> describe("never"), TransactionalIdNotFoundException.class);
    }

    private List<ProducerState> producers() throws Exception {
        TopicPartition partition = new TopicPartition(topic, 1);
        return admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
    }

    private Map<String, TransactionState> list(ListTransactionsOptions options) throws Exception {
        Map<String, TransactionState> ours = new HashMap<>();
        for (TransactionListing one : admin.listTransactions(options).all().get()) {
            if (one.transactionalId().startsWith(name)) {
                ours.put(one.transactionalId(), one.state());
            }
        }
        return ours;
    }

    private void aborts() throws Exception {
        TopicPartition partition = new TopicPartition(topic, 1);
        try (KafkaProducer<String, String> hanging = transaction("hanging")) {
            ProducerState open = producers().stream()
                    .filter(one -> one.currentTransactionStartOffset().isPresent()).findFirst().get();
            admin.abortTransaction(new AbortTransactionSpec(
                    partition, open.producerId(), (short) open.producerEpoch(),
                    open.coordinatorEpoch().orElse(0))).all().get();
            Step.holds("nothing is open", producers().stream()
                    .noneMatch(one -> one.currentTransactionStartOffset().isPresent()));
            try (KafkaConsumer<String, String> committed = clients.reader("read_committed")) {
                Step.same("committed", List.of("listed"), Clients.read(committed, partition, 0));
            }
        }
        try (KafkaProducer<String, String> other = transaction("ended")) {
            admin.forceTerminateTransaction(name + "-ended").result().get();
            Step.same("state", TransactionState.EMPTY, describe("ended").state());
        }
    }

    private void fencing() throws Exception {
        try (KafkaProducer<String, String> zombie = transaction("zombie")) {
            TransactionDescription before = describe("zombie");
            KafkaFuture<Short> epoch = admin.fenceProducers(List.of(name + "-zombie")).epochId(name + "-zombie");
            Step.holds("a later epoch", epoch.get() > before.producerEpoch());
            Step.refused(zombie::commitTransaction, ProducerFencedException.class);
            Step.same("state", TransactionState.EMPTY, describe("zombie").state());
        }
    }

    private void leaders() throws Exception {
        Optional<Throwable> refused =
                admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get().get(first);
        Step.same("not needed", ElectionNotNeededException.class, refused.get().getClass());
        Step.holds("of all", admin.electLeaders(ElectionType.PREFERRED, null).partitions().get().values().stream()
                .noneMatch(Optional::isPresent));
    }

    private void reassignments() throws Exception {
        Step.same("none", Map.of(), admin.listPartitionReassignments().reassignments().get());
        Step.refused(() -> reassign(Optional.empty()), NoReassignmentInProgressException.class);
        Step.refused(() -> reassign(Optional.of(new NewPartitionReassignment(List.of(99)))),
                InvalidReplicaAssignmentException.class);
        List<Integer> turned = new ArrayList<>(nodes);
        Collections.reverse(turned);
        reassign(Optional.of(new NewPartitionReassignment(turned)));
        Step.await("the replicas", () -> turned.equals(ids(describe().partitions().get(0).replicas()))
                && admin.listPartitionReassignments(Set.of(first)).reassignments().get().isEmpty());
        Step.await("all in sync", () ->
                Set.copyOf(nodes).equals(Set.copyOf(ids(describe().partitions().get(0).isr()))));
        admin.electLeaders(ElectionType.PREFERRED, Set.of(first)).partitions().get();
        Step.await("the leader", () -> describe().partitions().get(0).leader().id() == turned.get(0));
        Step.same("its records", 3L, offset(OffsetSpec.latest()));
    }

    private void reassign(Optional<NewPartitionReassignment> to) throws Exception {
        admin.alterPartitionReassignments(Map.of(first, to)).all().get();
    }

    private static List<Integer> ids(Collection<Node> nodes) {
        List<Integer> ids = new ArrayList<>();
        nodes.forEach(node -> ids.add(node.id()));
        return ids;
    }

    private void quotas() throws Exception {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, name));
        ClientQuotaFilter filter = ClientQuotaFilter.contains(
                List.of(ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.CLIENT_ID, name)));
        alter(entity, "producer_byte_rate", 20_000.0);
        alter(entity, "request_percentage", 50.0);
        Map<String, Double> both = Map.of("producer_byte_rate", 20_000.0, "request_percentage", 50.0);
        Step.await("two quotas", () ->
                Map.of(entity, both).equals(admin.describeClientQuotas(filter).entities().get()));
        throttled();
        alter(entity, "producer_byte_rate", null);
        alter(entity, "request_percentage", null);
        Step.await("no quotas", () -> admin.describeClientQuotas(filter).entities().get().isEmpty());
        Step.refused(() -> alter(entity, "patience", 1.0), InvalidRequestException.class);
    }

    private void alter(ClientQuotaEntity entity, String key, Double value) throws Exception {
        ClientQuotaAlteration.Op op = new ClientQuotaAlteration.Op(key, value);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(op)))).all().get();
    }

    /** A producer of that name goes beyond its rate, and is told to wait. */
    private void throttled() throws Exception {
        try (KafkaProducer<String, String> producer = clients.producer("client.id", name)) {
            Step.await("a throttle time", () -> {
                producer.send(new ProducerRecord<>(topic, 2, null, "x".repeat(50_000))).get();
                return producer.metrics().entrySet().stream()
                        .anyMatch(entry -> entry.getKey().name().equals("produce-throttle-time-max")
                                && ((Number) entry.getValue().metricValue()).doubleValue() > 0);
            });
        }
    }

    private void features() throws Exception {
        FeatureMetadata found = admin.describeFeatures().featureMetadata().get();
        System.out.println("   finalized " + found.finalizedFeatures().keySet());
        for (String feature : found.finalizedFeatures().keySet()) {
            short level = found.finalizedFeatures().get(feature).maxVersionLevel();
            Step.holds(feature + " is supported",
                    level <= found.supportedFeatures().get(feature).maxVersion());
        }
        Step.holds("metadata.version", found.finalizedFeatures().containsKey("metadata.version"));
    }

    private void quorum() throws Exception {
        try {
            int leader = admin.describeMetadataQuorum().quorumInfo().get().leaderId();
            System.out.println("   leader of the quorum " + leader);
        } catch (ExecutionException refused) {
            Step.same("refusal", UnsupportedVersionException.class, refused.getCause().getClass());
            System.out.println("   not served");
        }
    }

    /** A broker without a receiver of telemetry does not offer it: nobody gets an id. */
    private void telemetry() throws Exception {
        Duration patience = Duration.ofSeconds(2);
        try (Admin pushing = clients.admin("enable.metrics.push", "true");
                KafkaProducer<String, String> producer = clients.producer();
                KafkaConsumer<String, String> consumer = clients.reader("read_committed")) {
            Step.same("id of an admin client", null, pushing.clientInstanceId(patience));
            Step.same("id of a producer", null, producer.clientInstanceId(patience));
            Step.same("id of a consumer", null, consumer.clientInstanceId(patience));
        }
    }
}
