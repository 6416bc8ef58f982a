package plan_test

import (
	"fmt"
	"testing"
	"time"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/test/texts"
)

// TestExtremeNumbers shows that no number and no moment of what plan reads, in whatever field,
// keeps it from what is behind: of announcements, of outcomes of downloads and of archives.
func TestExtremeNumbers(t *testing.T) {
	p := plantest.New(t)
	files := 0
	next := func() string {
		files++
		return fmt.Sprintf("f%d.zip", files)
	}
	finished := func() any { return &schemas.DownloadFinished{} }
	for i := range texts.Extreme(finished) {
		p.Clock = p.Clock.Add(25 * time.Hour) // a server may have asked to be left alone for a day
		j, f := p.RequestedOne(next(), 1)
		whole := plantest.FetchedOf(j, f, "sha-"+f.FileName)
		tc := texts.Extreme(func() any { said := *whole; return &said })[i]
		p.Read(schemas.DownloadFinishedTopic, tc.Body, whole)
		unzipped := func() any { return plantest.UnzippedOf(whole, 2) }
		for _, tc := range texts.Extreme(unzipped) {
			p.Read(schemas.UnzipFinishedTopic, tc.Body)
		}
		p.Read(schemas.UnzipFinishedTopic, unzipped())
	}
	for _, tc := range texts.Extreme(func() any { return p.Look(plantest.Own, "announced.zip", 1, 10) }) {
		p.Read(schemas.FileDiscoveredTopic, tc.Body)
		p.EndPolls()
		if err := p.Dispatch(t.Context(), p.Clock); err != nil {
			t.Fatalf("an announcement with an extreme %s: %v", tc.Field, err)
		}
	}
	// What is sound behind them is reached.
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "sound.zip", 1, 10))
	if got := p.Text("SELECT class FROM control.look JOIN control.file f ON f.id = file WHERE f.name = 'sound.zip'"); got != "(taken)" {
		t.Errorf("the look is %s", got)
	}
}
