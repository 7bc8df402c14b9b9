package kafkalet;

import com.fasterxml.jackson.databind.JsonNode;

import kafka.server.KafkaConfig;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.test.JaasUtils;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** The cluster of one test: how its nodes become a {@link Kafkalet} process, which starts with the first broker. */
public final class Cluster implements AutoCloseable {
    /** Properties of the kit itself, and those that only Kafka's controllers have. */
    private static final Set<String> NOT_PASSED = Set.of("process.roles", "node.id", "broker.id", "listeners", "log.dir",
         "log.dirs", "metadata.log.dir", "controller.quorum.bootstrap.servers");
    /** Properties that name Java classes. */
    private static final Set<String> PLUGINS = Set.of("create.topic.policy.class.name", "alter.config.policy.class.name",
        "client.quota.callback.class", "metric.reporters", "group.share.assignors", "group.consumer.assignors", "authorizer.class.name",
        "replica.selector.class", "kafka.metrics.reporters", "ssl.engine.factory.class",
        "sasl.server.callback.handler.class", "security.providers");

    private static final List<String> SERVED = List.of("org.apache.kafka.metadata.authorizer.", "org.apache.kafka.common.replica.",
        "org.apache.kafka.common.security.oauthbearer.");
    private static final ConfigEntry.ConfigSource[] DYNAMIC = {ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
        ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG};

    private static final String BUILDER = "principal.builder.class";
    /** What the principal builders of tests do, as values of ssl.principal.mapping.rules. */
    private static final Map<String, String> RULES = Map.of("kafka.api.SslEndToEndAuthorizationTest$TestPrincipalBuilder",
        "RULE:^O=A server,CN=.*$/server/,RULE:^O=A .*,CN=super-user$/server/,DEFAULT");
    private static final int STOP_MS = 500;
    private static final String ADMIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\""
        + JaasUtils.KAFKA_PLAIN_ADMIN + "\" password=\"" + JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD + "\";";
    /** A listener beside those of the test, with a user who may do everything. */
    private static final ListenerName OWN = new ListenerName("KAFKALET");
    private static final String OWN_USER = ADMIN.replace(JaasUtils.KAFKA_PLAIN_ADMIN_PASSWORD, OWN.value()).replace(JaasUtils.KAFKA_PLAIN_ADMIN, OWN.value());
    private static final String DEFAULT_PROTOCOLS = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL";

    private final Path directory;
    private final ListenerName listener;
    private final SecurityProtocol protocol;
    private final BootstrapMetadata features;
    private final String id;
    private final int disks;
    private final List<String> users;
    private final Map<String, String> properties;
    private final Map<Integer, Map<String, String>> own = new TreeMap<>();
    private final Map<Integer, JsonNode> listeners = new HashMap<>();
    private int portOfFirst;
    private Kafkalet kafkalet;
    private UncleanElections elections;
    private AuthenticationMetrics metrics;
    private Admin admin;
    private final List<Principals> principals = new ArrayList<>();

    /** `id`: the id of the cluster; `brokers`: the properties of each broker, by id; `users`: users of SCRAM as for kafka-storage.sh. */
    public Cluster(Path directory, String id, ListenerName listener, SecurityProtocol protocol, BootstrapMetadata features, int disks,
            Map<Integer, Map<String, String>> brokers, List<String> users) {
        this.users = users;
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
        checkPlugins();
        Map<String, String> passed = new TreeMap<>(properties);
        passed.putIfAbsent("listener.security.protocol.map", DEFAULT_PROTOCOLS);
        passed.keySet().removeAll(NOT_PASSED);
        List<String> options = listeners(passed);
        List<Path> data = IntStream.range(0, disks).mapToObj(disk -> directory.resolve("disk" + disk)).toList();
        format(data.get(0));
        Stores.toPem(passed, directory);
        kafkalet = new Kafkalet(directory, options, data, features(), passed, own);
        elections = new UncleanElections(kafkalet);
        metrics = new AuthenticationMetrics(kafkalet);
        own.keySet().forEach(id -> port(id, listener));
        if (!users.isEmpty()) createUsers();
    }

    /** Throws {@link Internals} if a property names a Java class, except those of Kafka that kafkalet has. */
    private void checkPlugins() {
        properties.forEach((name, value) -> {
            boolean isClass = PLUGINS.stream().anyMatch(name::endsWith) && value.contains(".");
            if (isClass && SERVED.stream().noneMatch(value::startsWith)) throw new Internals("plugin " + name);
        });
    }

    /** Adds a listener to those of the test. Returns the options that make them, and changes the properties about them. */
    private List<String> listeners(Map<String, String> passed) {
        List<String> options = new ArrayList<>();
        String controllers = properties.get("controller.listener.names");
        List<String> addresses = new ArrayList<>(Arrays.stream(properties.get("listeners").split(",")).map(String::strip)
            .filter(address -> !List.of(controllers.split(",")).contains(address.split(":")[0])).toList());
        advertise(passed);
        own.values().forEach(Cluster::advertise);
        if (passed.containsKey("advertised.listeners") || own.values().stream().anyMatch(values -> values.containsKey("advertised.listeners"))) {
            portOfFirst = freePorts(own.size());  // the control API has only the addresses that are advertised
            addresses.replaceAll(address -> address.replaceAll(":0$", ":" + portOfFirst));
        }
        addresses.add(OWN.value() + "://localhost:0");
        passed.merge("listener.security.protocol.map", OWN.value() + ":" + ownProtocol(), (map, more) -> map + "," + more);
        if (ownProtocol() == SecurityProtocol.SASL_PLAINTEXT) {
            passed.merge("super.users", "User:" + OWN.value(), (users, more) -> users + ";" + more);
            passed.put("listener.name.kafkalet.sasl.enabled.mechanisms", "PLAIN");
            passed.put("listener.name.kafkalet.plain.sasl.jaas.config", OWN_USER.replace(";", " user_KAFKALET=\"KAFKALET\";"));
        }
        String builder = passed.getOrDefault(BUILDER, "");
        addresses.replaceAll(address -> withPrincipals(address, passed, options));
        addresses.add(controllerListener() + "://localhost:0");
        if (!passed.get("listener.security.protocol.map").contains(controllerListener() + ":"))
            passed.merge("listener.security.protocol.map", controllerListener() + ":PLAINTEXT", (map, more) -> map + "," + more);
        addresses.forEach(address -> options.addAll(List.of("--listen", address)));
        if (builder.contains(".") && passed.containsKey("ssl.keystore.location")) {
            if (!RULES.containsKey(builder)) throw new Internals("plugin " + BUILDER);
            passed.put("ssl.principal.mapping.rules", RULES.get(builder));
        }
        passed.remove(BUILDER);
        return options;
    }

    /** Adds the listener beside those of the test to the advertised ones. */
    private static void advertise(Map<String, String> properties) {
        properties.computeIfPresent("advertised.listeners",
            (key, value) -> value.matches(".*:[1-9].*") ? value + "," + OWN.value() + "://localhost:0" : null);
    }

    /** Puts a proxy in front of a plaintext listener with a principal builder. */
    private String withPrincipals(String address, Map<String, String> passed, List<String> options) {
        String name = address.split(":")[0];
        String prefix = "listener.name." + name.toLowerCase(Locale.ROOT) + ".";
        String builder = passed.remove(prefix + BUILDER);
        if (builder == null) builder = properties.getOrDefault(BUILDER, "");
        String[] protocols = passed.get("listener.security.protocol.map").split(",");
        if (!builder.contains(".") || !List.of(protocols).contains(name + ":PLAINTEXT")) return address;
        Principals proxy = new Principals(builder, name, own.size());
        principals.add(proxy);
        passed.put("listener.security.protocol.map", String.join(",", protocols).replace(name + ":PLAINTEXT", name + ":SASL_PLAINTEXT"));
        passed.put(prefix + "sasl.enabled.mechanisms", "PLAIN");
        passed.put(prefix + "plain.sasl.jaas.config", proxy.jaas());
        passed.put(prefix + "plain.connections.max.reauth.ms", "0");
        options.addAll(List.of("--advertise", name + "=localhost:" + proxy.port()));
        return name + "://localhost:" + proxy.brokerPort;
    }

    private void createUsers() {
        Pattern user = Pattern.compile("(.*?)=\\[name=(.*?),(?:iterations=(\\d+),)?password=(.*)]");
        List<UserScramCredentialAlteration> changes = new ArrayList<>();
        for (Matcher parts : users.stream().map(user::matcher).toList()) {
            if (!parts.matches()) throw new Internals("SCRAM credentials with a salt");
            ScramMechanism mechanism = ScramMechanism.fromMechanismName(parts.group(1));
            int iterations = parts.group(3) == null ? 4096 : Integer.parseInt(parts.group(3));
            changes.add(new UserScramCredentialUpsertion(parts.group(2), new ScramCredentialInfo(mechanism, iterations), parts.group(4)));
        }
        try {
            admin().alterUserScramCredentials(changes).all().get();
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Gives the cluster its id, as kafka-storage.sh does. */
    private void format(Path data) {
        int node = own.keySet().iterator().next();
        Path first = own.size() == 1 ? data : data.resolve("broker-" + node);
        try {
            Files.createDirectories(first);
            Files.write(first.resolve("meta.properties"), List.of("version=1", "cluster.id=" + id, "node.id=" + node));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Returns the first of several consecutive ports that nothing listens on. */
    private static int freePorts(int count) {
        for (int first = 20_000; first < 30_000; first += count) {
            List<ServerSocket> sockets = new ArrayList<>();
            try {
                for (int port = first; port < first + count; port++) sockets.add(new ServerSocket(port));
                return first;
            } catch (IOException error) {
                // something listens on one of them
            } finally {
                sockets.forEach(socket -> Utils.closeQuietly(socket, "socket"));
            }
        }
        throw new IllegalStateException("no free ports");
    }

    /** Returns a property as text. */
    public static String text(Object value) {
        if (value instanceof List<?> list) return String.join(",", list.stream().map(Cluster::text).toList());
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
        if (portOfFirst > 0 && !listener.equals(OWN)) return portOfFirst + id;
        JsonNode addresses = kafkalet.get("/v1/brokers/" + id).get("listeners");
        if (!addresses.isEmpty()) listeners.put(id, addresses);
        String address = listeners.get(id).path(listener.value().toUpperCase(Locale.ROOT)).asText("");
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    Map<?, ?> metrics() {
        return metrics.all();
    }

    void fail(int id, String logDirectory) {
        kafkalet.post("/v1/brokers/" + id + "/fail-log-dir", "{\"log_dir\": \"" + logDirectory + "\"}");
    }

    int leaderEpoch(TopicPartition partition) {
        return kafkalet.get("/v1/topics/" + partition.topic()).get("partitions").get(partition.partition()).get("leader_epoch").asInt();
    }

    /** Returns the properties of a broker, with those that were set while it runs. */
    public KafkaConfig config(int id, KafkaConfig initial) throws Exception {
        if (kafkalet == null) return initial;
        Map<String, Object> values = new HashMap<>(initial.originals());
        if (isRunning(id)) values.putAll(configs(ConfigResource.Type.BROKER, Integer.toString(id), DYNAMIC));
        values.put("log.dirs", String.join(",", logDirectories(id).stream().map(File::toString).toList()));
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

    /** Returns the properties of a resource that come from some sources, or from any. */
    Map<String, String> configs(ConfigResource.Type type, String name, ConfigEntry.ConfigSource... sources) throws Exception {
        ConfigResource resource = new ConfigResource(type, name);
        Map<String, String> values = new HashMap<>();
        admin().describeConfigs(List.of(resource)).all().get().get(resource).entries().stream()
            .filter(entry -> entry.value() != null && (sources.length == 0 || List.of(sources).contains(entry.source())))
            .forEach(entry -> values.put(entry.name(), entry.value()));
        return values;
    }

    private String controllerListener() {
        return properties.get("controller.listener.names").split(",")[0];
    }

    public String bootstrap() {
        return bootstrap(listener);
    }

    int controllerPort() {
        return Integer.parseInt(bootstrapControllers().split(":")[1]);
    }

    /** Returns the address of the controller. */
    public String bootstrapControllers() {
        start();
        return kafkalet.ready.getProperty(controllerListener().toUpperCase(Locale.ROOT));
    }

    private String bootstrap(ListenerName name) {
        start();
        return String.join(",", own.keySet().stream().map(id -> "localhost:" + port(id, name)).toList());
    }

    /** Returns the protocol of the listener beside those of the test. Without an authorizer, all users may do everything. */
    private SecurityProtocol ownProtocol() {
        return properties.getOrDefault("authorizer.class.name", "").isEmpty() ? SecurityProtocol.PLAINTEXT : SecurityProtocol.SASL_PLAINTEXT;
    }

    /** Returns an admin client with all rights that uses a listener of its own. It is closed with the cluster. */
    synchronized Admin admin() {
        if (admin == null)
            admin = Admin.create(Map.of("bootstrap.servers", bootstrap(OWN), "security.protocol", ownProtocol().name, "sasl.mechanism", "PLAIN",
                "sasl.jaas.config", OWN_USER));
        return admin;
    }

    /** Returns an admin client of the test, with all rights if the test logs in with PLAIN. */
    public Admin admin(Map<String, Object> configs) {
        return admin(configs, protocol, "bootstrap.servers", bootstrap());
    }

    /** Returns an admin client of the test that connects to the controller. */
    public Admin controllerAdmin(Map<String, Object> configs, SecurityProtocol protocol) {
        return admin(configs, protocol, "bootstrap.controllers", bootstrapControllers());
    }

    private Admin admin(Map<String, Object> configs, SecurityProtocol protocol, String name, String bootstrap) {
        Map<String, Object> all = new HashMap<>(configs);
        all.putIfAbsent(name, bootstrap);
        if (protocol == SecurityProtocol.SASL_PLAINTEXT) {
            all.putIfAbsent("security.protocol", "SASL_PLAINTEXT");
            all.putIfAbsent("sasl.mechanism", "PLAIN");
            all.putIfAbsent("sasl.jaas.config", ADMIN);
        } else if (protocol == SecurityProtocol.SSL) {
            all.putIfAbsent("security.protocol", "SSL");
            properties.forEach((property, value) -> {
                if (property.startsWith("ssl.")) all.putIfAbsent(property, value);
            });
        }
        return Admin.create(all);
    }

    void append(TopicPartition partition, byte[] batches) {
        kafkalet.post("/v1/topics/" + partition.topic() + "/partitions/" + partition.partition() + "/append-batches",
            "{\"data\": \"" + Base64.getEncoder().encodeToString(batches) + "\"}");
    }

    void rollAndClean() {
        kafkalet.post("/v1/cleaner/run", "{\"roll\": true}");
    }

    public Optional<TopicDescription> topic(String name) throws Exception {
        try {
            return Optional.of(admin().describeTopics(List.of(name)).allTopicNames().get().get(name));
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
        principals.forEach(Principals::close);
        if (kafkalet == null) return;
        if (admin != null) admin.close(Duration.ZERO);
        elections.close();
        metrics.close();
        kafkalet.close();
    }
}
