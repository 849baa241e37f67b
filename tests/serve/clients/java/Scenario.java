import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;

/** Runs parts of a scenario, named in the arguments after the bootstrap servers. */
public class Scenario {
    /** Calls that one range of versions of the client has. */
    public interface Part {
        void run(Calls calls, AdminClient admin, String servers) throws Exception;
    }

    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("request.timeout.ms", "10000");
        settings.put("default.api.timeout.ms", "15000");
        try (AdminClient admin = AdminClient.create(settings)) {
            for (int i = 1; i < words.length; i++) {
                Part part = (Part) Class.forName(words[i]).getDeclaredConstructor().newInstance();
                part.run(new Calls(), admin, words[0]);
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
