package kafkalet;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Finds the command that runs kafkalet, in the same way as the clients for Go and Node. It is the first of these:
 *
 * <ol>
 *   <li>a command that is given, as an option or in the environment variable KAFKALET_COMMAND (spaces separate its words)
 *   <li>the file kafkalet.pyz that is given, as an option or in the environment variable KAFKALET_PYZ
 *   <li>the program kafkalet on PATH
 *   <li>the resource kafkalet/kafkalet.pyz on the class path
 *   <li>the module kafkalet, as in {@code python3 -m kafkalet}
 * </ol>
 *
 * The file, the resource and the module use the first Python 3.11 or newer among python3, python, python3.14 to python3.11 and, on Windows, py -3.
 */
final class Command {
    private static final boolean IS_WINDOWS = System.getProperty("os.name").startsWith("Windows");
    private static final List<String> PYTHONS =
            List.of("python3", "python", "python3.14", "python3.13", "python3.12", "python3.11");
    private static final String IS_NEW = "import sys; sys.exit(sys.version_info < (3, 11))";
    private static final String HAS_KAFKALET =
            "import importlib.util, sys; sys.exit(not importlib.util.find_spec('kafkalet.__main__'))";

    private final Map<String, String> environment;

    Command(Map<String, String> environment) {
        this.environment = environment;
    }

    /** Returns the words of the command; {@code given} may be empty, and {@code pyz} null. */
    List<String> find(List<String> given, Path pyz) {
        if (!given.isEmpty()) {
            return given;
        }
        String command = variable("KAFKALET_COMMAND").strip();
        if (!command.isEmpty()) {
            return List.of(command.split("\\s+"));
        }
        Path file = givenFile(pyz);
        if (file == null) {
            String program = onPath("kafkalet");
            if (program != null) {
                return List.of(program);
            }
            file = Bundled.FILE;
        }
        List<String> python = findPython();
        if (python.isEmpty()) {
            throw notFound(" and no Python 3.11 or newer (python3, python, python3.14 to python3.11)");
        }
        if (file != null) {
            return with(python, file.toString());
        }
        if (succeeds(python, HAS_KAFKALET)) {
            return with(python, "-m", "kafkalet");
        }
        throw notFound(", no file kafkalet.pyz and no module kafkalet of " + python.get(0));
    }

    private static IllegalStateException notFound(String missing) {
        return new IllegalStateException("cannot run kafkalet: found no program kafkalet on PATH" + missing
                + "; install kafkalet with Python 3.11 or newer and `pip install .` in a clone of its repository, "
                + "or set KAFKALET_PYZ to the path of kafkalet.pyz, which `make dist` writes there");
    }

    private Path givenFile(Path pyz) {
        String variable = variable("KAFKALET_PYZ");
        Path given = pyz == null && !variable.isEmpty() ? Path.of(variable) : pyz;
        if (given != null && !Files.exists(given)) {
            throw new IllegalStateException("cannot run kafkalet: there is no file " + given);
        }
        return given;
    }

    /** The resource, in a temporary file that this JVM removes when it ends; null if there is no resource. */
    private static final class Bundled {
        static final Path FILE = copied();

        private static Path copied() {
            try (InputStream resource = Command.class.getResourceAsStream("kafkalet.pyz")) {
                if (resource == null) {
                    return null;
                }
                Path file = Files.createTempFile("kafkalet-", ".pyz");
                file.toFile().deleteOnExit();
                Files.copy(resource, file, StandardCopyOption.REPLACE_EXISTING);
                return file;
            } catch (IOException e) {
                throw new IllegalStateException("cannot copy kafkalet.pyz to a temporary file", e);
            }
        }
    }

    private List<String> findPython() {
        Stream<List<String>> commands = Stream.concat(
                PYTHONS.stream().map(List::of), IS_WINDOWS ? Stream.of(List.of("py", "-3")) : Stream.empty());
        for (List<String> command : commands.toList()) {
            String program = onPath(command.get(0));
            if (program != null) {
                List<String> python = new ArrayList<>(command);
                python.set(0, program);
                if (succeeds(python, IS_NEW)) {
                    return python;
                }
            }
        }
        return List.of();
    }

    private static boolean succeeds(List<String> python, String code) {
        try {
            return new ProcessBuilder(with(python, "-c", code))
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .onExit()
                            .join()
                            .exitValue()
                    == 0;
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the first executable file of this name on PATH, or null. */
    private String onPath(String name) {
        for (String directory : variable("PATH").split(File.pathSeparator)) {
            File file = new File(directory, IS_WINDOWS ? name + ".exe" : name);
            if (!directory.isEmpty() && file.isFile() && file.canExecute()) {
                return file.getPath();
            }
        }
        return null;
    }

    private String variable(String name) {
        return environment.getOrDefault(name, "");
    }

    private static List<String> with(List<String> command, String... more) {
        return Stream.concat(command.stream(), Stream.of(more)).toList();
    }
}
