import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.common.config.ConfigResource;

/** What AdminClient has had since 4.0. */
public class Since4 implements Scenario.Part {
    @Override
    public void run(Calls calls, AdminClient admin, String servers) throws Exception {
        ConfigResource metrics = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "all");
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, "billing");
        AlterConfigOp interval = new AlterConfigOp(new ConfigEntry("interval.ms", "60000"), AlterConfigOp.OpType.SET);
        AlterConfigOp timeout = new AlterConfigOp(
            new ConfigEntry("consumer.session.timeout.ms", "50000"), AlterConfigOp.OpType.SET);
        calls.call("topics", "describe", 5,
            () -> admin.describeTopics(List.of("orders")).allTopicNames().get().get("orders").partitions().size());
        calls.call("topics", "describe: there is none", "UnknownTopicOrPartitionException",
            () -> admin.describeTopics(List.of("none")).allTopicNames().get());
        calls.call("configs", "alter client metrics", null,
            () -> admin.incrementalAlterConfigs(Map.of(metrics, List.of(interval))).all().get());
        calls.call("configs", "alter a group", null,
            () -> admin.incrementalAlterConfigs(Map.of(group, List.of(timeout))).all().get());
        calls.call("configs", "list config resources", Set.of("all", "billing"), () -> admin
            .listConfigResources(Set.of(ConfigResource.Type.CLIENT_METRICS, ConfigResource.Type.GROUP),
                new ListConfigResourcesOptions())
            .all().get().stream().map(ConfigResource::name).collect(Collectors.toSet()));
        calls.call("groups", "list groups of all kinds", 0, () -> admin.listGroups().all().get().size());
    }
}
