package kafkalet;

import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.KafkaPrincipalBuilder;
import org.apache.kafka.common.security.auth.PlaintextAuthenticationContext;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The principal builder of a test for a plaintext listener. In front of each broker, a proxy logs in to kafkalet as the
 * principal that the builder returns, with the mechanism PLAIN, and then passes the bytes on.
 */
final class Principals implements AutoCloseable {
    private static final short SASL_HANDSHAKE = 17;

    /** The port on which the first broker listens; the others listen on the ports after it. */
    final int brokerPort;
    private final String user;
    private final List<ServerSocket> servers;
    private final List<Closeable> open = new ArrayList<>();

    Principals(String builder, String listener, int brokers) {
        try {
            KafkaPrincipalBuilder test = (KafkaPrincipalBuilder) Class.forName(builder).getDeclaredConstructor().newInstance();
            KafkaPrincipal principal = test.build(new PlaintextAuthenticationContext(InetAddress.getLoopbackAddress(), listener));
            if (!principal.getPrincipalType().equals(KafkaPrincipal.USER_TYPE)) throw new Internals("principal " + principal);
            user = principal.getName();
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
        List<ServerSocket> free = bind(brokers);
        free.forEach(Principals::close);
        brokerPort = free.get(0).getLocalPort();
        servers = bind(brokers);
        for (int index = 0; index < brokers; index++) {
            ServerSocket server = servers.get(index);
            int port = brokerPort + index;
            daemon(() -> accept(server, port));
        }
    }

    /** Binds consecutive ports. */
    private static List<ServerSocket> bind(int count) {
        List<ServerSocket> bound = new ArrayList<>();
        while (bound.size() < count) {
            try {
                int port = bound.isEmpty() ? 0 : bound.get(0).getLocalPort() + bound.size();
                bound.add(new ServerSocket(port, 50, InetAddress.getByName("localhost")));
            } catch (IOException used) {
                bound.forEach(Principals::close);
                bound.clear();
            }
        }
        return bound;
    }

    /** Returns the port of the proxy of the first broker; the others have the ports after it. */
    int port() {
        return servers.get(0).getLocalPort();
    }

    String jaas() {
        return "org.apache.kafka.common.security.plain.PlainLoginModule required user_" + user + "=\"" + user + "\";";
    }

    private static void daemon(Runnable body) {
        Thread thread = new Thread(body, "principals");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept(ServerSocket server, int port) {
        while (!server.isClosed()) {
            try {
                Socket client = server.accept();
                keep(client);
                daemon(() -> serve(client, port));
            } catch (IOException closed) {
                return;
            }
        }
    }

    private synchronized void keep(Closeable socket) {
        open.add(socket);
    }

    private void serve(Socket client, int port) {
        try {
            Socket broker = new Socket("localhost", port);
            keep(broker);
            logIn(broker);
            daemon(() -> copy(broker, client));
            copy(client, broker);
        } catch (IOException | RuntimeException stopped) {
            close(client);
        }
    }

    private void logIn(Socket broker) throws IOException {
        DataOutputStream out = new DataOutputStream(broker.getOutputStream());
        DataInputStream in = new DataInputStream(broker.getInputStream());
        byte[] mechanism = "PLAIN".getBytes(StandardCharsets.UTF_8);
        out.writeInt(2 + 2 + 4 + 2 + 2 + mechanism.length);
        out.writeShort(SASL_HANDSHAKE);
        out.writeShort(0);
        out.writeInt(0);
        out.writeShort(-1);
        out.writeShort(mechanism.length);
        out.write(mechanism);
        out.flush();
        in.readNBytes(in.readInt());
        byte[] token = ("\0" + user + "\0" + user).getBytes(StandardCharsets.UTF_8);
        out.writeInt(token.length);
        out.write(token);
        out.flush();
        in.readNBytes(in.readInt());
    }

    private static void copy(Socket from, Socket to) {
        try {
            from.getInputStream().transferTo(to.getOutputStream());
        } catch (IOException closed) {
            // the other side is closed, too
        }
        close(from);
        close(to);
    }

    private static void close(Closeable socket) {
        try {
            socket.close();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public synchronized void close() {
        servers.forEach(Principals::close);
        open.forEach(Principals::close);
    }
}
