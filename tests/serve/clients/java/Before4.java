import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;

/** What Kafka 4 has dropped. */
public class Before4 implements Scenario.Part {
    @Override
    @SuppressWarnings("deprecation")
    public void run(Calls calls, AdminClient admin, String servers) {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "orders");
        Config config = new Config(List.of(new ConfigEntry("retention.ms", "8000")));
        calls.call("topics", "describe", 5, () -> admin.describeTopics(List.of("orders")).all().get().get("orders").partitions().size());
        calls.call("topics", "describe: there is none", "UnknownTopicOrPartitionException",
            () -> admin.describeTopics(List.of("none")).all().get());
        calls.call("configs", "alter (AlterConfigs)", null, () -> admin.alterConfigs(Map.of(topic, config)).all().get());
        calls.call("cluster", "describe log folders", true, () -> admin.describeLogDirs(List.of(1)).all().get().get(1).size() > 0);
    }
}
