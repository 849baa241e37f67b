import java.io.ByteArrayInputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs command lines of Kafka's tools one after the other in one JVM: a line of the file for each,
 * with tabs between a main class, the lines of its standard input (with | between them) and its
 * arguments.
 */
public class Tools {
    private static Integer code;

    public static void main(String[] words) throws Exception {
        Exit.setExitProcedure((status, message) -> end(status));
        Exit.setHaltProcedure((status, message) -> end(status));
        for (String line : Files.readAllLines(Path.of(words[0]))) {
            String[] parts = line.split("\t", -1);
            String input = parts[1].isEmpty() ? "" : parts[1].replace('|', '\n') + "\n";
            System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
            code = null;
            try {
                Class.forName(parts[0]).getMethod("main", String[].class)
                    .invoke(null, (Object) Arrays.copyOfRange(parts, 2, parts.length));
            } catch (InvocationTargetException error) {
                if (code == null) {
                    code = 1;
                    System.out.println(error.getCause());
                }
            }
            System.err.flush();
            System.out.println();
            System.out.println("=== exit " + (code == null ? 0 : code));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** The status of the first exit counts: what catches the error of one may try another. */
    private static void end(int status) {
        if (code == null) {
            code = status;
        }
        throw new IllegalStateException("exit " + status);
    }
}
