import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;

/** Reports calls, a line for each: whether it passed, its family, its name, and what was wrong. */
public class Calls {
    /** Makes a call and compares what it returns; of an error its class is what it returns. */
    public void call(String family, String name, Object expected, Callable<?> body) {
        Object found;
        String said = "";
        try {
            found = body.call();
        } catch (ExecutionException error) {
            found = error.getCause().getClass().getSimpleName();
            said = " " + error.getCause().getMessage();
        } catch (Throwable error) {
            found = error.getClass().getSimpleName();
            said = " " + error.getMessage();
        }
        boolean passed = Objects.equals(expected, found);
        String problem = passed ? "" : "\t" + (found + said).replaceAll("\\s+", " ");
        System.out.println((passed ? "ok\t" : "failed\t") + family + "\t" + name + problem);
    }
}
