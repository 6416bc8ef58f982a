package broker

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The library's decoder counts on for as many tagged fields as a frame says that
// there are, which is minutes for a handful of bytes. So the versions of
// requests that have such fields are served to strangers only where their shape
// is known here: a frame is walked to its end, which takes no longer than its
// bytes, before the decoder sees it.

// field skips one field of a request.
type field func(*kbin.Reader)

// shapeOf is the shape of the body of a request in a version with tagged
// fields; known is false where there is none. Users are served no newer version
// than the newest that is known.
func shapeOf(key kmsg.Key, version int16) (shape []field, known bool) {
	switch key {
	case kmsg.Metadata:
		topic, flags := []field{text}, 3
		if version >= 10 {
			topic = []field{span(16), text}
		}
		if version >= 11 {
			flags = 2
		}
		return []field{structs(topic...), span(flags)}, version <= 13
	case kmsg.OffsetCommit:
		partition := structs(span(4), span(8), span(4), text)
		return []field{text, span(4), text, text, structs(text, partition)}, version <= 9
	case kmsg.OffsetFetch:
		topics := structs(text, list(span(4)))
		switch version {
		case 6:
			return []field{text, topics}, true
		case 7:
			return []field{text, topics, span(1)}, true
		case 8:
			return []field{structs(text, topics), span(1)}, true
		}
		return []field{structs(text, text, span(4), topics), span(1)}, version <= 9
	case kmsg.ListGroups:
		filters := []field{list(text), list(text)}
		return filters[:min(max(version-3, 0), 2)], version <= 5
	case kmsg.ConsumerGroupHeartbeat:
		shape := []field{text, text, span(4), text, text, span(4), list(text)}
		if version >= 1 {
			shape = append(shape, text)
		}
		return append(shape, text, structs(span(16), list(span(4)))), version <= 1
	case kmsg.ConsumerGroupDescribe:
		return []field{list(text), span(1)}, version <= 1
	case kmsg.DescribeCluster:
		return []field{span(int(version) + 1)}, version <= 2
	}
	return nil, false
}

// fits says whether a body has a shape, to its last tagged field.
func fits(shape []field, body []byte) bool {
	r := &kbin.Reader{Src: body}
	for _, skip := range shape {
		skip(r)
	}
	return skipTags(r)
}

// span is a field of so many bytes.
func span(n int) field { return func(r *kbin.Reader) { r.Span(n) } }

// text is a compact string, which may be null.
func text(r *kbin.Reader) {
	if n := r.Uvarint(); n > 1 {
		r.Span(int(n) - 1)
	}
}

// list is a compact array, which may be null, of bare items.
func list(item field) field {
	return func(r *kbin.Reader) {
		for n := r.Uvarint(); n > 1 && r.Ok(); n-- {
			item(r)
		}
	}
}

// structs is a compact array of structures, each with tagged fields at its end.
func structs(fields ...field) field {
	return list(func(r *kbin.Reader) {
		for _, skip := range fields {
			skip(r)
		}
		skipTags(r)
	})
}

// skipTags skips tagged fields. The library's own function goes on for as many
// as a count says, though the bytes have ended.
func skipTags(r *kbin.Reader) bool {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		_, size := r.Uvarint(), r.Uvarint()
		r.Span(int(size))
	}
	return r.Ok()
}
