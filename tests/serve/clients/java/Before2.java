import java.util.List;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.Resource;
import org.apache.kafka.common.resource.ResourceType;

/** ACLs before they had patterns (KIP-290), and a code that KIP-4 has for topics that are not there. */
public class Before2 implements Scenario.Part {
    @Override
    public void run(Calls calls, AdminClient admin, String servers) {
        AclBinding binding = new AclBinding(new Resource(ResourceType.TOPIC, "orders"),
            new AccessControlEntry("User:a", "*", AclOperation.READ, AclPermissionType.ALLOW));
        calls.call("ACLs", "create", null, () -> admin.createAcls(List.of(binding)).all().get());
        calls.call("ACLs", "describe", List.of(binding), () -> List.copyOf(admin.describeAcls(AclBindingFilter.ANY).values().get()));
        calls.call("ACLs", "delete", List.of(binding),
            () -> List.copyOf(admin.deleteAcls(List.of(binding.toFilter())).all().get()));
        calls.call("ACLs", "describe: none", 0, () -> admin.describeAcls(AclBindingFilter.ANY).values().get().size());
        calls.call("topics", "delete: there is none", "InvalidTopicException",
            () -> admin.deleteTopics(List.of("none")).all().get());
    }
}
