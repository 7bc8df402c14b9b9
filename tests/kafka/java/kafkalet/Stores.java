package kafkalet;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Key stores and trust stores of Java as PEM files, which kafkalet reads. */
final class Stores {
    private Stores() {
    }

    /** Replaces the stores in the properties of brokers, also in those of single listeners. */
    static void toPem(Map<String, String> properties, Path directory) {
        for (String name : List.copyOf(properties.keySet())) {
            if (!name.endsWith("ssl.keystore.location") && !name.endsWith("ssl.truststore.location")) continue;
            String store = name.substring(0, name.length() - "location".length());
            String type = properties.getOrDefault(store + "type", "JKS");
            if (type.equals("PEM") || properties.get(name).isEmpty()) continue;
            String password = properties.remove(store + "password");
            String keyPassword = name.endsWith("keystore.location") ? properties.remove(store.replace("keystore.", "key.") + "password") : null;
            Path pem = directory.resolve(store + "pem");
            try {
                Files.writeString(pem, pem(Path.of(properties.get(name)), type, password, Optional.ofNullable(keyPassword).orElse(password)));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            } catch (GeneralSecurityException error) {
                throw new IllegalStateException(error);
            }
            properties.put(name, pem.toString());
            properties.put(store + "type", "PEM");
        }
    }

    private static String pem(Path path, String type, String password, String keyPassword) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(type);
        try (InputStream in = Files.newInputStream(path)) {
            store.load(in, password == null ? null : password.toCharArray());
        }
        StringBuilder text = new StringBuilder();
        for (String alias : Collections.list(store.aliases())) {
            Key key = store.isKeyEntry(alias) ? store.getKey(alias, keyPassword.toCharArray()) : null;
            if (key != null) text.append(block("PRIVATE KEY", key.getEncoded()));
            Certificate[] chain = key != null ? store.getCertificateChain(alias) : new Certificate[] {store.getCertificate(alias)};
            for (Certificate certificate : chain) text.append(block("CERTIFICATE", certificate.getEncoded()));
        }
        return text.toString();
    }

    private static String block(String name, byte[] content) {
        return "-----BEGIN " + name + "-----\n" + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content) + "\n-----END "
            + name + "-----\n";
    }
}
