package recipes

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/sql/history/recipes"
)

// The recipes' parameters, each with the lines of CSV that it leaves, worked
// out by hand.
func TestParameters(t *testing.T) {
	const day = "2026-11-02T"
	conn := tale(t)
	byName := map[string]recipes.Recipe{}
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		byName[r.Name] = r
	}
	for _, tc := range []struct{ name, arguments, want string }{
		{"throughput", "--source mirror", `2026-11-02T10:00:00Z,mirror,1,500000,1,1,1,20,1
2026-11-02T13:00:00Z,mirror,0,0,0,1,1,20,0`},
		{"throughput", "--centre ICS --until " + day + "11:00:00Z", `2026-11-02T10:00:00Z,ics,1,200000,0,0,0,0,3
2026-11-02T10:00:00Z,mirror,1,500000,1,1,1,20,1`},
		{"throughput", "--every 1d", `2026-11-02T00:00:00Z,harwell,3,3400000,6,6,3,130,1
2026-11-02T00:00:00Z,ics,1,200000,0,0,0,0,3
2026-11-02T00:00:00Z,mirror,1,500000,1,2,2,40,1`},
		{"throughput", "--since 2026-11-03", ""},
		{"speed", "--limit 1", `2026-11-02T12:25:10Z,harwell,add/H.2026-11-01.01.impc.zip,3,1200000,4,200000`},
		{"speed-by-size", "--centre ics --source mirror", `mirror,262144,1048576,1,500000,50000,50000,50000`},
		{"latency", "--by all", `all,4,600,886,886,886`},
		{"latency", "--by source", "harwell,3,595,600,600,600\nmirror,1,886,886,886,886"},
		{"latency", "--by day --centre h", `2026-11-02,3,595,600,600,600`},
		{"latency", "--since " + day + "12:00:00Z", `H,2,595,595,595,595`},
		{"backlog", "--every 5m --since " + day + "10:15:00Z --until " + day + "10:15:00Z", `2026-11-02T10:15:00Z,zip_name,0,0
2026-11-02T10:15:00Z,download,0,0
2026-11-02T10:15:00Z,unzip,0,0
2026-11-02T10:15:00Z,xsd,0,0
2026-11-02T10:15:00Z,upload,0,0
2026-11-02T10:15:00Z,data,2,290`},
		{"backlog", "--since " + day + "14:00:00Z --until " + day + "14:30:00Z", `2026-11-02T14:00:00Z,zip_name,1,7190
2026-11-02T14:00:00Z,download,1,6900
2026-11-02T14:00:00Z,unzip,0,0
2026-11-02T14:00:00Z,xsd,0,0
2026-11-02T14:00:00Z,upload,0,0
2026-11-02T14:00:00Z,data,0,0`},
		{"backlog", "--phase download --centre H --since " + day + "14:00:00Z --until " + day + "14:00:00Z", `2026-11-02T14:00:00Z,download,0,0`},
		{"backlog", "--phase download --every 5s --since " + day + "10:00:25Z --until " + day + "10:00:25Z", `2026-11-02T10:00:25Z,download,1,5`},
		{"failures", "--phase data", `2026-11-02,Ics,data,specimen_unknown,1,1,2026-11-02T10:25:00Z
2026-11-02,Ics,data,unit_differs,1,1,2026-11-02T10:25:00Z`},
		{"failures", "--centre h", `2026-11-02,H,xsd,xsd_invalid,1,1,2026-11-02T10:00:37Z`},
		{"failures", "--since " + day + "12:00:00Z", `2026-11-02,Ics,zip_name,connection_failed,1,0,2026-11-02T12:00:31Z`},
		{"rejected", "", "1,H,2,0,0,0,0,0,0,0\n2,Ics,1,0,0,0,0,0,0,0"},
		{"rejected", "--since " + day + "12:30:00Z", "1,Ics,1,0,0,0,0,0,0,0"},
		{"rejected", "--until " + day + "12:15:00Z --centre H", "1,H,2,0,0,0,0,0,0,2"},
		{"retries", "--since " + day + "12:00:00Z", "harwell,2,1,0,0,0,0,0,\nics,1,1,0,0,0,0,1,"},
		{"resubmissions", "--source mirror", "Ics,1,0,0,0,0,0,0,0,0"},
		{"changes", "--until " + day + "11:00:00Z --source ics", `file,Ics,edit/Ics.2026-11-01.02.impc.zip,,,unzip failed,1,corrupted_at_producer,2026-11-02T10:00:27Z`},
		{"changes", "--since " + day + "12:24:00Z --until " + day + "12:59:00Z", `document,Ics,add/Ics.2026-11-01.01.impc.zip,b1.xml,data failed,overview done,3,,2026-11-02T12:30:00Z`},
		{"slowest", "--of file", `add/Ics.2026-11-01.01.impc.zip,Ics,mirror,data,failed,1456,500000,2026-11-02T10:00:14Z,2026-11-02T10:24:30Z
add/H.2026-11-01.01.impc.zip,H,harwell,overview,done,1190,1000000,2026-11-02T10:00:10Z,2026-11-02T10:20:00Z
add/H.2026-11-01.01.impc.zip,H,harwell,overview,done,1190,1200000,2026-11-02T12:00:10Z,2026-11-02T12:20:00Z`},
		{"slowest", "--of document --phase upload --limit 2", `add/H.2026-11-01.01.impc.zip/a1.xml,H,harwell,upload,done,10,4000,2026-11-02T10:10:00Z,2026-11-02T10:10:10Z
add/H.2026-11-01.01.impc.zip/a1.xml,H,harwell,upload,done,10,4000,2026-11-02T12:09:50Z,2026-11-02T12:10:00Z`},
		{"slowest", "--of session", `2,,,,done,2400,0,2026-11-02T12:00:00Z,2026-11-02T12:40:00Z
1,,,,done,1800,0,2026-11-02T10:00:00Z,2026-11-02T10:30:00Z`},
		{"slowest", "--of poll --limit 2", `mirror,Ics,mirror,zip_name,failed,30,0,2026-11-02T12:00:01Z,2026-11-02T12:00:31Z
mirror,Ics,mirror,zip_name,done,13,0,2026-11-02T10:00:02Z,2026-11-02T10:00:15Z`},
		{"slowest", "--of unzip --source ics", `edit/Ics.2026-11-01.02.impc.zip,Ics,ics,unzip,failed,1,0,2026-11-02T10:00:25Z,2026-11-02T10:00:26Z`},
		{"sessions", "--centre H --until " + day + "11:00:00Z", `1,2026-11-02T10:00:00Z,1800,,done,1,0,2,2,0,1,1000000,0,2,1,1,50`},
		{"latest", "--source mirror --status failed --limit 1", `2026-11-02T12:00:31Z,task,Ics,mirror,,,,zip_name,failed,connection_failed,,1,poll`},
		{"latest", "--exception xsd_invalid --centre h", `2026-11-02T10:00:37Z,document,H,harwell,add,H.2026-11-01.01.impc.zip,a2.xml,xsd,failed,xsd_invalid,,1,validate`},
		{"latest", "--file ics.2026-11-01.02 --phase unzip --until " + day + "10:00:27Z", `2026-11-02T10:00:26Z,download,Ics,ics,edit,Ics.2026-11-01.02.impc.zip,,unzip,failed,zip_crc_mismatch,,1,unzip
2026-11-02T10:00:25Z,download,Ics,ics,edit,Ics.2026-11-01.02.impc.zip,,unzip,running,,,1,unzip`},
		{"latest", "--since 2026-11-03 --file x", ""},
		{"latest", "--limit 1", `2026-11-02T15:00:01Z,download,Ics,ics,edit,Ics.2026-11-02.01.impc.zip,,download,cancelled,connection_lost,,1,plan`},
		// Values stay values, whatever is in them.
		{"latest", `--file '||'1'='1`, ""},
		{"throughput", `--source ';DROP/**/TABLE/**/event--`, ""},
		{"failures", `--centre '||'1'='1`, ""},
		{"failures", `--centre {x:String}\n\`, ""},
	} {
		t.Run(tc.name+" "+tc.arguments, func(t *testing.T) {
			_, got, _ := strings.Cut(strings.TrimSuffix(answer(t, conn, byName[tc.name], tc.arguments, report.CSV), "\n"), "\n")
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +answer):\n%s\n%s", diff, got)
			}
		})
	}
	// The hostile name is told as it is.
	if got := answer(t, conn, byName["changes"], "", report.JSON); !strings.Contains(got, `"file":"add/';--{x:String}<b>&\"\\.zip"`) {
		t.Errorf("the hostile name is not in %s", got)
	}
}

// A report neither writes nor outlives its limits; what is wrong is said to
// people.
func TestLimits(t *testing.T) {
	conn := tale(t)
	all, err := recipes.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Name != "backlog" {
			continue
		}
		values := map[string]string{"since": "2000-01-01 00:00:00.000000", "until": "2200-01-01 00:00:00.000000", "centre": "", "source": "", "phase": "", "every": "1"}
		err := report.SQL(t.Context(), report.ClickHouse{Conn: conn, Parameters: values}, r.Statement, &strings.Builder{}, report.JSON)
		if err == nil || !strings.Contains(err.Error(), "choose a longer --every") {
			t.Errorf("a backlog of every second since 2026-11-02 until now: %v", err)
		}
		values["every"] = "3600"
		err = report.SQL(t.Context(), report.ClickHouse{Conn: conn, Parameters: values, MaxMemory: 1000}, r.Statement, &strings.Builder{}, report.JSON)
		if err == nil || !strings.Contains(err.Error(), "too much memory") {
			t.Errorf("a backlog in 1000 bytes: %v", err)
		}
	}
}
