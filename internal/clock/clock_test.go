package clock_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/clock"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// poll is a find of an hourly poll: a file that the server writes halfway between.
func poll(ahead time.Duration, grew bool) clock.Find {
	return clock.Sighting(noon.Add(-30*time.Minute+ahead), time.Second, noon.Add(-time.Hour), noon, grew)
}

func TestBoundsOfAClock(t *testing.T) {
	for name, tt := range map[string]struct {
		finds  []clock.Find
		shows  time.Duration
		told   *clock.Bounds
		guess  time.Duration
		skewed bool
	}{
		"nothing is known":                  {},
		"right":                             {finds: repeat(poll(0, false), 5)},
		"right, by files that grew":         {finds: repeat(poll(0, true), 5)},
		"ahead":                             {finds: repeat(poll(3*time.Hour, false), 3), guess: 150 * time.Minute, skewed: true},
		"ahead, said by two":                {finds: repeat(poll(3*time.Hour, false), 2)},
		"a file of the future":              {finds: append(repeat(poll(0, false), 4), poll(12*365*24*time.Hour, false))},
		"files that brought their times":    {finds: repeat(poll(-90*24*time.Hour, false), 16)},
		"behind, by files that grew":        {finds: repeat(poll(-3*time.Hour, true), 3), guess: -150*time.Minute + time.Second, skewed: true},
		"behind and ahead by little":        {finds: repeat(clock.Find{Least: 2 * time.Minute, Most: 3 * time.Minute}, 9), guess: 2 * time.Minute},
		"times of a zone":                   {finds: repeat(poll(3*time.Hour, false), 3), shows: time.Minute, guess: 150 * time.Minute},
		"no zone is that far":               {finds: repeat(poll(48*time.Hour, false), 3), shows: time.Minute, guess: 47*time.Hour + 30*time.Minute, skewed: true},
		"set back":                          {finds: append(repeat(poll(3*time.Hour, false), 16), repeat(poll(0, false), 3)...)},
		"set back, said by two":             {finds: append(repeat(poll(3*time.Hour, false), 9), repeat(poll(0, false), 2)...), guess: 150 * time.Minute, skewed: true},
		"set right, after it was behind":    {finds: append(repeat(poll(-3*time.Hour, true), 9), repeat(poll(0, false), 3)...)},
		"set forward":                       {finds: append(repeat(poll(0, false), 16), repeat(poll(3*time.Hour, false), 3)...), guess: 150 * time.Minute, skewed: true},
		"what it tells counts before files": {finds: repeat(poll(3*time.Hour, false), 9), shows: time.Minute, told: bounds(-time.Hour, -time.Hour+time.Second), guess: -time.Hour + time.Second, skewed: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := clock.Clock{Precision: tt.shows, Told: tt.told}
			for _, f := range tt.finds {
				c.Found(f)
			}
			if len(c.Finds) > 16 {
				t.Errorf("%d finds are kept", len(c.Finds))
			}
			if got := c.Guess(); got != tt.guess {
				t.Errorf("guessed %s, want %s", got, tt.guess)
			}
			if by, skewed := c.Skewed(); skewed != tt.skewed {
				t.Errorf("skewed %v by %s, want %v", skewed, by, tt.skewed)
			}
		})
	}
}

func repeat(f clock.Find, n int) (out []clock.Find) {
	for range n {
		out = append(out, f)
	}
	return out
}

func bounds(least, most time.Duration) *clock.Bounds {
	return &clock.Bounds{Least: &least, Most: &most}
}

// Of another server nothing is known but how exact the times were that are kept.
func TestAnotherServersClock(t *testing.T) {
	c := clock.Clock{Server: "a:21", Looked: noon, Precision: time.Minute, Finds: repeat(poll(0, false), 3), Skew: time.Hour, Since: noon}
	if d := cmp.Diff(c, c.Of("a:21")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(clock.Clock{Server: "b:22", Precision: time.Minute}, c.Of("b:22")); d != "" {
		t.Error(d)
	}
}

// All times move at once where a zone changes; what people do to files is otherwise.
func TestTimesThatMove(t *testing.T) {
	const hour = time.Hour
	for name, tt := range map[string]struct {
		all  []clock.Difference
		want time.Duration
	}{
		"no file":                            {nil, 0},
		"nothing moved":                      {[]clock.Difference{{0, 100}}, 0},
		"summer begins":                      {[]clock.Difference{{hour, 100}}, hour},
		"winter begins":                      {[]clock.Difference{{-hour, 100}}, -hour},
		"half an hour":                       {[]clock.Difference{{hour / 2, 1}}, hour / 2},
		"one file as for daylight saving":    {[]clock.Difference{{hour, 1}}, hour},
		"one file by another zone":           {[]clock.Difference{{9 * hour, 1}}, 0},
		"three files by another zone":        {[]clock.Difference{{9 * hour, 3}}, 9 * hour},
		"no difference of zones":             {[]clock.Difference{{7 * time.Minute, 100}}, 0},
		"farther than zones are":             {[]clock.Difference{{48 * hour, 100}}, 0},
		"one of ten was overwritten":         {[]clock.Difference{{hour, 9}, {777 * time.Second, 1}}, hour},
		"a fifth was overwritten":            {[]clock.Difference{{hour, 8}, {777 * time.Second, 2}}, 0},
		"a fifth kept its time":              {[]clock.Difference{{hour, 8}, {0, 2}}, 0},
		"one file by an hour, another stays": {[]clock.Difference{{hour, 1}, {0, 1}}, 0},
	} {
		if got, moved := clock.MovedBy(tt.all); got != tt.want || moved != (tt.want != 0) {
			t.Errorf("%s: moved %v by %s, want %s", name, moved, got, tt.want)
		}
	}
}
