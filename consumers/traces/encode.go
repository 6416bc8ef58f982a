package traces

import (
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Bounds of one request.
const (
	maxSpans = 512
	maxBytes = 1 << 20 // of its spans; one span has some 20 KiB at most
)

// request is what is sent at once.
type request struct {
	body  []byte // an ExportTraceServiceRequest
	spans int
}

// requests are spans as they are sent. A TracesData is, byte for byte, the request
// of the collector's protocol, whose generated package would link gRPC.
func requests(version string, all []span) ([]request, error) {
	var out []request
	for len(all) > 0 {
		var spans []*tracepb.Span
		for size := 0; len(spans) < min(len(all), maxSpans) && size < maxBytes; {
			s := all[len(spans)].proto()
			spans = append(spans, s)
			size += proto.Size(s)
		}
		all = all[len(spans):]
		body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
			Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", "tributary"), text("service.version", version)}},
			ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "tributary/consumers/traces"}, Spans: spans}},
		}}})
		if err != nil {
			return nil, err
		}
		out = append(out, request{body: body, spans: len(spans)})
	}
	return out, nil
}

func (s span) proto() *tracepb.Span {
	const sampled = 0x01
	out := &tracepb.Span{
		TraceId: s.trace[:], SpanId: s.id[:], Name: s.name, Kind: tracepb.Span_SPAN_KIND_INTERNAL, Flags: sampled,
		StartTimeUnixNano: uint64(max(0, s.start.UnixNano())), EndTimeUnixNano: uint64(max(0, s.start.UnixNano(), s.end.UnixNano())),
	}
	if s.parent != [8]byte{} {
		out.ParentSpanId = s.parent[:]
	}
	if s.client {
		out.Kind = tracepb.Span_SPAN_KIND_CLIENT
	}
	for _, a := range s.attributes {
		if a.text != "" {
			out.Attributes = append(out.Attributes, text(a.key, a.text))
		} else {
			out.Attributes = append(out.Attributes, &commonpb.KeyValue{Key: a.key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: a.number}}})
		}
	}
	if s.failed != "" {
		out.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.failed}
		out.Attributes = append(out.Attributes, text("error.type", s.failed))
		event := &tracepb.Span_Event{TimeUnixNano: out.GetEndTimeUnixNano(), Name: "exception", Attributes: []*commonpb.KeyValue{text("exception.type", s.failed)}}
		if s.message != "" {
			event.Attributes = append(event.Attributes, text("exception.message", s.message))
		}
		out.Events = []*tracepb.Span_Event{event}
	}
	return out
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}
