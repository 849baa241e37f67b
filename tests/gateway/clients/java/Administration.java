import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What AdminClient has had since 2.8. */
public class Administration implements Session.Verbs {
    private final Map<String, AdminClient> clients = new HashMap<>();

    @Override
    public Object run(String verb, Session.Arguments arguments) throws Exception {
        String login = arguments.text("login");
        if (!clients.containsKey(login)) {
            clients.put(login, AdminClient.create(arguments.settings()));
        }
        AdminClient admin = clients.get(login);
        switch (verb) {
            case "brokers":
                return admin.describeCluster().nodes().get().stream()
                    .collect(Collectors.toMap(Node::idString, node -> node.host() + ":" + node.port()));
            case "topics":
                return new TreeSet<>(admin.listTopics().names().get());
            case "topic":
                return topic(admin, arguments.text("topic"));
            case "configs":
                return configs(admin, arguments.text("topic"));
            case "ends":
                return ends(admin, arguments);
            case "groups":
                return admin.listConsumerGroups().all().get().stream()
                    .map(ConsumerGroupListing::groupId).collect(Collectors.toCollection(TreeSet::new));
            case "group":
                return group(admin, arguments.text("group"));
            case "offsets":
                return offsets(admin, arguments.text("group"));
            case "commit":
                admin.alterConsumerGroupOffsets(arguments.text("group"),
                    Map.of(place(arguments), new OffsetAndMetadata(arguments.number("offset")))).all().get();
                return null;
            case "forget":
                admin.deleteConsumerGroupOffsets(arguments.text("group"), Set.of(place(arguments))).all().get();
                return null;
            case "drop":
                admin.deleteConsumerGroups(List.of(arguments.text("group"))).all().get();
                return null;
            case "truncate":
                return admin.deleteRecords(Map.of(place(arguments), RecordsToDelete.beforeOffset(arguments.number("offset"))))
                    .lowWatermarks().get(place(arguments)).get().lowWatermark();
            case "change":
                change(admin, arguments.text("what"), arguments.text("topic"));
                return null;
            default:
                throw new IllegalArgumentException(verb);
        }
    }

    private static TopicPartition place(Session.Arguments arguments) {
        return new TopicPartition(arguments.text("topic"), arguments.number("partition"));
    }

    /** Of 2.8, or of today: no method is in both. */
    @SuppressWarnings("unchecked")
    private static Object topic(AdminClient admin, String name) throws Exception {
        DescribeTopicsResult asked = admin.describeTopics(List.of(name));
        boolean older = Arrays.stream(DescribeTopicsResult.class.getMethods()).anyMatch(method -> method.getName().equals("all"));
        Object future = DescribeTopicsResult.class.getMethod(older ? "all" : "allTopicNames").invoke(asked);
        TopicDescription found = (TopicDescription) ((KafkaFuture<Map<?, ?>>) future).get().get(name);
        return Map.of(
            "name", found.name(),
            "internal", found.isInternal(),
            "leaders", found.partitions().stream().filter(row -> row.leader() != null).count(),
            "partitions", found.partitions().size());
    }

    private static Object configs(AdminClient admin, String name) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, name);
        return admin.describeConfigs(List.of(resource)).all().get().get(resource).entries().stream()
            .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
            .collect(Collectors.toMap(ConfigEntry::name, ConfigEntry::value));
    }

    private static Object ends(AdminClient admin, Session.Arguments arguments) throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        for (int i = 0; i < arguments.number("partitions"); i++) {
            asked.put(new TopicPartition(arguments.text("topic"), i), OffsetSpec.latest());
        }
        Map<String, Long> found = new TreeMap<>();
        admin.listOffsets(asked).all().get().forEach((place, row) -> found.put(place.toString(), row.offset()));
        return found;
    }

    private static Object group(AdminClient admin, String name) throws Exception {
        ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(name)).all().get().get(name);
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("name", found.groupId());
        told.put("state", found.state().toString());
        told.put("assignor", found.partitionAssignor());
        told.put("owned", found.members().stream()
            .map(member -> Records.places(member.assignment().topicPartitions())).collect(Collectors.toList()));
        told.put("instances", found.members().stream()
            .map(member -> member.groupInstanceId().orElse("")).sorted().collect(Collectors.toList()));
        return told;
    }

    private static Object offsets(AdminClient admin, String group) throws Exception {
        Map<String, Long> found = new TreeMap<>();
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((place, offset) -> {
            if (offset != null) {
                found.put(place.toString(), offset.offset());
            }
        });
        return found;
    }

    private static void change(AdminClient admin, String what, String topic) throws Exception {
        AccessControlEntry entry = new AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW);
        ResourcePattern pattern = new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL);
        switch (what) {
            case "create topic":
                admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
                break;
            case "delete topic":
                admin.deleteTopics(List.of(topic)).all().get();
                break;
            case "create partitions":
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(20))).all().get();
                break;
            case "alter configs":
                admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), List.of(
                    new AlterConfigOp(new ConfigEntry("retention.ms", "1000"), AlterConfigOp.OpType.SET)))).all().get();
                break;
            case "create ACL":
                admin.createAcls(List.of(new AclBinding(pattern, entry))).all().get();
                break;
            case "delete ACLs":
                admin.deleteAcls(List.of(AclBindingFilter.ANY)).all().get();
                break;
            case "alter quota":
                admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
                    new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "a")),
                    List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1.0))))).all().get();
                break;
            default:
                throw new IllegalArgumentException(what);
        }
    }
}
