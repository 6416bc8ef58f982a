package broker

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refuse is the answer to a request that is not carried out: the code stands
// wherever the protocol has a place for it, for all that was asked about. nil:
// the sender expects no answer.
func refuse(req kmsg.Request, why *kerr.Error) kmsg.Response {
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return nil
	}
	resp := req.ResponseKind()
	fill(reflect.ValueOf(resp).Elem(), reflect.ValueOf(req).Elem(), why)
	return resp
}

// refusal is the code for a request that a user may not make.
func refusal(req kmsg.Request) *kerr.Error {
	switch kmsg.Key(req.Key()) {
	case kmsg.DeleteGroups, kmsg.OffsetDelete, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.OffsetCommit,
		kmsg.OffsetFetch, kmsg.DescribeGroups, kmsg.ListGroups, kmsg.FindCoordinator, kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupDescribe:
		return kerr.GroupAuthorizationFailed
	case kmsg.InitProducerID, kmsg.DescribeCluster, kmsg.DescribeLogDirs:
		return kerr.ClusterAuthorizationFailed
	case kmsg.DescribeACLs: // what users may is no list that could be shown: as Kafka answers without an authorizer
		return kerr.SecurityDisabled
	}
	return kerr.TopicAuthorizationFailed
}

// fill sets the error in an answer, or in one of its parts, and names there
// what the same part of the request names: fields of both are called alike.
func fill(answer, asked reflect.Value, why *kerr.Error) {
	for i := range answer.NumField() {
		field, name := answer.Field(i), answer.Type().Field(i).Name
		switch name {
		case "Version", "UnknownTags":
		case "ErrorCode":
			field.SetInt(int64(why.Code))
		case "ErrorMessage":
			field.Set(reflect.ValueOf(&why.Description))
		default:
			if from := sameField(asked, name); from.IsValid() {
				fillField(field, from, why)
			}
		}
	}
}

// sameField is the field of a part of a request that an answer calls name.
func sameField(asked reflect.Value, name string) reflect.Value {
	if asked.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	// Old versions of DeleteTopics call their topics so.
	if names := asked.FieldByName("TopicNames"); name == "Topics" && names.IsValid() && names.Len() > 0 {
		return names
	}
	return asked.FieldByName(name)
}

func fillField(to, from reflect.Value, why *kerr.Error) {
	if to.Type() == from.Type() {
		to.Set(from)
		return
	}
	if to.Kind() != reflect.Slice || from.Kind() != reflect.Slice || to.Type().Elem().Kind() != reflect.Struct {
		return
	}
	for i := range from.Len() {
		part := reflect.New(to.Type().Elem())
		if d, ok := part.Interface().(interface{ Default() }); ok {
			d.Default()
		}
		if from.Index(i).Kind() == reflect.Struct {
			fill(part.Elem(), from.Index(i), why)
		} else {
			fill(part.Elem(), reflect.Value{}, why)
			name(part.Elem(), from.Index(i))
		}
		to.Set(reflect.Append(to, part.Elem()))
	}
}

// name puts a bare name or number of a request into the first field of the
// answer's part that can hold it, which the protocol has for it.
func name(part, bare reflect.Value) {
	for i := range part.NumField() {
		field := part.Field(i)
		switch {
		case part.Type().Field(i).Name == "ErrorCode":
		case field.Type() == bare.Type():
			field.Set(bare)
			return
		case field.Type() == reflect.PointerTo(bare.Type()):
			p := reflect.New(bare.Type())
			p.Elem().Set(bare)
			field.Set(p)
			return
		}
	}
}
