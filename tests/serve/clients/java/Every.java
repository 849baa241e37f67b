import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What AdminClient has had from 1.1 to this day. */
public class Every implements Scenario.Part {
    @Override
    public void run(Calls calls, AdminClient admin, String servers) {
        NewTopic orders = new NewTopic("orders", 3, (short) 2).configs(Map.of("retention.ms", "7000"));
        NewTopic placed = new NewTopic("placed", Map.of(0, List.of(1, 2), 1, List.of(2, 3)));
        NewTopic large = new NewTopic("large", 1, (short) 9);
        NewTopic wrong = new NewTopic("wrong", 1, (short) 1).configs(Map.of("no.such", "1"));
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "orders");
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "2");
        CreateTopicsOptions dry = new CreateTopicsOptions().validateOnly(true);

        calls.call("cluster", "describe: nodes", 3, () -> admin.describeCluster().nodes().get().size());
        calls.call("cluster", "describe: controller", true, () -> admin.describeCluster().controller().get().id() > 0);
        calls.call("cluster", "describe: id", 22, () -> admin.describeCluster().clusterId().get().length());
        calls.call("topics", "create", null, () -> admin.createTopics(List.of(orders)).all().get());
        calls.call("topics", "create with placed replicas", null, () -> admin.createTopics(List.of(placed)).all().get());
        calls.call("topics", "create, judged only", null,
            () -> admin.createTopics(List.of(new NewTopic("judged", 1, (short) 1)), dry).all().get());
        calls.call("topics", "create: it exists", "TopicExistsException", () -> admin.createTopics(List.of(orders)).all().get());
        calls.call("topics", "create: too few brokers", "InvalidReplicationFactorException",
            () -> admin.createTopics(List.of(large)).all().get());
        calls.call("topics", "create: wrong config", "InvalidConfigurationException",
            () -> admin.createTopics(List.of(wrong)).all().get());
        calls.call("topics", "list", Set.of("orders", "placed"), () -> admin.listTopics().names().get());
        calls.call("topics", "create partitions", null,
            () -> admin.createPartitions(Map.of("orders", NewPartitions.increaseTo(5))).all().get());
        calls.call("topics", "create partitions: fewer", "InvalidPartitionsException",
            () -> admin.createPartitions(Map.of("orders", NewPartitions.increaseTo(2))).all().get());
        calls.call("configs", "describe a topic", "7000",
            () -> admin.describeConfigs(List.of(topic)).all().get().get(topic).get("retention.ms").value());
        calls.call("configs", "describe a broker", true,
            () -> admin.describeConfigs(List.of(broker)).all().get().get(broker).entries().size() > 20);
        calls.call("records", "delete", 0L, () -> admin
            .deleteRecords(Map.of(new TopicPartition("orders", 0), RecordsToDelete.beforeOffset(0)))
            .lowWatermarks().get(new TopicPartition("orders", 0)).get().lowWatermark());
        calls.call("topics", "delete", null, () -> admin.deleteTopics(List.of("placed")).all().get());
    }
}
