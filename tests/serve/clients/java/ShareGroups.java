import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A share consumer and the administration of its group, since 4.2 (KIP-932). */
public class ShareGroups implements Scenario.Part {
    private static final String GROUP = "sharers";
    private static final TopicPartition FIRST = new TopicPartition("shared", 0);
    private static final int PATIENCE_S = 20;

    @Override
    public void run(Calls calls, AdminClient admin, String servers) throws Exception {
        admin.createTopics(List.of(new NewTopic("shared", 1, (short) 1))).all().get();
        AlterConfigOp earliest = new AlterConfigOp(
            new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(
            Map.of(new ConfigResource(ConfigResource.Type.GROUP, GROUP), List.of(earliest))).all().get();
        produce(servers, "one");
        produce(servers, "two");
        try (KafkaShareConsumer<String, String> consumer = consumer(servers)) {
            consumer.subscribe(List.of("shared"));
            calls.call("groups", "share: release a record", "one 1", () -> next(consumer, AcknowledgeType.RELEASE));
            calls.call("groups", "share: renew its lock", "one 2", () -> next(consumer, AcknowledgeType.RENEW));
            calls.call("groups", "share: accept it", "one 2", () -> next(consumer, AcknowledgeType.ACCEPT));
            calls.call("groups", "share: reject another", "two 1", () -> next(consumer, AcknowledgeType.REJECT));
            calls.call("groups", "share: describe the group", "Stable 1", () -> {
                var found = admin.describeShareGroups(List.of(GROUP)).describedGroups().get(GROUP).get();
                return found.groupState() + " " + found.members().size();
            });
            calls.call("groups", "share: alter offsets in use", "GroupNotEmptyException",
                () -> admin.alterShareGroupOffsets(GROUP, Map.of(FIRST, 0L)).all().get());
        }
        calls.call("groups", "share: offsets", 2L, () -> offset(admin));
        calls.call("groups", "share: alter offsets", 1L, () -> {
            admin.alterShareGroupOffsets(GROUP, Map.of(FIRST, 1L)).all().get();
            return offset(admin);
        });
        calls.call("groups", "share: delete offsets", null,
            () -> admin.deleteShareGroupOffsets(GROUP, Set.of("shared")).all().get());
        calls.call("groups", "share: delete the group", null,
            () -> admin.deleteShareGroups(List.of(GROUP)).all().get());
    }

    private long offset(AdminClient admin) throws Exception {
        return admin.listShareGroupOffsets(Map.of(GROUP, new ListShareGroupOffsetsSpec()))
            .partitionsToOffsetInfo(GROUP).get().get(FIRST).startOffset();
    }

    private void produce(String servers, String value) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("shared", "k", value)).get();
        }
    }

    private KafkaShareConsumer<String, String> consumer(String servers) {
        Properties settings = new Properties();
        settings.putAll(Map.of("bootstrap.servers", servers, "group.id", GROUP, "max.poll.records", 1));
        settings.putAll(Map.of("share.acknowledgement.mode", "explicit", "share.acquire.mode", "record_limit"));
        return new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private String next(KafkaShareConsumer<String, String> consumer, AcknowledgeType type) {
        long end = System.nanoTime() + Duration.ofSeconds(PATIENCE_S).toNanos();
        while (System.nanoTime() < end) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                consumer.acknowledge(record, type);
                consumer.commitSync().values().forEach(error -> error.ifPresent(problem -> {
                    throw problem;
                }));
                return record.value() + " " + record.deliveryCount().get();
            }
        }
        throw new IllegalStateException("no record came");
    }
}
