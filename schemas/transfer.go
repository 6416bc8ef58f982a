package schemas

import "strconv"

// Transfer is how the bytes of an attempt came, for people. It stands in the attributes
// of the event that tells how the attempt ended.
type Transfer struct {
	From     int64  // where it went on with what an attempt before had brought, in bytes; 0: it began anew
	Received int64  // bytes that came behind that; told where From is
	Request  string // head of the request that was answered last, in one line, without secrets; empty: the protocol has none
	Response string // head of the answer
}

// The attributes' names, beside attributeReceived.
const (
	attributeFrom     = "resumed_from"
	attributeRequest  = "request_head"
	attributeResponse = "response_head"
)

// maxHead bounds a head that is taken from an event, in bytes: whoever writes them cuts
// them to less.
const maxHead = 2000

// Attributes are the transfer as an event carries it; nil: there is nothing to tell.
func (t Transfer) Attributes() map[string]string {
	out := map[string]string{}
	if t.From > 0 {
		out[attributeFrom], out[attributeReceived] = strconv.FormatInt(t.From, 10), strconv.FormatInt(t.Received, 10)
	}
	if t.Request != "" || t.Response != "" {
		out[attributeRequest], out[attributeResponse] = t.Request, t.Response
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// TransferOf is what an event tells of how an attempt's bytes came.
func TransferOf(e *StatusChanged) Transfer {
	t := Transfer{Request: Cut(e.Attributes[attributeRequest], maxHead), Response: Cut(e.Attributes[attributeResponse], maxHead)}
	from, err := strconv.ParseInt(e.Attributes[attributeFrom], 10, 64)
	if err != nil || from <= 0 {
		return t
	}
	if received, err := strconv.ParseInt(e.Attributes[attributeReceived], 10, 64); err == nil && received >= 0 {
		t.From, t.Received = from, received
	}
	return t
}
