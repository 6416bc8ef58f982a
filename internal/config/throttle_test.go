package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestThrottlesThatAreRefused(t *testing.T) {
	for throttle, want := range map[string]string{
		`[{}]`:                        "sources[0].throttle[0]: bounds nothing: write rate",
		`[{of: source}]`:              "sources[0].throttle[0]: bounds nothing",
		`[{rate: 0}]`:                 "sources[0].throttle[0].rate: is 0",
		`[{rate: 1KiB}]`:              "sources[0].throttle[0].rate: is 1KiB a second: write 64KiB or more",
		`[{requests: -1}]`:            "sources[0].throttle[0].requests: is negative",
		`[{requests: 60001}]`:         "sources[0].throttle[0].requests: is 60001 a minute: write up to 60000",
		`[{pause: 61s}]`:              "sources[0].throttle[0].pause: is 1m1s: write up to 1m",
		`[{pause: 1}]`:                "sources[0].throttle[0].pause: \"1\" has no unit",
		`[{pause: 1s, of: host}]`:     "sources[0].throttle[0].of: \"host\" is not known: use server, source",
		`[{pause: 1s, for: 1h}]`:      "sources[0].throttle[0].cron: is missing: for says",
		`[{cron: "@daily"}]`:          "sources[0].throttle[0].for: is open for 0s only",
		`[{cron: "@d", for: 1h}]`:     "sources[0].throttle[0].cron: \"@d\" has 1 fields",
		`[{pause: 1s, speed: 1}]`:     "sources[0].throttle[0].speed: unknown key",
		`[{pause: 1s}, {rate: 1MiB}]`: "sources[0].throttle[1]: never counts, since throttle[0] of the server holds always",
		`[` + strings.Repeat(`{cron: "@daily", for: 1h},`, 17) + `]`: "sources[0].throttle: are 17: 16 are the most",
	} {
		_, err := Load(write(t, "sources:\n  - id: s\n    centre: H\n    url: file:///x\n    throttle: "+throttle+"\n"), nil, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", throttle, err, want)
		}
	}
}

// Which throttle holds depends on the hour, and clocks change.
func TestWhichThrottleHolds(t *testing.T) {
	all, zone, err := ThrottlesOf(`{"url":"x","lunar":1,"time_zone":"Europe/Berlin","throttle":[{"cron":"0 22 * * *","for":"8h"},{"rate":"1MiB","pause":"1s"},` +
		`{"of":"source","cron":"0 12 * * 1-5","for":"1h","requests":30}]}`)
	if err != nil || zone != "Europe/Berlin" {
		t.Fatal(zone, err)
	}
	day := Throttle{Rate: 1 << 20, Pause: Duration(time.Second)}
	for at, want := range map[string][2]Throttle{
		"2026-07-01T20:00:00Z": {{Cron: "0 22 * * *", For: Duration(8 * time.Hour)}, {}}, // 22:00 in summer
		"2026-12-01T20:00:00Z": {day, {}},
		"2026-12-01T11:30:00Z": {day, {Of: ThrottleSource, Cron: "0 12 * * 1-5", For: Duration(time.Hour), Requests: 30}},
		"2026-12-05T11:30:00Z": {day, {}}, // a Saturday
		"2026-12-01T05:00:00Z": {day, {}}, // it has just ended
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		var got [2]Throttle
		for i, of := range []string{ThrottleServer, ThrottleSource} {
			if got[i], err = all.At(now, of, zone); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("at %s (-want +got):\n%s", at, d)
		}
	}
	if every := (Throttle{Requests: 30}).Every(); every != 2*time.Second {
		t.Errorf("30 a minute are one each %s", every)
	}
	if text := day.String(); text != "1MiB a second, 1s between requests" {
		t.Error(text)
	}
	if _, err := all.At(time.Now(), ThrottleServer, "Mars/North"); err == nil {
		t.Error("a time zone that is none is taken")
	}
	if _, _, err := ThrottlesOf(`{"throttle":[{"lunar":1}]}`); err == nil {
		t.Error("a throttle that only a newer program knows is taken")
	}
}
