package kafkalet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CommandTest {
    private static final String OLD = "exit 1";
    private static final String WITHOUT_KAFKALET = "case \"$*\" in *find_spec*) exit 1;; esac";
    private static final String WITH_KAFKALET = "exit 0";

    /** The only directory on PATH. */
    @TempDir
    Path path;

    private final Map<String, String> environment = new HashMap<>();

    @BeforeEach
    void setPath() {
        environment.put("PATH", path.toString());
    }

    private String program(String name, String lines) throws IOException {
        Path file = Files.writeString(path.resolve(name), "#!/bin/sh\n" + lines + "\n");
        assertTrue(file.toFile().setExecutable(true));
        return file.toString();
    }

    private Path file(String name) throws IOException {
        return Files.writeString(path.resolve(name), "");
    }

    private void assertFinds(List<String> command, Path pyz, String... expected) {
        assertEquals(List.of(expected), new Command(environment).find(command, pyz));
    }

    private void assertFinds(Path pyz, String... expected) {
        assertFinds(List.of(), pyz, expected);
    }

    private void assertFails(Path pyz, String message) {
        Command search = new Command(environment);
        assertEquals(
                message,
                assertThrows(IllegalStateException.class, () -> search.find(List.of(), pyz)).getMessage());
    }

    @Test
    void optionComesBeforeEnvironmentAndProgramOnPath() throws Exception {
        program("kafkalet", "");
        environment.put("KAFKALET_COMMAND", " /opt/python  -m kafkalet ");
        assertFinds(List.of("a program", "--verbose"), null, "a program", "--verbose");
        assertFinds(null, "/opt/python", "-m", "kafkalet");
    }

    @Test
    void givenPyzComesBeforeProgramOnPathAndThatBeforeModule() throws Exception {
        String program = program("kafkalet", "");
        String python = program("python3", WITH_KAFKALET);
        Path file = file("kafkalet.pyz");
        assertFinds(file, python, file.toString());
        assertFinds(null, program);
    }

    @Test
    void fileThatIsNotExecutableIsNotTheProgram() throws Exception {
        file("kafkalet");
        String python = program("python3", WITH_KAFKALET);
        assertFinds(null, python, "-m", "kafkalet");
    }

    @Test
    void optionForPyzComesBeforeEnvironment() throws Exception {
        String python = program("python3", WITH_KAFKALET);
        Path variable = file("environment.pyz");
        Path option = file("option.pyz");
        environment.put("KAFKALET_PYZ", variable.toString());
        assertFinds(option, python, option.toString());
        assertFinds(null, python, variable.toString());
    }

    @Test
    void pyzOnTheClassPathIsCopiedToAFile() throws Exception {
        program("python3", WITHOUT_KAFKALET);
        byte[] content = {1, 2, 3};
        Path resource = path.resolve("classes/kafkalet/kafkalet.pyz");
        Files.createDirectories(resource.getParent());
        Files.write(resource, content);
        URL classes = Command.class.getProtectionDomain().getCodeSource().getLocation();
        URL[] urls = {classes, path.resolve("classes").toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader())) {
            var constructor = loader.loadClass("kafkalet.Command").getDeclaredConstructor(Map.class);
            constructor.setAccessible(true);
            Object search = constructor.newInstance(environment);
            Method find = search.getClass().getDeclaredMethod("find", List.class, Path.class);
            find.setAccessible(true);
            List<?> command = (List<?>) find.invoke(search, List.of(), null);
            assertArrayEquals(content, Files.readAllBytes(Path.of((String) command.get(1))));
        }
    }

    @Test
    void missingPyzIsNamed() throws Exception {
        program("python3", WITH_KAFKALET);
        assertFails(Path.of("/no/kafkalet.pyz"), "cannot run kafkalet: there is no file /no/kafkalet.pyz");
    }

    @Test
    void oldPythonIsSkipped() throws Exception {
        program("python3", OLD);
        program("python", OLD);
        String python = program("python3.12", WITH_KAFKALET);
        program("python3.11", WITH_KAFKALET);
        assertFinds(null, python, "-m", "kafkalet");
    }

    @Test
    void newestNumberedPythonIsUsed() throws Exception {
        for (int minor = 11; minor <= 14; minor++) {
            program("python3." + minor, WITH_KAFKALET);
        }
        assertFinds(null, path.resolve("python3.14").toString(), "-m", "kafkalet");
    }

    @Test
    void moduleIsNotLookedForInASecondPython() throws Exception {
        String python = program("python3", WITHOUT_KAFKALET);
        program("python", WITH_KAFKALET);
        assertFails(
                null,
                "cannot run kafkalet: found no program kafkalet on PATH, no file kafkalet.pyz and no module kafkalet of "
                        + python + "; install kafkalet with Python 3.11 or newer and `pip install .` in a clone of its "
                        + "repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, which `make dist` writes there");
    }

    @Test
    void missingPythonIsNamed() throws Exception {
        program("python3", OLD);
        assertFails(
                file("kafkalet.pyz"),
                "cannot run kafkalet: found no program kafkalet on PATH and no Python 3.11 or newer (python3, python, "
                        + "python3.14 to python3.11); install kafkalet with Python 3.11 or newer and `pip install .` in a "
                        + "clone of its repository, or set KAFKALET_PYZ to the path of kafkalet.pyz, which `make dist` "
                        + "writes there");
    }
}
