package main

import "fmt"

// suite is a long suite that a campaign takes turns of.
type suite struct {
	name  string
	seeds uint64 // that a turn plays; 0: the suite remembers by itself what it has played
	args  func(seed uint64) []string
}

// suites are in the order of their first turns. Those that have taken least time
// so far come next, so a short campaign is one turn of each as far as it goes.
func suites(dir string) []suite {
	seeded := func(name string, seeds uint64, args ...string) suite {
		return suite{name, seeds, func(seed uint64) []string { return append([]string{fmt.Sprintf("SEED=%d", seed)}, args...) }}
	}
	own := func(name string, args ...string) suite {
		return suite{name, 0, func(uint64) []string { return args }}
	}
	return []suite{
		seeded("sim", 500, "sim", "RUNS=500"),
		{"positions", 1, func(seed uint64) []string {
			return []string{"positions", fmt.Sprintf("POSITIONS_FLAGS=-rapid.seed=%d", seed)}
		}},
		seeded("properties", 1, "properties"),
		seeded("hostile", 200, "hostile-campaign", "SEEDS=200"),
		seeded("chaos", 8, "chaos", "RUNS=8", "FAULTS=60s"),
		own("crashpoints", "crashpoints-campaign", "BUDGET=15m", "STATE="+dir),
		own("mutants", "mutants-short", "MUTANTS_BUDGET=15m"),
		seeded("sim-real", 20, "sim-real", "RUNS=20"),
		seeded("paused", 1, "paused"),
		seeded("lost", 1, "lost"),
		seeded("replay", 1, "test-replay", "REPLAY=demo", "KILLS=10"),
		seeded("asof", 1, "test-asof"),
		seeded("recipes", 1, "test-recipes"),
		seeded("dead-letters", 1, "test-dlq"),
		seeded("history", 1, "test-history-kills"),
		seeded("kill", 1, "test-kill"),
		seeded("orders", 1, "orders"),
		own("race", "test-race", "LONG=1"),
		own("fuzz", "fuzz-short", "FUZZ_TIME=30s"),
	}
}
