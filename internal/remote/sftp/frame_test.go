package sftp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/remote"
)

// packet is a packet of SFTP with its length.
func packet(kind byte, parts ...[]byte) []byte {
	body := append([]byte{kind}, bytes.Join(parts, nil)...)
	return append(number(uint32(len(body))), body...)
}

func number(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func text(s string) []byte { return append(number(uint32(len(s))), s...) }

// The library reads as far as the lengths in a packet say, and panics beyond its
// end: a packet that has less than its type says does not reach it. Nor does
// success, which it takes for what it has asked for, though nothing came with it.
// Below the library panics are recovered, and above it answers are compared, so
// this judging is tested by itself.
func TestPacketsAreJudged(t *testing.T) {
	id, long := number(7), number(1<<31)
	size := binary.BigEndian.AppendUint64(number(attrSize), 5)
	for about, tc := range map[string]struct {
		sent []byte
		want []byte // what the library reads; nil: the session is over
	}{
		"version":                    {packet(fxpVersion, number(3)), packet(fxpVersion, number(3))},
		"half a version":             {packet(fxpVersion, []byte{0, 0}), nil},
		"no id":                      {packet(fxpHandle, []byte{0, 0}), nil},
		"handle":                     {packet(fxpHandle, id, text("h")), packet(fxpHandle, id, text("h"))},
		"no handle":                  {packet(fxpHandle, id), nil},
		"handle beyond the end":      {packet(fxpHandle, id, long, []byte("h")), nil},
		"data":                       {packet(fxpData, id, text("PK")), packet(fxpData, id, text("PK"))},
		"data beyond the end":        {packet(fxpData, id, number(3), []byte("PK")), nil},
		"attributes":                 {packet(fxpAttrs, id, size), packet(fxpAttrs, id, size)},
		"no attributes":              {packet(fxpAttrs, id), nil},
		"attributes that lack":       {packet(fxpAttrs, id, number(attrSize|attrOwner|attrMode|attrTimes), make([]byte, 23)), nil},
		"extended ones that lack":    {packet(fxpAttrs, id, number(attrExtended), number(2), text("a"), text("b")), nil},
		"extended ones without end":  {packet(fxpAttrs, id, number(attrExtended), number(1<<32-1)), nil},
		"names":                      {packet(fxpName, id, number(1), text("a"), text("-"), size), packet(fxpName, id, number(1), text("a"), text("-"), size)},
		"fewer names than it says":   {packet(fxpName, id, number(2), text("a"), text("-"), size), nil},
		"name without attributes":    {packet(fxpName, id, number(1), text("a"), text("-")), nil},
		"name beyond the end":        {packet(fxpName, id, number(1), long, []byte("a")), nil},
		"line beyond the end":        {packet(fxpName, id, number(1), text("a"), long), nil},
		"failure":                    {packet(fxpStatus, id, number(4)), packet(fxpStatus, id, number(4))},
		"status without a code":      {packet(fxpStatus, id), nil},
		"success without what it is": {packet(fxpStatus, id, number(statusOK), text("ok")), packet(fxpStatus, id, number(statusBadMessage), text("ok"))},
	} {
		got, err := io.ReadAll(&frameReader{r: bytes.NewReader(tc.sent)})
		if tc.want == nil {
			if len(got) > 0 || !errors.Is(err, errMalformed) || remote.Exception(err) != "protocol_error" {
				t.Errorf("%s: the library reads %d bytes, %v", about, len(got), err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", about, err, diff)
		}
	}
}

// Where a request can't be sent any more, nobody waits for the answers to those before,
// and a server that gave them has not invented them; it has, where nothing has ended.
func TestAnswersAfterTheEndAreNoFault(t *testing.T) {
	for name, ended := range map[string]bool{"the connection ended": true, "it goes on": false} {
		var f frameReader
		asked := f.own.ask(nil, fxpRead, func(reply) bool { return false })
		answer := packet(fxpStatus, asked[5:9], number(statusOK))
		f.r = bytes.NewReader(append(answer, answer...))
		if ended {
			f.own.fail()
		} else if err := f.next(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.next(); (remote.ClassOf(err) == remote.Protocol) == ended {
			t.Errorf("%s: an answer that nobody waits for is %v", name, err)
		}
	}
}
