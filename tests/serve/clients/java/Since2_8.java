import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What AdminClient has had since 2.8, the first that speaks to brokers without ZooKeeper. */
public class Since2_8 implements Scenario.Part {
    private static final TopicPartition FIRST = new TopicPartition("orders", 0);

    @Override
    public void run(Calls calls, AdminClient admin, String servers) {
        calls.call("topics", "delete: there is none", "UnknownTopicOrPartitionException",
            () -> admin.deleteTopics(List.of("none")).all().get());
        configs(calls, admin);
        acls(calls, admin);
        quotas(calls, admin);
        users(calls, admin);
        moves(calls, admin);
        groups(calls, admin);
        calls.call("cluster", "describe log folders by broker", Set.of(1, 2, 3),
            () -> admin.describeLogDirs(List.of(1, 2, 3)).allDescriptions().get().keySet());
        calls.call("cluster", "describe features", true,
            () -> admin.describeFeatures().featureMetadata().get().finalizedFeatures().containsKey("metadata.version"));
    }

    private void configs(Calls calls, AdminClient admin) {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, "orders");
        ConfigResource broker = new ConfigResource(ConfigResource.Type.BROKER, "2");
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry("retention.ms", "9000"), AlterConfigOp.OpType.SET);
        AlterConfigOp append = new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND);
        AlterConfigOp delete = new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE);
        AlterConfigOp wrong = new AlterConfigOp(new ConfigEntry("retention.ms", "soon"), AlterConfigOp.OpType.SET);
        AlterConfigOp cleaner = new AlterConfigOp(new ConfigEntry("log.cleaner.threads", "2"), AlterConfigOp.OpType.SET);
        calls.call("configs", "alter", null, () -> admin.incrementalAlterConfigs(Map.of(topic, List.of(set, append))).all().get());
        calls.call("configs", "describe what was altered", List.of("9000", "delete,compact"), () -> {
            var found = admin.describeConfigs(List.of(topic)).all().get().get(topic);
            return List.of(found.get("retention.ms").value(), found.get("cleanup.policy").value());
        });
        calls.call("configs", "where it comes from", ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG,
            () -> admin.describeConfigs(List.of(topic)).all().get().get(topic).get("retention.ms").source());
        calls.call("configs", "remove", null, () -> admin.incrementalAlterConfigs(Map.of(topic, List.of(delete))).all().get());
        calls.call("configs", "alter: wrong value", "InvalidConfigurationException",
            () -> admin.incrementalAlterConfigs(Map.of(topic, List.of(wrong))).all().get());
        calls.call("configs", "alter a broker", null,
            () -> admin.incrementalAlterConfigs(Map.of(broker, List.of(cleaner))).all().get());
        calls.call("configs", "describe the altered broker", "2",
            () -> admin.describeConfigs(List.of(broker)).all().get().get(broker).get("log.cleaner.threads").value());
    }

    private void acls(Calls calls, AdminClient admin) {
        AclBinding binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "ord", PatternType.PREFIXED),
            new AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW));
        AclBinding wrong = new AclBinding(new ResourcePattern(ResourceType.TOPIC, "", PatternType.LITERAL),
            new AccessControlEntry("User:a", "*", AclOperation.ALTER, AclPermissionType.ALLOW));
        calls.call("ACLs", "create", null, () -> admin.createAcls(List.of(binding)).all().get());
        calls.call("ACLs", "create: no name", "InvalidRequestException", () -> admin.createAcls(List.of(wrong)).all().get());
        calls.call("ACLs", "describe", List.of(binding), () -> List.copyOf(admin.describeAcls(AclBindingFilter.ANY).values().get()));
        calls.call("ACLs", "delete", List.of(binding),
            () -> List.copyOf(admin.deleteAcls(List.of(binding.toFilter())).all().get()));
        calls.call("ACLs", "describe: none", 0, () -> admin.describeAcls(AclBindingFilter.ANY).values().get().size());
    }

    private void quotas(Calls calls, AdminClient admin) {
        ClientQuotaEntity alice = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice"));
        ClientQuotaAlteration set = new ClientQuotaAlteration(alice,
            List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0)));
        ClientQuotaAlteration remove = new ClientQuotaAlteration(alice,
            List.of(new ClientQuotaAlteration.Op("producer_byte_rate", null)));
        ClientQuotaAlteration wrong = new ClientQuotaAlteration(alice, List.of(new ClientQuotaAlteration.Op("no_such", 1.0)));
        calls.call("quotas", "alter", null, () -> admin.alterClientQuotas(List.of(set)).all().get());
        calls.call("quotas", "describe", Map.of(alice, Map.of("producer_byte_rate", 1024.0)),
            () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
        calls.call("quotas", "alter: no such key", "InvalidRequestException",
            () -> admin.alterClientQuotas(List.of(wrong)).all().get());
        calls.call("quotas", "remove", null, () -> admin.alterClientQuotas(List.of(remove)).all().get());
        calls.call("quotas", "describe: none", Map.of(),
            () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
    }

    private void users(Calls calls, AdminClient admin) {
        ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        calls.call("users", "alter SCRAM credentials", null,
            () -> admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("carol", info, "secret"))).all().get());
        calls.call("users", "describe SCRAM credentials", List.of(info),
            () -> admin.describeUserScramCredentials().all().get().get("carol").credentialInfos());
        calls.call("users", "remove SCRAM credentials", null, () -> admin
            .alterUserScramCredentials(List.of(new UserScramCredentialDeletion("carol", ScramMechanism.SCRAM_SHA_256)))
            .all().get());
        calls.call("users", "describe SCRAM credentials: none", Set.of(),
            () -> admin.describeUserScramCredentials().all().get().keySet());
    }

    private void moves(Calls calls, AdminClient admin) {
        NewPartitionReassignment move = new NewPartitionReassignment(List.of(3, 1));
        calls.call("moves", "alter reassignments", null,
            () -> admin.alterPartitionReassignments(Map.of(FIRST, Optional.of(move))).all().get());
        calls.call("moves", "list reassignments", 0, () -> admin.listPartitionReassignments().reassignments().get().size());
        calls.call("moves", "cancel: none is there", "NoReassignmentInProgressException",
            () -> admin.alterPartitionReassignments(Map.of(FIRST, Optional.empty())).all().get());
        calls.call("moves", "elect leaders", true,
            () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(FIRST)).partitions().get().containsKey(FIRST));
    }

    private void groups(Calls calls, AdminClient admin) {
        var offset = Map.of(FIRST, new OffsetAndMetadata(0));
        calls.call("groups", "alter offsets", null, () -> admin.alterConsumerGroupOffsets("billing", offset).all().get());
        calls.call("groups", "list", List.of("billing"), () -> admin.listConsumerGroups().all().get().stream()
            .map(group -> group.groupId()).collect(Collectors.toList()));
        calls.call("groups", "describe", "Empty",
            () -> admin.describeConsumerGroups(List.of("billing")).all().get().get("billing").state().toString());
        calls.call("groups", "list offsets", offset,
            () -> admin.listConsumerGroupOffsets("billing").partitionsToOffsetAndMetadata().get());
        calls.call("records", "list offsets", 0L,
            () -> admin.listOffsets(Map.of(FIRST, OffsetSpec.latest())).all().get().get(FIRST).offset());
        calls.call("groups", "delete offsets", null,
            () -> admin.deleteConsumerGroupOffsets("billing", Set.of(FIRST)).all().get());
        calls.call("groups", "alter offsets again", null, () -> admin.alterConsumerGroupOffsets("billing", offset).all().get());
        calls.call("groups", "delete", null, () -> admin.deleteConsumerGroups(List.of("billing")).all().get());
        calls.call("groups", "delete: there is none", "GroupIdNotFoundException",
            () -> admin.deleteConsumerGroups(List.of("billing")).all().get());
    }
}
