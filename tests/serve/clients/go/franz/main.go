// The calls of franz-go and its administrative client kadm.
package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	. "kgitops-serve-clients/calls"
)

const patience = 20 * time.Second

var ctx = context.Background()

func main() {
	servers := strings.Split(os.Args[1], ",")
	client, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.RetryTimeout(patience))
	if err != nil {
		panic(err)
	}
	admin := kadm.NewClient(client)
	cluster(admin)
	topics(admin)
	configs(admin)
	acls(admin)
	quotas(admin)
	users(admin)
	moves(admin)
	records(admin, servers)
	groups(admin)
	Call("topics", "delete", nil, func() (any, error) { return one(admin.DeleteTopic(ctx, "orders")) })
	Call("topics", "delete: there is none", "UNKNOWN_TOPIC_OR_PARTITION", func() (any, error) { return one(admin.DeleteTopic(ctx, "orders")) })
}

// one is for calls about one thing whose row has an error of its own.
func one(row any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	switch found := row.(type) {
	case kadm.CreateTopicResponse:
		return Done(found.Err)
	case kadm.DeleteTopicResponse:
		return Done(found.Err)
	}
	return nil, nil
}

func cluster(admin *kadm.Client) {
	Call("cluster", "describe: brokers", 3, func() (any, error) {
		found, err := admin.BrokerMetadata(ctx)
		return len(found.Brokers), err
	})
	Call("cluster", "API versions", 3, func() (any, error) {
		found, err := admin.ApiVersions(ctx)
		return len(found), err
	})
	Call("cluster", "describe log folders", 3, func() (any, error) {
		found, err := admin.DescribeAllLogDirs(ctx, nil)
		return len(found), err
	})
}

func topics(admin *kadm.Client) {
	retention := "7000"
	Call("topics", "create", nil, func() (any, error) {
		return one(admin.CreateTopic(ctx, 2, 2, map[string]*string{"retention.ms": &retention}, "orders"))
	})
	Call("topics", "create: it exists", "TOPIC_ALREADY_EXISTS", func() (any, error) { return one(admin.CreateTopic(ctx, 2, 2, nil, "orders")) })
	Call("topics", "create, judged only", nil, func() (any, error) {
		found, err := admin.ValidateCreateTopics(ctx, 1, 1, nil, "judged")
		if err != nil {
			return nil, err
		}
		return Done(found["judged"].Err)
	})
	Call("topics", "create partitions", nil, func() (any, error) {
		found, err := admin.CreatePartitions(ctx, 1, "orders")
		if err != nil {
			return nil, err
		}
		return Done(found["orders"].Err)
	})
	Call("topics", "list", 3, func() (any, error) {
		found, err := admin.ListTopics(ctx)
		return len(found["orders"].Partitions), err
	})
}

func configs(admin *kadm.Client) {
	set, wrong := "9000", "soon"
	described := func() (any, error) {
		found, err := admin.DescribeTopicConfigs(ctx, "orders")
		if err != nil {
			return nil, err
		}
		for _, config := range found[0].Configs {
			if config.Key == "retention.ms" {
				return config.MaybeValue(), nil
			}
		}
		return len(found[0].Configs), nil
	}
	alter := func(value *string) (any, error) {
		found, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: value}}, "orders")
		if err != nil {
			return nil, err
		}
		return Done(found[0].Err)
	}
	Call("configs", "describe", "7000", described)
	Call("configs", "alter", nil, func() (any, error) { return alter(&set) })
	Call("configs", "describe what was altered", "9000", described)
	Call("configs", "alter: wrong value", "INVALID_CONFIG", func() (any, error) { return alter(&wrong) })
	Call("configs", "describe a broker", true, func() (any, error) {
		found, err := admin.DescribeBrokerConfigs(ctx, 2)
		if err != nil {
			return nil, err
		}
		return len(found[0].Configs) > 20, nil
	})
}

func acls(admin *kadm.Client) {
	binding := kadm.NewACLs().Topics("ord").ResourcePatternType(kadm.ACLPatternPrefixed).
		Allow("User:a").AllowHosts("*").Operations(kadm.OpRead)
	Call("ACLs", "create", nil, func() (any, error) {
		found, err := admin.CreateACLs(ctx, binding)
		if err != nil {
			return nil, err
		}
		return Done(found[0].Err)
	})
	Call("ACLs", "describe", 1, func() (any, error) {
		found, err := admin.DescribeACLs(ctx, binding)
		if err != nil {
			return nil, err
		}
		return len(found[0].Described), found[0].Err
	})
	Call("ACLs", "delete", 1, func() (any, error) {
		found, err := admin.DeleteACLs(ctx, binding)
		if err != nil {
			return nil, err
		}
		return len(found[0].Deleted), found[0].Err
	})
}

func quotas(admin *kadm.Client) {
	name := "alice"
	alice := kadm.ClientQuotaEntity{{Type: "user", Name: &name}}
	alter := func(op kadm.AlterClientQuotaOp) (any, error) {
		found, err := admin.AlterClientQuotas(ctx, []kadm.AlterClientQuotaEntry{{Entity: alice, Ops: []kadm.AlterClientQuotaOp{op}}})
		if err != nil {
			return nil, err
		}
		return Done(found[0].Err)
	}
	Call("quotas", "alter", nil, func() (any, error) { return alter(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Value: 1024}) })
	Call("quotas", "describe", 1024.0, func() (any, error) {
		component := kadm.DescribeClientQuotaComponent{Type: "user", MatchType: kmsg.QuotasMatchTypeExact, MatchName: &name}
		found, err := admin.DescribeClientQuotas(ctx, true, []kadm.DescribeClientQuotaComponent{component})
		if err != nil || len(found) == 0 {
			return len(found), err
		}
		return found[0].Values[0].Value, nil
	})
	Call("quotas", "remove", nil, func() (any, error) { return alter(kadm.AlterClientQuotaOp{Key: "producer_byte_rate", Remove: true}) })
}

func users(admin *kadm.Client) {
	Call("users", "alter SCRAM credentials", nil, func() (any, error) {
		carol := kadm.UpsertSCRAM{User: "carol", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: "secret"}
		found, err := admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{carol})
		if err != nil {
			return nil, err
		}
		return Done(found["carol"].Err)
	})
	Call("users", "describe SCRAM credentials", int32(4096), func() (any, error) {
		found, err := admin.DescribeUserSCRAMs(ctx, "carol")
		if err != nil || len(found["carol"].CredInfos) == 0 {
			return len(found), err
		}
		return found["carol"].CredInfos[0].Iterations, nil
	})
	Call("users", "remove SCRAM credentials", nil, func() (any, error) {
		found, err := admin.AlterUserSCRAMs(ctx, []kadm.DeleteSCRAM{{User: "carol", Mechanism: kadm.ScramSha256}}, nil)
		if err != nil {
			return nil, err
		}
		return Done(found["carol"].Err)
	})
}

func moves(admin *kadm.Client) {
	Call("moves", "alter reassignments", nil, func() (any, error) {
		var request kadm.AlterPartitionAssignmentsReq
		request.Assign("orders", 0, []int32{3, 1})
		found, err := admin.AlterPartitionAssignments(ctx, request)
		if err != nil {
			return nil, err
		}
		return Done(found.Error())
	})
	Call("moves", "list reassignments", 0, func() (any, error) {
		found, err := admin.ListPartitionReassignments(ctx, nil)
		return len(found), err
	})
	Call("moves", "elect leaders", true, func() (any, error) {
		var topics kadm.TopicsSet
		topics.Add("orders", 0)
		found, err := admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, topics)
		return len(found) > 0, err
	})
}

func records(admin *kadm.Client, servers []string) {
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "data"); err != nil {
		panic(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.TransactionalID("tx"), kgo.RecordDeliveryTimeout(patience))
	if err != nil {
		panic(err)
	}
	defer producer.Close()
	plain, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.RecordDeliveryTimeout(patience))
	if err != nil {
		panic(err)
	}
	defer plain.Close()
	Call("records", "produce", int64(1), func() (any, error) {
		results := plain.ProduceSync(ctx, record("one"), record("two"))
		if err := results.FirstErr(); err != nil {
			return nil, err
		}
		return results[1].Record.Offset, nil
	})
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		name, value := "abort", "aborted"
		if end == kgo.TryCommit {
			name, value = "commit", "three"
		}
		Call("transactions", name, nil, func() (any, error) {
			within, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := producer.BeginTransaction(); err != nil {
				return nil, err
			}
			if err := producer.ProduceSync(within, record(value)).FirstErr(); err != nil {
				return nil, err
			}
			return Done(producer.EndTransaction(within, end))
		})
	}
	Call("transactions", "list", 1, func() (any, error) {
		found, err := admin.ListTransactions(ctx, nil, nil)
		return len(found), err
	})
	Call("groups", "consume in a group, what is committed", []string{"one", "two", "three"}, func() (any, error) {
		within, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		consumer, err := kgo.NewClient(kgo.SeedBrokers(servers...), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("data"),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableAutoCommit())
		if err != nil {
			return nil, err
		}
		defer consumer.Close()
		values := []string{}
		for len(values) < 3 && within.Err() == nil {
			consumer.PollFetches(within).EachRecord(func(found *kgo.Record) { values = append(values, string(found.Value)) })
		}
		if err := consumer.CommitUncommittedOffsets(within); err != nil {
			return nil, err
		}
		return values, nil
	})
	Call("records", "offsets of a time", int64(0), func() (any, error) {
		found, err := admin.ListOffsetsAfterMilli(ctx, 1, "data")
		if err != nil {
			return nil, err
		}
		offset, _ := found.Lookup("data", 0)
		return offset.Offset, offset.Err
	})
	Call("records", "delete", nil, func() (any, error) {
		var offsets kadm.Offsets
		offsets.AddOffset("data", 0, 1, -1)
		found, err := admin.DeleteRecords(ctx, offsets)
		if err != nil {
			return nil, err
		}
		return Done(found.Error())
	})
	Call("records", "first offset", int64(1), func() (any, error) {
		found, err := admin.ListStartOffsets(ctx, "data")
		if err != nil {
			return nil, err
		}
		offset, _ := found.Lookup("data", 0)
		return offset.Offset, offset.Err
	})
}

func groups(admin *kadm.Client) {
	Call("groups", "list", []string{"readers"}, func() (any, error) {
		found, err := admin.ListGroups(ctx)
		return found.Groups(), err
	})
	Call("groups", "describe", "Empty", func() (any, error) {
		found, err := admin.DescribeGroups(ctx, "readers")
		if err != nil {
			return nil, err
		}
		return found["readers"].State, found["readers"].Err
	})
	Call("groups", "list offsets", true, func() (any, error) {
		found, err := admin.FetchOffsets(ctx, "readers")
		if err != nil {
			return nil, err
		}
		offset, _ := found.Lookup("data", 0)
		return offset.At > 2, offset.Err
	})
	Call("groups", "delete", nil, func() (any, error) {
		found, err := admin.DeleteGroup(ctx, "readers")
		if err != nil {
			return nil, err
		}
		return Done(found.Err)
	})
	Call("groups", "delete: there is none", kerr.GroupIDNotFound.Message, func() (any, error) {
		found, err := admin.DeleteGroup(ctx, "readers")
		if err != nil {
			return nil, err
		}
		return Done(found.Err)
	})
}

func record(value string) *kgo.Record { return &kgo.Record{Topic: "data", Value: []byte(value)} }
