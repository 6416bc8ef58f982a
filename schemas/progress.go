package schemas

import "strconv"

// Progress is how far the transfer of a running download is. It stands in the
// attributes of an event that says that the download is running: whoever does not
// know them reads once more what was said when it began.
type Progress struct {
	Received int64 // bytes of this transfer so far; another transfer of the same attempt counts anew
	Rate     int64 // bytes a second since it was told before, or since the transfer began
}

// The attributes' names.
const (
	attributeReceived = "received"
	attributeRate     = "rate"
)

// Attributes are the progress as an event carries it.
func (p Progress) Attributes() map[string]string {
	return map[string]string{attributeReceived: strconv.FormatInt(p.Received, 10), attributeRate: strconv.FormatInt(p.Rate, 10)}
}

// ProgressOf is the progress that an event tells. ok is false if it tells none, or
// none that can be.
func ProgressOf(e *StatusChanged) (p Progress, ok bool) {
	if e.Entity != EntityDownload || e.Phase != string(Download) || e.Status != string(Running) {
		return p, false
	}
	var err1, err2 error
	p.Received, err1 = strconv.ParseInt(e.Attributes[attributeReceived], 10, 64)
	p.Rate, err2 = strconv.ParseInt(e.Attributes[attributeRate], 10, 64)
	if err1 != nil || err2 != nil || p.Received < 0 || p.Rate < 0 {
		return Progress{}, false
	}
	return p, true
}
