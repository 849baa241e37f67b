"""Requests of every kind for property tests, with awkward names among them."""

from hypothesis import strategies as st

from kgitops.model.requests import (
    AlterBrokerRequest,
    AlterClientQuotaRequest,
    AlterConfigResourceRequest,
    AlterConsumerGroupOffsetsRequest,
    AlterStep,
    AlterTopicRequest,
    AlterUserScramCredentialsRequest,
    CreateAclRequest,
    CreateTopicRequest,
    DeleteAclRequest,
    DeleteConsumerGroupRequest,
    DeleteRecordsRequest,
    DeleteTopicRequest,
)
from kgitops.model.resources.acls import (
    AclBinding,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
)
from kgitops.model.resources.config_resources import ALL_BROKERS, ConfigResourceType
from kgitops.model.resources.groups import TopicOffsets
from kgitops.model.resources.quotas import CLIENT_ID, CLIENT_KEYS, IP, IP_KEYS, USER, make_entity
from kgitops.model.resources.topics import RATES, RequestedTopicState
from kgitops.model.resources.users import GeneratedPassword, PasswordSource, ScramMechanism

# Any text that UTF-8 can carry, the characters beyond the first plane included.
any_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
topic_ids = st.text("abcXYZ019_-", min_size=22, max_size=22)
offsets = st.integers(0, 2**63 - 1)
quota_values = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)

topic_states = st.builds(
    RequestedTopicState,
    name=any_text,
    topic_id=st.none() | topic_ids,
    assignment=st.lists(
        st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=3).map(tuple), max_size=3
    ).map(tuple),
    configs=st.dictionaries(any_text, any_text, max_size=3),
    marked_for_deletion=st.booleans(),
    reassigning=st.booleans(),
    requested_configs=st.dictionaries(any_text, st.none() | any_text, max_size=3),
    generated_replica_assignments=st.booleans(),
)
bindings = st.builds(
    AclBinding,
    resource_type=st.sampled_from(ResourceType),
    resource_name=any_text,
    pattern_type=st.sampled_from(PatternType),
    principal=any_text,
    host=any_text,
    operation=st.sampled_from(Operation),
    permission_type=st.sampled_from(PermissionType),
)
_names = st.none() | any_text
entities = st.one_of(
    _names.map(lambda name: make_entity({IP: name})),
    _names.map(lambda name: make_entity({USER: name})),
    st.tuples(_names, _names).map(lambda pair: make_entity({CLIENT_ID: pair[0], USER: pair[1]})),
)
_commands = st.lists(any_text.filter(bool), min_size=1, max_size=3).map(tuple)
passwords = st.one_of(
    st.builds(PasswordSource, env=any_text),
    st.builds(PasswordSource, file=any_text),
    st.builds(PasswordSource, command=_commands),
    st.builds(
        PasswordSource,
        generate=st.builds(
            GeneratedPassword, length=st.integers(16, 256), file=_names, command=_commands
        ),
    ),
    st.just(PasswordSource()),
)
requests = st.one_of(
    st.builds(CreateTopicRequest, topic=any_text, requested_state=topic_states),
    st.builds(
        AlterTopicRequest,
        topic=any_text,
        topic_id=topic_ids,
        step=st.sampled_from(AlterStep),
        requested_state=topic_states,
    ),
    st.builds(DeleteTopicRequest, topic=any_text, topic_id=topic_ids),
    st.builds(
        DeleteRecordsRequest,
        topic=any_text,
        topic_id=topic_ids,
        deleted_message_offsets=st.dictionaries(st.integers(0, 2**31 - 1), offsets, max_size=3),
    ),
    st.builds(CreateAclRequest, binding=bindings),
    st.builds(DeleteAclRequest, binding=bindings),
    st.builds(
        AlterClientQuotaRequest,
        entity=entities,
        quotas=st.dictionaries(
            st.sampled_from(sorted(CLIENT_KEYS | IP_KEYS)), st.none() | quota_values, max_size=3
        ),
    ),
    st.builds(
        AlterUserScramCredentialsRequest,
        user=any_text,
        mechanism=st.sampled_from(ScramMechanism),
        iterations=st.none() | st.integers(4096, 16384),
        password=st.none() | passwords,
        virtual_cluster=_names,
    ),
    st.builds(
        AlterBrokerRequest,
        broker=st.integers(0, 2**31 - 1),
        configs=st.dictionaries(st.sampled_from(RATES), st.none() | any_text, max_size=2),
    ),
    st.builds(
        AlterConfigResourceRequest,
        resource_type=st.sampled_from(
            [it for it in ConfigResourceType if it is not ConfigResourceType.BROKER]
        ),
        resource_name=any_text,
        configs=st.dictionaries(any_text, st.none() | any_text, max_size=3),
    ),
    st.builds(
        AlterConfigResourceRequest,
        resource_type=st.just(ConfigResourceType.BROKER),
        resource_name=st.just(ALL_BROKERS) | st.integers(0, 2**31 - 1).map(str),
        configs=st.dictionaries(any_text, st.none() | any_text, max_size=3),
    ),
    st.builds(
        AlterConsumerGroupOffsetsRequest,
        group=any_text,
        topics=st.lists(
            st.builds(
                TopicOffsets,
                topic=any_text,
                topic_id=topic_ids,
                offsets=st.dictionaries(st.integers(0, 2**31 - 1), offsets, max_size=3),
            ),
            max_size=2,
        ).map(tuple),
    ),
    st.builds(DeleteConsumerGroupRequest, group=any_text),
)
