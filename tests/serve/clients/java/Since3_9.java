import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** What AdminClient has had since 3.9: topics by their ids, the quorum, producers. */
public class Since3_9 implements Scenario.Part {
    private static final TopicPartition FIRST = new TopicPartition("orders", 0);

    @Override
    public void run(Calls calls, AdminClient admin, String servers) throws Exception {
        admin.createTopics(List.of(new NewTopic("by-id", Optional.of(2), Optional.empty()))).all().get();
        var found = admin.describeTopics(List.of("by-id")).allTopicNames().get();
        TopicCollection ids = TopicCollection.ofTopicIds(List.of(found.get("by-id").topicId()));
        TopicCollection none = TopicCollection.ofTopicIds(List.of(new Uuid(1, 1)));
        calls.call("topics", "describe by name", 2, () -> found.get("by-id").partitions().size());
        calls.call("topics", "describe by id", "by-id",
            () -> admin.describeTopics(ids).allTopicIds().get().values().iterator().next().name());
        calls.call("topics", "describe: no such id", "UnknownTopicIdException",
            () -> admin.describeTopics(none).allTopicIds().get());
        calls.call("topics", "delete by id", null, () -> admin.deleteTopics(ids).all().get());
        calls.call("topics", "delete: no such id", "UnknownTopicIdException", () -> admin.deleteTopics(none).all().get());
        calls.call("cluster", "describe the quorum", true,
            () -> admin.describeMetadataQuorum().quorumInfo().get().voters().size() > 0);
        calls.call("transactions", "list", 0, () -> admin.listTransactions().all().get().size());
        calls.call("transactions", "describe: there is none", "TransactionalIdNotFoundException",
            () -> admin.describeTransactions(List.of("none")).all().get());
        calls.call("transactions", "describe producers", 0,
            () -> admin.describeProducers(List.of(FIRST)).all().get().get(FIRST).activeProducers().size());
        calls.call("transactions", "fence producers", null, () -> admin.fenceProducers(List.of("tx-fenced")).all().get());
    }
}
