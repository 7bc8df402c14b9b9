package kafkalet;

import com.fasterxml.jackson.databind.JsonNode;

import kafka.server.KafkaConfig;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.JaasUtils;
import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;

/** The cluster of one test: how its nodes become a {@link Kafkalet} process, which starts with the first broker. */
public final class Cluster implements AutoCloseable {
    /** Properties of the kit itself, and those that only Kafka's controllers have. */
    private static final Set<String> NOT_PASSED = Set.of("process.roles", "node.id", "broker.id", "listeners", "log.dir",
         "log.dirs", "metadata.log.dir", "controller.listener.names", "controller.quorum.voters",
        "controller.quorum.bootstrap.servers", "unstable.api.versions.enable", "unstable.feature.versions.enable");
    /** Properties that name Java classes. */
    private static final Set<String> PLUGINS = Set.of("create.topic.policy.class.name", "alter.config.policy.class.name",
        "client.quota.callback.class", "metric.reporters", "group.share.assignors", "group.consumer.assignors", "authorizer.class.name",
        "principal.builder.class", "replica.selector.class", "remote.log.storage.manager.class.name",
        "remote.log.metadata.manager.class.name", "kafka.metrics.reporters", "ssl.engine.factory.class",
        "sasl.server.callback.handler.class", "security.providers");

    private static final Set<ConfigEntry.ConfigSource> DYNAMIC = Set.of(ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG,
        ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG);

    private static final int STOP_MS = 500;
    private static final String ADMIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\""
        + JaasUtils.KAFKA_PLAIN_ADMIN + "\" password=\"" + JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD + "\";";

    private final Path directory;
    private final ListenerName listener;
    private final SecurityProtocol protocol;
    private final BootstrapMetadata features;
    private final String id;
    private final int disks;
    private final Map<String, String> properties;
    private final Map<Integer, Map<String, String>> own = new TreeMap<>();
    private final Map<Integer, JsonNode> listeners = new HashMap<>();
    private Kafkalet kafkalet;
    private UncleanElections elections;

    /** `id`: the id of the cluster; `brokers`: the properties of each broker, by id. */
    public Cluster(Path directory, String id, ListenerName listener, SecurityProtocol protocol, BootstrapMetadata features, int disks,
            Map<Integer, Map<String, String>> brokers) {
        this.directory = directory;
        this.id = id;
        this.listener = listener;
        this.protocol = protocol;
        this.features = features;
        this.disks = disks;
        properties = new TreeMap<>(brokers.values().iterator().next());
        // brokers of kafkalet share their certificate
        brokers.values().forEach(values -> properties.entrySet().removeIf(entry -> !entry.getKey().matches("(.*\\.)?ssl\\..*")
            && !entry.getValue().equals(values.get(entry.getKey()))));
        brokers.forEach((broker, values) -> {
            Map<String, String> rest = new TreeMap<>(values);
            rest.keySet().removeAll(properties.keySet());
            rest.keySet().removeAll(NOT_PASSED);
            own.put(broker, rest);
        });
    }

    /** Returns what Kafka's kit sets for SASL: the mechanism PLAIN, its users, and the authorizer. */
    public static Map<String, String> sasl(ListenerName listener) {
        String users = " user_" + JaasUtils.KAFKA_PLAIN_ADMIN + "=\"" + JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD + "\" user_"
            + JaasUtils.KAFKA_PLAIN_USER1 + "=\"" + JaasUtils.KAFKA_PLAIN_USER1_PASSWORD + "\";";
        return Map.of("sasl.enabled.mechanisms", "PLAIN", "sasl.mechanism.inter.broker.protocol", "PLAIN",
            "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "allow.everyone.if.no.acl.found", "false", "super.users", "User:" + JaasUtils.KAFKA_PLAIN_ADMIN,
            "listener.name." + listener.value().toLowerCase(Locale.ROOT) + ".plain.sasl.jaas.config", ADMIN.replace(";", users));
    }

    public void start() {
        if (kafkalet != null) return;
        for (String plugin : PLUGINS) {
            String value = properties.getOrDefault(plugin, "");
            if (!value.isEmpty() && !value.startsWith("org.apache.kafka.metadata.authorizer.")
                    && !value.startsWith("org.apache.kafka.common.replica.") && value.contains("."))
                throw new Internals("plugin " + plugin);
        }
        Map<String, String> passed = new TreeMap<>(properties);
        passed.keySet().removeAll(NOT_PASSED);
        String controllers = properties.getOrDefault("controller.listener.names", "CONTROLLER");
        List<String> addresses = Arrays.stream(properties.get("listeners").split(",")).map(String::strip)
            .filter(address -> !List.of(controllers.split(",")).contains(address.split(":")[0])).toList();
        List<Path> data = IntStream.range(0, disks).mapToObj(disk -> directory.resolve("disk" + disk)).toList();
        format(data.get(0));
        Stores.toPem(passed, directory);
        kafkalet = new Kafkalet(directory, own.size(), addresses, data, features(), passed, own);
        elections = new UncleanElections(kafkalet);
        own.keySet().forEach(id -> port(id, listener));
    }

    /** Gives the cluster its id, as kafka-storage.sh does. */
    private void format(Path data) {
        Path first = own.size() == 1 ? data : data.resolve("broker-0");
        try {
            Files.createDirectories(first);
            Files.write(first.resolve("meta.properties"), List.of("version=1", "cluster.id=" + id, "node.id=0"));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns a property as text. */
    public static String text(Object value) {
        return value instanceof Password password ? password.value() : String.valueOf(value);
    }

    /** Returns the feature levels that are not the defaults. */
    private Map<String, Short> features() {
        MetadataVersion version = features.metadataVersion();
        Map<String, Short> levels = new TreeMap<>();
        if (version.compareTo(MetadataVersion.latestProduction()) < 0) levels.put(MetadataVersion.FEATURE_NAME, version.featureLevel());
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            short level = features.featureLevel(feature.featureName());
            // kafkalet has no quorum of controllers
            if (feature != Feature.KRAFT_VERSION && level != feature.defaultLevel(version)) levels.put(feature.featureName(), level);
        }
        return levels;
    }

    public void start(int id) {
        start();
        if (!kafkalet.isRunning(id)) kafkalet.post("/v1/brokers/" + id + "/start");
    }

    /** Stops a broker. It stays stopped for as long as Kafka's takes to stop: tests expect that clients notice it. */
    public void stop(int id) throws InterruptedException {
        if (!isRunning(id)) return;
        kafkalet.post("/v1/brokers/" + id + "/stop");
        elections.look();
        Thread.sleep(STOP_MS);
    }

    public boolean isRunning(int id) {
        return kafkalet != null && kafkalet.isRunning(id);
    }

    /** Returns the state of a broker. Kafka's remains in SHUTTING_DOWN when it has stopped. */
    public BrokerState state(int id) {
        if (kafkalet == null) return BrokerState.NOT_RUNNING;
        return isRunning(id) ? BrokerState.RUNNING : BrokerState.SHUTTING_DOWN;
    }

    public String clusterId() {
        start();
        return kafkalet.get("/v1/cluster").get("cluster_id").asText();
    }

    /** Returns the port of a listener of a broker, which it keeps while it is stopped. */
    public int port(int id, ListenerName listener) {
        if (kafkalet == null) return 0;
        JsonNode addresses = kafkalet.get("/v1/brokers/" + id).get("listeners");
        if (!addresses.isEmpty()) listeners.put(id, addresses);
        String address = listeners.get(id).path(listener.value().toUpperCase(Locale.ROOT)).asText("");
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    /** Returns the properties of a broker, with those that were set while it runs. */
    public KafkaConfig config(int id, KafkaConfig initial) throws Exception {
        if (protocol == SecurityProtocol.SSL || protocol == SecurityProtocol.SASL_SSL || !isRunning(id)) return initial;
        ConfigResource resource = new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(id));
        Map<String, Object> values = new HashMap<>(initial.originals());
        try (Admin admin = admin(Map.of())) {
            admin.describeConfigs(List.of(resource)).all().get().get(resource).entries().stream()
                .filter(entry -> DYNAMIC.contains(entry.source()) && entry.value() != null)
                .forEach(entry -> values.put(entry.name(), entry.value()));
        }
        return values.equals(initial.originals()) ? initial : new KafkaConfig(values, false);
    }

    /** Returns the log directories of a broker. */
    List<File> logDirectories(int id) {
        return logDirectories(directory, disks, own.size(), id);
    }

    /** Returns the log directories that one of some brokers will have. */
    public static List<File> logDirectories(Path directory, int disks, int brokers, int id) {
        return IntStream.range(0, disks).mapToObj(disk -> directory.resolve("disk" + disk))
            .map(disk -> brokers == 1 ? disk.toFile() : disk.resolve("broker-" + id).toFile()).toList();
    }

    public String bootstrap() {
        start();
        return String.join(",", own.keySet().stream().map(id -> "localhost:" + port(id, listener)).toList());
    }

    /** Returns an admin client with all rights. */
    public Admin admin(Map<String, Object> configs) {
        Map<String, Object> all = new HashMap<>(configs);
        all.putIfAbsent("bootstrap.servers", bootstrap());
        if (protocol == SecurityProtocol.SASL_PLAINTEXT) {
            all.putIfAbsent("security.protocol", "SASL_PLAINTEXT");
            all.putIfAbsent("sasl.mechanism", "PLAIN");
            all.putIfAbsent("sasl.jaas.config", ADMIN);
        } else if (protocol == SecurityProtocol.SSL) {
            all.putIfAbsent("security.protocol", "SSL");
            properties.forEach((name, value) -> {
                if (name.startsWith("ssl.")) all.putIfAbsent(name, value);
            });
        }
        return Admin.create(all);
    }

    void roll(TopicPartition partition) {
        kafkalet.post("/v1/topics/" + partition.topic() + "/partitions/" + partition.partition() + "/roll");
    }

    void clean() {
        kafkalet.post("/v1/cleaner/run");
    }

    public Optional<TopicDescription> topic(String name) throws Exception {
        try (Admin admin = admin(Map.of())) {
            return Optional.of(admin.describeTopics(List.of(name)).allTopicNames().get().get(name));
        } catch (ExecutionException error) {
            if (error.getCause() instanceof UnknownTopicOrPartitionException) return Optional.empty();
            throw error;
        }
    }

    boolean isEnabled(Feature feature) {
        return features.featureLevel(feature.featureName()) > 0;
    }

    @Override
    public void close() {
        if (kafkalet == null) return;
        elections.close();
        kafkalet.close();
    }
}
