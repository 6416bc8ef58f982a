package broker

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The users of the TCP door.
const (
	// Reader reads every topic, and may have groups, though none of the
	// pipeline's.
	Reader = "reader"
	// Announcer writes file.discovered and nothing else.
	Announcer = "announcer"
)

// versions are the least and the newest version of a request that are served.
type versions struct{ least, most int16 }

// role is what whoever is behind a connection may do.
type role struct {
	name string
	// keys are what may be asked; anything else ends the connection.
	keys map[int16]versions
	// allowed are those of keys that reach the library; the others are
	// refused by an answer. nil: all.
	allowed map[int16]bool
	largest sizes
	// judge says why a request is refused, or returns nil. It may lower what
	// the request asks for, and then says so.
	judge func(req kmsg.Request) (changed bool, refusal *kerr.Error)
}

// ownerKeys are what Tributary's roles and commands ask for, and what people
// need to administer topics and groups. What the library has beyond them
// (transactions, share groups, quotas, its own users) can't be reached.
func ownerKeys() []kmsg.Key {
	return []kmsg.Key{
		kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.InitProducerID, kmsg.OffsetForLeaderEpoch,
		kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.OffsetCommit, kmsg.OffsetFetch,
		kmsg.DescribeGroups, kmsg.ListGroups, kmsg.DeleteGroups, kmsg.OffsetDelete, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupDescribe,
		kmsg.ApiVersions, kmsg.DescribeCluster, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.DeleteRecords, kmsg.CreatePartitions,
		kmsg.DescribeConfigs, kmsg.AlterConfigs, kmsg.IncrementalAlterConfigs,
	}
}

func setOf(keys ...kmsg.Key) map[int16]bool {
	out := map[int16]bool{}
	for _, k := range keys {
		out[k.Int16()] = true
	}
	return out
}

// Limits of a connection, in bytes. A client's largest request is what it may
// hold unsent.
const (
	ownerProduce = 96 << 20
	ownerOther   = 1 << 20
	userProduce  = 4 << 20
	userOther    = 256 << 10
	// userFetch is the most that one fetch of a TCP user gets.
	userFetch = 4 << 20
	// mostPartitions is how many partitions one request may make of a topic.
	mostPartitions = 1000
)

func owner(keys map[int16]versions) *role {
	return &role{name: "owner", keys: keys, largest: sizes{ownerProduce, ownerOther}, judge: func(req kmsg.Request) (bool, *kerr.Error) { return false, sane(req) }}
}

// sane refuses what no client needs and the library, made for tests, takes on
// trust: transactions, batches that count their records wrongly, and numbers of
// partitions that fill the memory.
func sane(req kmsg.Request) *kerr.Error {
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		if req.TransactionID != nil {
			return kerr.TransactionalIDAuthorizationFailed
		}
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if _, err := readBatch(p.Records); err != nil {
					return err
				}
			}
		}
	case *kmsg.InitProducerIDRequest:
		if req.TransactionalID != nil {
			return kerr.TransactionalIDAuthorizationFailed
		}
	case *kmsg.JoinGroupRequest:
		return saneJoin(req)
	case *kmsg.CreateTopicsRequest:
		for _, t := range req.Topics {
			if t.NumPartitions > mostPartitions || len(t.ReplicaAssignment) > mostPartitions {
				return kerr.InvalidPartitions
			}
		}
	case *kmsg.CreatePartitionsRequest:
		for _, t := range req.Topics {
			if t.Count > mostPartitions {
				return kerr.InvalidPartitions
			}
		}
	}
	return nil
}

// saneJoin refuses a member without a protocol, or with one twice. The library
// counts who supports each, finds none that all support, and panics.
func saneJoin(req *kmsg.JoinGroupRequest) *kerr.Error {
	seen := map[string]bool{}
	for _, p := range req.Protocols {
		if seen[p.Name] {
			return kerr.InconsistentGroupProtocol
		}
		seen[p.Name] = true
	}
	if len(seen) == 0 {
		return kerr.InconsistentGroupProtocol
	}
	return nil
}

// reader is the user who reads. groups begins the names of the pipeline's own
// groups, in which it must not take part.
func reader(keys map[int16]versions, groups string) *role {
	return &role{
		name: Reader, keys: keys, largest: sizes{0, userOther},
		allowed: setOf(kmsg.ApiVersions, kmsg.Metadata, kmsg.Fetch, kmsg.ListOffsets, kmsg.OffsetForLeaderEpoch,
			kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.OffsetCommit, kmsg.OffsetFetch,
			kmsg.DescribeGroups, kmsg.ListGroups),
		judge: func(req kmsg.Request) (bool, *kerr.Error) {
			if err := sane(req); err != nil {
				return false, err
			}
			if name, ok := groupOf(req); ok && strings.HasPrefix(name, groups) {
				return false, kerr.GroupAuthorizationFailed
			}
			if f, ok := req.(*kmsg.FetchRequest); ok && f.MaxBytes > userFetch {
				f.MaxBytes = userFetch
				return true, nil
			}
			return false, nil
		},
	}
}

// groupOf is the group in which a request takes part.
func groupOf(req kmsg.Request) (string, bool) {
	switch req := req.(type) {
	case *kmsg.JoinGroupRequest:
		return req.Group, true
	case *kmsg.SyncGroupRequest:
		return req.Group, true
	case *kmsg.HeartbeatRequest:
		return req.Group, true
	case *kmsg.LeaveGroupRequest:
		return req.Group, true
	case *kmsg.OffsetCommitRequest:
		return req.Group, true
	}
	return "", false
}

// announcer is the user who writes one topic.
func announcer(keys map[int16]versions, topic string) *role {
	return &role{
		name: Announcer, keys: keys, largest: sizes{userProduce, userOther},
		allowed: setOf(kmsg.ApiVersions, kmsg.Metadata, kmsg.InitProducerID, kmsg.Produce),
		judge: func(req kmsg.Request) (bool, *kerr.Error) {
			if err := sane(req); err != nil {
				return false, err
			}
			p, ok := req.(*kmsg.ProduceRequest)
			if !ok {
				return false, nil
			}
			for _, t := range p.Topics {
				if t.Topic != topic {
					return false, kerr.TopicAuthorizationFailed
				}
				for _, p := range t.Partitions {
					if err := checkRecords(p.Records); err != nil {
						return false, err
					}
				}
			}
			return false, nil
		},
	}
}
