package report

import (
	"strconv"
	"time"
)

// Speed is how many bytes a second the attempt brought, without those of attempts before
// it, from its beginning to its end; 0: none, or nobody knows.
func (a Attempt) Speed() int64 {
	ended := a.Received
	if ended == nil && len(a.Log) > 0 {
		ended = &a.Log[0].At
	}
	if a.Started == nil || ended == nil {
		return 0
	}
	took := ended.Sub(*a.Started)
	if took < time.Millisecond { // more exact than clocks of members are
		return 0
	}
	came := a.Bytes
	if a.Received != nil && a.From != nil {
		came -= *a.From
	}
	return int64(float64(max(came, 0)) / took.Seconds())
}

// speedText is a speed for people; empty: nobody knows.
func speedText(speed int64) string {
	if speed == 0 {
		return ""
	}
	return strconv.FormatInt(speed, 10)
}
