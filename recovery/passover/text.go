package passover

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"tributary/schemas"
)

// Message is the event of a decision.
func (j *Judgement) Message(at time.Time) schemas.Message {
	d := j.RecordPassedOver
	return schemas.Message{
		ID: schemas.ID("passed_over", d.SHA256, d.GoesOn, strconv.FormatBool(d.Missing)), Topic: schemas.RecordPassedOverTopic, Key: d.Topic,
		Stage: "topics", Subject: fmt.Sprintf("%s/%d at offset %d", d.Topic, d.Partition, d.Offset), Time: at, Body: &d,
	}
}

// WriteText says what the record is, what is lost, and that it is passed over, or
// would be.
func (j *Judgement) WriteText(w io.Writer, dry bool) error {
	lines := []string{
		fmt.Sprintf("record     %s, partition %d, offset %d, %d bytes", j.Topic, j.Partition, j.Offset, j.Size),
		"sha256     " + j.SHA256,
		"says       " + j.What,
	}
	if j.Stops != "" {
		lines = append(lines, "stops      "+j.Stops)
	} else {
		lines = append(lines, "stops      nobody, as far as the topic tells")
	}
	if j.Genuine != "" {
		lines = append(lines, "given      by control: "+j.Genuine, "goes on    with a record that names "+j.GoesOn)
	}
	lines = append(lines, "lost       "+j.Lost)
	if j.Applied && !j.Missing {
		lines = append(lines, "applied    by the live warehouse, which holds it until it is made anew: tributary warehouse rebuild")
	}
	done := fmt.Sprintf("passed over by %s: %s", j.By, j.Reason)
	if dry {
		done = "would be passed over; nothing was decided"
	}
	for _, l := range append(lines, done) {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	return nil
}
