package org.apache.kafka.common.test;

import kafka.raft.KafkaRaftManager;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;
import kafkalet.Cluster;
import kafkalet.Internals;
import kafkalet.Stand;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The class of Kafka's test kit with kafkalet as the cluster. All other kits of Kafka use it: that of {@code @ClusterTest},
 * and those of Kafka Streams and Connect. The brokers and controllers that it returns are stand-ins.
 */
public class KafkaClusterTestKit implements AutoCloseable {
    private final TestKitNodes nodes;
    private final Cluster cluster;
    private final Map<Integer, BrokerServer> brokers = new TreeMap<>();
    private final Map<Integer, ControllerServer> controllers = new TreeMap<>();
    private final MockFaultHandler faults = new MockFaultHandler("kafkalet");

    private KafkaClusterTestKit(TestKitNodes nodes, Map<String, String> properties) throws IOException {
        this.nodes = nodes;
        Map<Integer, Map<String, String>> configs = new TreeMap<>();
        for (TestKitNode node : nodes.brokerNodes().values()) {
            configs.put(node.id(), config(node, properties));
        }
        cluster = new Cluster(Path.of(nodes.baseDirectory()), nodes.clusterId(), nodes.brokerListenerName(), nodes.brokerListenerProtocol(),
            nodes.bootstrapMetadata(), nodes.brokerNodes().values().iterator().next().logDataDirectories().size(), configs, List.of());
        configs.forEach((id, config) -> brokers.put(id, Stand.broker(id, cluster, new KafkaConfig(config, false))));
        nodes.controllerNodes().values().forEach(node -> {
            Map<String, String> config = new HashMap<>(configs.values().iterator().next());
            config.putAll(node.propertyOverrides());
            controllers.put(node.id(), Stand.controller(cluster, new KafkaConfig(config, false)));
        });
    }

    /** Returns the properties of a broker as Kafka's kit sets them; it also has those of a controller. */
    private Map<String, String> config(TestKitNode node, Map<String, String> properties) {
        String listener = nodes.brokerListenerName().value();
        String controller = nodes.controllerListenerName().value();
        SecurityProtocol protocol = nodes.brokerListenerProtocol();
        Map<String, String> config = new HashMap<>();
        nodes.controllerNodes().values().forEach(other -> config.putAll(other.propertyOverrides()));
        if (protocol == SecurityProtocol.SASL_PLAINTEXT) config.putAll(Cluster.sasl(nodes.brokerListenerName()));
        if (nodes.controllerListenerProtocol() == SecurityProtocol.SASL_PLAINTEXT) config.putAll(Cluster.sasl(nodes.controllerListenerName()));
        config.put("log.cleaner.dedupe.buffer.size", "2097152");
        config.putAll(properties);
        boolean isCombined = nodes.controllerNodes().containsKey(node.id());
        config.put("process.roles", isCombined ? "broker,controller" : "broker");
        config.put("node.id", Integer.toString(node.id()));
        List<File> directories = Cluster.logDirectories(Path.of(nodes.baseDirectory()), node.logDataDirectories().size(),
            nodes.brokerNodes().size(), node.id());
        config.put("log.dirs", String.join(",", directories.stream().map(File::toString).toList()));
        config.put("controller.quorum.voters", 
            String.join(",", nodes.controllerNodes().keySet().stream().map(id -> id + "@localhost:1").toList()));
        config.putIfAbsent("listeners", listener + "://localhost:0" + (isCombined ? "," + controller + "://localhost:0" : ""));
        config.putIfAbsent("inter.broker.listener.name", listener);
        config.putIfAbsent("controller.listener.names", controller);
        config.putIfAbsent("listener.security.protocol.map",
            listener + ":" + protocol + "," + controller + ":" + nodes.controllerListenerProtocol());
        config.putAll(node.propertyOverrides());
        // kafkalet serves what is released; Kafka's kit enables the rest as well
        config.put("unstable.api.versions.enable", "false");
        config.put("unstable.feature.versions.enable", "false");
        return config;
    }

    public void format() {
    }

    public void startup() {
        cluster.start();
    }

    public void waitForReadyBrokers() {
    }

    public Admin admin() {
        return cluster.admin(Map.of());
    }

    public Admin admin(Map<String, Object> configs) {
        return cluster.admin(configs);
    }

    public Admin admin(Map<String, Object> configs, boolean usingBootstrapControllers) {
        return usingBootstrapControllers ? cluster.controllerAdmin(configs, nodes.controllerListenerProtocol()) : cluster.admin(configs);
    }

    public String bootstrapServers() {
        return cluster.bootstrap();
    }

    public String bootstrapControllers() {
        return cluster.bootstrapControllers();
    }

    public Map<Integer, BrokerServer> brokers() {
        return brokers;
    }

    public Map<Integer, ControllerServer> controllers() {
        return controllers;
    }

    public Map<Integer, KafkaRaftManager<ApiMessageAndVersion>> raftManagers() {
        int leader = controllers.keySet().iterator().next();
        Map<Integer, KafkaRaftManager<ApiMessageAndVersion>> managers = new TreeMap<>();
        brokers.keySet().forEach(id -> managers.put(id, Stand.raft(leader)));
        controllers.keySet().forEach(id -> managers.put(id, Stand.raft(leader)));
        return managers;
    }

    public Controller waitForActiveController() {
        return controllers.values().iterator().next().controller();
    }

    public TestKitNodes nodes() {
        return nodes;
    }

    public MockFaultHandler fatalFaultHandler() {
        return faults;
    }

    public MockFaultHandler nonFatalFaultHandler() {
        return faults;
    }

    @Override
    public void close() throws IOException {
        cluster.close();
        Utils.delete(new File(nodes.baseDirectory()));
    }

    public static class Builder {
        private final TestKitNodes nodes;
        private final Map<String, String> properties = new HashMap<>();

        public Builder(TestKitNodes nodes) {
            this.nodes = nodes;
        }

        public Builder setConfigProp(String key, Object value) {
            properties.put(key, Cluster.text(value));
            return this;
        }

        public Builder setStandalone(boolean standalone) {
            return this;
        }

        public Builder setInitialVoterSet(Map<Integer, Uuid> voters) {
            throw new Internals("quorum of controllers");
        }

        public Builder setDeleteOnClose(boolean deleteOnClose) {
            return this;
        }

        public KafkaClusterTestKit build() throws IOException {
            return new KafkaClusterTestKit(nodes, properties);
        }
    }
}
