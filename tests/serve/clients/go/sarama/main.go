// The calls of sarama, which the Terraform provider for Kafka uses as well.
package main

import (
	"context"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/IBM/sarama"

	. "kgitops-serve-clients/calls"
)

const patience = 20 * time.Second

func main() {
	servers := strings.Split(os.Args[1], ",")
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Return.Successes = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	admin, err := sarama.NewClusterAdmin(servers, config)
	if err != nil {
		Call("cluster", "connect", nil, func() (any, error) { return Done(err) })
		return
	}
	topics(admin)
	configs(admin)
	acls(admin)
	quotas(admin)
	users(admin)
	moves(admin)
	records(admin, servers, config)
	Call("topics", "delete", nil, func() (any, error) { return Done(admin.DeleteTopic("orders")) })
	Call("topics", "delete: there is none", "does not exist", func() (any, error) { return Done(admin.DeleteTopic("orders")) })
}

func topics(admin sarama.ClusterAdmin) {
	value := "7000"
	orders := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 2, ConfigEntries: map[string]*string{"retention.ms": &value}}
	Call("cluster", "describe: brokers", 3, func() (any, error) {
		brokers, _, err := admin.DescribeCluster()
		return len(brokers), err
	})
	Call("cluster", "controller", true, func() (any, error) {
		broker, err := admin.Controller()
		return broker != nil && broker.ID() > 0, err
	})
	Call("topics", "create", nil, func() (any, error) { return Done(admin.CreateTopic("orders", orders, false)) })
	Call("topics", "create: it exists", "already exists", func() (any, error) { return Done(admin.CreateTopic("orders", orders, false)) })
	Call("topics", "create, judged only", nil, func() (any, error) { return Done(admin.CreateTopic("judged", orders, true)) })
	Call("topics", "list", "orders 2 2 7000", func() (any, error) {
		found, err := admin.ListTopics()
		if err != nil {
			return nil, err
		}
		text := ""
		for name, detail := range found {
			text += name + " " + string(rune('0'+detail.NumPartitions)) + " " + string(rune('0'+detail.ReplicationFactor)) + " " + *detail.ConfigEntries["retention.ms"]
		}
		return text, nil
	})
	Call("topics", "create partitions", nil, func() (any, error) { return Done(admin.CreatePartitions("orders", 3, nil, false)) })
	Call("topics", "describe", 3, func() (any, error) {
		found, err := admin.DescribeTopics([]string{"orders"})
		if err != nil {
			return nil, err
		}
		return len(found[0].Partitions), nil
	})
}

func configs(admin sarama.ClusterAdmin) {
	set, wrong := "9000", "soon"
	described := func() (any, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: "orders"})
		for _, entry := range entries {
			if entry.Name == "retention.ms" {
				return entry.Value, err
			}
		}
		return len(entries), err
	}
	Call("configs", "describe", "7000", described)
	Call("configs", "alter", nil, func() (any, error) {
		change := map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &set}}
		return Done(admin.IncrementalAlterConfig(sarama.TopicResource, "orders", change, false))
	})
	Call("configs", "describe what was altered", "9000", described)
	Call("configs", "alter: wrong value", "Configuration is invalid", func() (any, error) {
		change := map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &wrong}}
		return Done(admin.IncrementalAlterConfig(sarama.TopicResource, "orders", change, false))
	})
	Call("configs", "alter (AlterConfigs)", nil, func() (any, error) {
		return Done(admin.AlterConfig(sarama.TopicResource, "orders", map[string]*string{"retention.ms": &set}, false))
	})
	Call("configs", "describe a broker", true, func() (any, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.BrokerResource, Name: "2"})
		return len(entries) > 20, err
	})
}

func acls(admin sarama.ClusterAdmin) {
	topic := sarama.Resource{ResourceType: sarama.AclResourceTopic, ResourceName: "ord", ResourcePatternType: sarama.AclPatternPrefixed}
	entry := sarama.Acl{Principal: "User:a", Host: "*", Operation: sarama.AclOperationRead, PermissionType: sarama.AclPermissionAllow}
	all := sarama.AclFilter{ResourceType: sarama.AclResourceAny, ResourcePatternTypeFilter: sarama.AclPatternAny,
		Operation: sarama.AclOperationAny, PermissionType: sarama.AclPermissionAny}
	Call("ACLs", "create", nil, func() (any, error) { return Done(admin.CreateACL(topic, entry)) })
	Call("ACLs", "describe", 1, func() (any, error) {
		found, err := admin.ListAcls(all)
		return len(found), err
	})
	Call("ACLs", "delete", 1, func() (any, error) {
		found, err := admin.DeleteACL(all, false)
		return len(found), err
	})
}

func quotas(admin sarama.ClusterAdmin) {
	alice := []sarama.QuotaEntityComponent{{EntityType: sarama.QuotaEntityUser, MatchType: sarama.QuotaMatchExact, Name: "alice"}}
	Call("quotas", "alter", nil, func() (any, error) {
		return Done(admin.AlterClientQuotas(alice, sarama.ClientQuotasOp{Key: "producer_byte_rate", Value: 1024}, false))
	})
	Call("quotas", "describe", 1024.0, func() (any, error) {
		found, err := admin.DescribeClientQuotas([]sarama.QuotaFilterComponent{}, false)
		if err != nil || len(found) == 0 {
			return len(found), err
		}
		return found[0].Values["producer_byte_rate"], nil
	})
	Call("quotas", "remove", nil, func() (any, error) {
		return Done(admin.AlterClientQuotas(alice, sarama.ClientQuotasOp{Key: "producer_byte_rate", Remove: true}, false))
	})
}

func users(admin sarama.ClusterAdmin) {
	carol := []sarama.AlterUserScramCredentialsUpsert{{Name: "carol", Mechanism: sarama.SCRAM_MECHANISM_SHA_256,
		Iterations: 4096, Salt: []byte("salt"), Password: []byte("secret")}}
	Call("users", "alter SCRAM credentials", nil, func() (any, error) {
		found, err := admin.UpsertUserScramCredentials(carol)
		if err == nil && found[0].ErrorCode != sarama.ErrNoError {
			err = found[0].ErrorCode
		}
		return Done(err)
	})
	Call("users", "describe SCRAM credentials", int32(4096), func() (any, error) {
		found, err := admin.DescribeUserScramCredentials([]string{"carol"})
		if err != nil || len(found) == 0 || len(found[0].CredentialInfos) == 0 {
			return len(found), err
		}
		return found[0].CredentialInfos[0].Iterations, nil
	})
	Call("users", "remove SCRAM credentials", sarama.ErrNoError, func() (any, error) {
		found, err := admin.DeleteUserScramCredentials([]sarama.AlterUserScramCredentialsDelete{{Name: "carol", Mechanism: sarama.SCRAM_MECHANISM_SHA_256}})
		if err != nil {
			return nil, err
		}
		return found[0].ErrorCode, nil
	})
}

func moves(admin sarama.ClusterAdmin) {
	Call("moves", "alter reassignments", nil, func() (any, error) {
		return Done(admin.AlterPartitionReassignments("orders", [][]int32{{1, 2}, {2, 3}, {3, 1}}))
	})
	Call("moves", "list reassignments", 0, func() (any, error) {
		found, err := admin.ListPartitionReassignments("orders", []int32{0, 1, 2})
		return len(found["orders"]), err
	})
	Call("moves", "elect leaders", true, func() (any, error) {
		found, err := admin.ElectLeaders(sarama.PreferredElection, map[string][]int32{"orders": {0}})
		return len(found) > 0, err
	})
	Call("cluster", "describe log folders", 2, func() (any, error) {
		found, err := admin.DescribeLogDirs([]int32{1, 2})
		return len(found), err
	})
}

func records(admin sarama.ClusterAdmin, servers []string, config *sarama.Config) {
	detail := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}
	if err := admin.CreateTopic("data", detail, false); err != nil {
		panic(err)
	}
	Call("records", "produce", int64(1), func() (any, error) {
		producer, err := sarama.NewSyncProducer(servers, config)
		if err != nil {
			return nil, err
		}
		defer producer.Close()
		var offset int64
		for _, value := range []string{"one", "two"} {
			if _, offset, err = producer.SendMessage(message(value)); err != nil {
				return nil, err
			}
		}
		return offset, nil
	})
	transactions(servers, config)
	Call("groups", "consume in a group, what is committed", []string{"one", "two", "three"}, func() (any, error) { return consume(servers, config) })
	Call("groups", "list", []string{"readers"}, func() (any, error) {
		found, err := admin.ListConsumerGroups()
		names := []string{}
		for name := range found {
			names = append(names, name)
		}
		sort.Strings(names)
		return names, err
	})
	Call("groups", "describe", "Empty", func() (any, error) {
		found, err := admin.DescribeConsumerGroups([]string{"readers"})
		if err != nil {
			return nil, err
		}
		return found[0].State, nil
	})
	Call("groups", "list offsets", true, func() (any, error) {
		found, err := admin.ListConsumerGroupOffsets("readers", map[string][]int32{"data": {0}})
		if err != nil {
			return nil, err
		}
		return found.GetBlock("data", 0).Offset > 2, nil
	})
	Call("groups", "delete offsets", nil, func() (any, error) { return Done(admin.DeleteConsumerGroupOffset("readers", "data", 0)) })
	Call("groups", "delete", nil, func() (any, error) { return Done(admin.DeleteConsumerGroup("readers")) })
	Call("records", "offset of a time", int64(0), func() (any, error) {
		client, err := sarama.NewClient(servers, config)
		if err != nil {
			return nil, err
		}
		defer client.Close()
		return client.GetOffset("data", 0, 1)
	})
	Call("records", "delete", nil, func() (any, error) { return Done(admin.DeleteRecords("data", map[int32]int64{0: 1})) })
}

func transactions(servers []string, config *sarama.Config) {
	own := *config
	own.Producer.Idempotent = true
	own.Producer.RequiredAcks = sarama.WaitForAll
	own.Producer.Transaction.ID = "tx"
	own.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(servers, &own)
	if err != nil {
		Call("transactions", "begin", nil, func() (any, error) { return Done(err) })
		return
	}
	defer producer.Close()
	for _, committed := range []bool{false, true} {
		name, value, end := "abort", "aborted", producer.AbortTxn
		if committed {
			name, value, end = "commit", "three", producer.CommitTxn
		}
		Call("transactions", name, nil, func() (any, error) {
			if err := producer.BeginTxn(); err != nil {
				return nil, err
			}
			if _, _, err := producer.SendMessage(message(value)); err != nil {
				return nil, err
			}
			return Done(end())
		})
	}
}

func message(value string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: "data", Value: sarama.StringEncoder(value)}
}

type reader struct {
	values []string
	end    context.CancelFunc
}

func (*reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case found, open := <-claim.Messages():
			if !open {
				return nil
			}
			r.values = append(r.values, string(found.Value))
			session.MarkMessage(found, "")
			if len(r.values) == 3 {
				session.Commit()
				r.end()
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func consume(servers []string, config *sarama.Config) (any, error) {
	own := *config
	own.Consumer.IsolationLevel = sarama.ReadCommitted
	group, err := sarama.NewConsumerGroup(servers, "readers", &own)
	if err != nil {
		return nil, err
	}
	defer group.Close()
	within, end := context.WithTimeout(context.Background(), patience)
	defer end()
	found := &reader{end: end}
	for within.Err() == nil {
		if err := group.Consume(within, []string{"data"}, found); err != nil && within.Err() == nil {
			return nil, err
		}
	}
	return found.values, nil
}
