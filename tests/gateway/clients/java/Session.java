import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.StringJoiner;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/**
 * Does what it is told on standard input, a line each: a class, one of its verbs, and arguments
 * {@code name=value}, with tabs between them. Answers each line with one of JSON.
 */
public class Session {
    /** Verbs of one range of versions of the client. */
    public interface Verbs {
        Object run(String verb, Arguments arguments) throws Exception;
    }

    /** The arguments of one line. */
    public static class Arguments {
        private final Map<String, String> values = new LinkedHashMap<>();

        public String text(String name) {
            if (!values.containsKey(name)) {
                throw new IllegalArgumentException("no argument " + name);
            }
            return values.get(name);
        }

        public String text(String name, String otherwise) {
            return values.getOrDefault(name, otherwise);
        }

        public boolean has(String name) {
            return values.containsKey(name);
        }

        public int number(String name) {
            return Integer.parseInt(text(name));
        }

        /** The login's file, and the arguments that begin with {@code config.}. */
        public Properties settings() throws Exception {
            Properties settings = new Properties();
            try (Reader file = Files.newBufferedReader(Path.of(text("login")))) {
                settings.load(file);
            }
            values.forEach((name, value) -> {
                if (name.startsWith("config.")) {
                    settings.put(name.substring("config.".length()), value);
                }
            });
            return settings;
        }
    }

    public static void main(String[] words) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Map<String, Verbs> classes = new LinkedHashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                String[] parts = line.split("\t");
                if (!classes.containsKey(parts[0])) {
                    classes.put(parts[0], (Verbs) Class.forName(parts[0]).getDeclaredConstructor().newInstance());
                }
                Arguments arguments = new Arguments();
                for (int i = 2; i < parts.length; i++) {
                    int at = parts[i].indexOf('=');
                    arguments.values.put(parts[i].substring(0, at), parts[i].substring(at + 1));
                }
                answer.put("found", classes.get(parts[0]).run(parts[1], arguments));
            } catch (Throwable error) {
                Throwable cause = error;
                while ((cause instanceof ExecutionException || cause instanceof CompletionException) && cause.getCause() != null) {
                    cause = cause.getCause();
                }
                cause.printStackTrace();
                answer.put("error", cause.getClass().getSimpleName());
                answer.put("message", String.valueOf(cause.getMessage()));
            }
            answers.println(json(answer));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static String json(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) {
            return String.valueOf(value);
        }
        if (value instanceof Map<?, ?> map) {
            StringJoiner rows = new StringJoiner(",", "{", "}");
            map.forEach((name, row) -> rows.add(json(String.valueOf(name)) + ":" + json(row)));
            return rows.toString();
        }
        if (value instanceof Collection<?> collection) {
            StringJoiner rows = new StringJoiner(",", "[", "]");
            collection.forEach(row -> rows.add(json(row)));
            return rows.toString();
        }
        StringBuilder text = new StringBuilder("\"");
        for (char letter : String.valueOf(value).toCharArray()) {
            if (letter == '"' || letter == '\\') {
                text.append('\\').append(letter);
            } else if (letter < ' ') {
                text.append(String.format("\\u%04x", (int) letter));
            } else {
                text.append(letter);
            }
        }
        return text.append('"').toString();
    }
}
