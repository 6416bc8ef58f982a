package broker

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// userVersions leaves the versions that strangers may send: those without
// tagged fields, which every client since Kafka 2.1 has, and those with tagged
// fields whose shape is known (shape.go).
func userVersions(keys map[int16]versions) map[int16]versions {
	out := map[int16]versions{}
	for key, v := range keys {
		req := kmsg.RequestForKey(key)
		for ; v.most >= v.least; v.most-- {
			_, known := shapeOf(kmsg.Key(key), v.most)
			if req.SetVersion(v.most); known || !req.IsFlexible() || key == int16(kmsg.ApiVersions) {
				out[key] = v
				break
			}
		}
	}
	return out
}

// versions answers what may be asked for, and in which versions.
func (d *door) versions(req *kmsg.ApiVersionsRequest, r *role) kmsg.Response {
	resp := *d.hello
	resp.Version = req.Version
	resp.ApiKeys = nil
	resp.SupportedFeatures, resp.FinalizedFeatures = trueFeatures(d.hello, req.Version)
	keys := map[int16]versions{}
	for key, v := range r.keys {
		keys[key] = v
	}
	if r != d.owner {
		for key, v := range loginKeys() {
			if key != int16(kmsg.ApiVersions) {
				keys[key] = v
			}
		}
	}
	if own := keys[int16(kmsg.ApiVersions)]; req.Version > own.most || req.Version < 0 {
		resp.Version, resp.ErrorCode = 0, kerr.UnsupportedVersion.Code
		keys = map[int16]versions{int16(kmsg.ApiVersions): own}
	}
	for key, v := range keys {
		resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MinVersion: v.least, MaxVersion: v.most})
	}
	return &resp
}

// trueFeatures leaves the features that are served here: the consumer protocol
// of groups, and not transactions or share groups, which the library tells of
// too. A feature whose least version is 0 is told from version 4 on: older
// clients end at it (Kafka's own of 3.6 and before 3.8.1).
func trueFeatures(hello *kmsg.ApiVersionsResponse, version int16) (supported []kmsg.ApiVersionsResponseSupportedFeature, finalized []kmsg.ApiVersionsResponseFinalizedFeature) {
	served := func(name string) bool { return name == "metadata.version" || name == "group.version" }
	for _, f := range hello.SupportedFeatures {
		if served(f.Name) && (f.MinVersion > 0 || version >= 4) {
			supported = append(supported, f)
		}
	}
	for _, f := range hello.FinalizedFeatures {
		if served(f.Name) {
			finalized = append(finalized, f)
		}
	}
	return supported, finalized
}
