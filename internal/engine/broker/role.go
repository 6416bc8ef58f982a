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
	// Operator is a reader who also looks after groups, the pipeline's too:
	// sets the offsets of those without members, and deletes them.
	Operator = "operator"
)

// Users are the names of all of them.
func Users() []string { return []string{Reader, Announcer, Operator} }

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

// userKeys are what users may ask for: also what only Kafka's own tools and other
// people's pages ask for. A user who may not have an answer is told so.
func userKeys() []kmsg.Key { return append(ownerKeys(), kmsg.DescribeLogDirs, kmsg.DescribeACLs) }

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
	return &role{name: "owner", keys: keys, largest: sizes{ownerProduce, ownerOther}, judge: func(req kmsg.Request) (bool, *kerr.Error) { return correct(req), sane(req) }}
}

// correct writes a request as the library understands it. It compares types of
// groups letter by letter, where Kafka's own tools ask for "Consumer".
func correct(req kmsg.Request) (changed bool) {
	if req, ok := req.(*kmsg.ListGroupsRequest); ok {
		for i, name := range req.TypesFilter {
			req.TypesFilter[i] = strings.ToLower(name)
		}
		return len(req.TypesFilter) > 0
	}
	return false
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

// readerKeys are what the reader may ask for.
func readerKeys() []kmsg.Key {
	return []kmsg.Key{
		kmsg.ApiVersions, kmsg.Metadata, kmsg.DescribeCluster, kmsg.Fetch, kmsg.ListOffsets, kmsg.OffsetForLeaderEpoch,
		kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.OffsetCommit, kmsg.OffsetFetch,
		kmsg.ConsumerGroupHeartbeat, kmsg.DescribeGroups, kmsg.ConsumerGroupDescribe, kmsg.ListGroups,
	}
}

// reader is the user who reads. groups begins the names of the pipeline's own
// groups, in which it must not take part.
func reader(keys map[int16]versions, groups string) *role {
	return &role{
		name: Reader, keys: keys, largest: sizes{0, userOther}, allowed: setOf(readerKeys()...),
		judge: func(req kmsg.Request) (bool, *kerr.Error) { return readersJudgement(req, groups, false) },
	}
}

// operator is the reader who may ask how the broker is set up, and set offsets
// of groups and delete groups. Those of the pipeline's it takes no part in, as
// the reader; what a member could commit, it can't.
func operator(keys map[int16]versions, groups string) *role {
	return &role{
		name: Operator, keys: keys, largest: sizes{0, userOther},
		allowed: setOf(append(readerKeys(), kmsg.DescribeConfigs, kmsg.DescribeLogDirs, kmsg.DeleteGroups, kmsg.OffsetDelete)...),
		judge:   func(req kmsg.Request) (bool, *kerr.Error) { return readersJudgement(req, groups, true) },
	}
}

// readersJudgement is that of whoever reads; administers is true for who may set
// the offsets of the pipeline's groups.
func readersJudgement(req kmsg.Request, groups string, administers bool) (bool, *kerr.Error) {
	if err := sane(req); err != nil {
		return false, err
	}
	if name, ok := groupOf(req); ok && strings.HasPrefix(name, groups) && !(administers && byNoMember(req)) {
		return false, kerr.GroupAuthorizationFailed
	}
	if f, ok := req.(*kmsg.FetchRequest); ok && f.MaxBytes > userFetch {
		f.MaxBytes = userFetch
		return true, nil
	}
	return correct(req), nil
}

// byNoMember says whether a request sets offsets in nobody's name, as tools do.
// The broker takes it for a group without members only.
func byNoMember(req kmsg.Request) bool {
	c, ok := req.(*kmsg.OffsetCommitRequest)
	return ok && c.MemberID == "" && c.InstanceID == nil && c.Generation < 0
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
	case *kmsg.ConsumerGroupHeartbeatRequest:
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
