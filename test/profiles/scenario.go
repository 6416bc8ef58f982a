package profiles

import "fmt"

// days is a network's first week: something daily, and one of each thing that
// can happen.
func (c *Corpus) days(network, source string) {
	all := []sensor{{"temperature", "T100"}, {"pressure", "P <7>"}, {"rain", ""}, {"wind", "Müller & Söhne"}}
	known := []string{"01", "02", "03"}

	first := c.open(network, source, "add", 1)
	list := first.doc("stations", 1)
	for i, code := range known {
		s := station{code: code, title: fmt.Sprintf("%s, %d miles", network, 10*i), height: fmt.Sprint(5 + 100*i), sensors: all}
		if i == 1 {
			s.title, s.opened = "", "1999-07-01"
		}
		if i == 2 {
			s.sensors = all[:1] // what else is measured there is a surprise
		}
		list.stations = append(list.stations, s)
	}
	c.observe(first.doc("report", 1), 12, known...)

	second := c.open(network, source, "add", 2)
	c.observe(second.doc("report", 2), 12, known...)
	c.observe(second.doc("report", 2), 5, known...)

	third := c.open(network, source, "add", 3)
	c.observe(third.doc("report", 3), 9, known...)
	c.observe(third.docs[0], 12, "04") // listed on day 4, later, or never

	fourth := c.open(network, source, "add", 4)
	if network == "Alps" {
		fourth.doc("stations", 4).stations = []station{{code: "04", height: "3012", sensors: all}}
	}
	last := fourth.doc("report", 4)
	c.observe(last, 12, known...)
	last.observations[3] = observation{at: "23:30:00", station: "01", quantity: "temperature", value: ptr("412"), quality: ptr("doubtful")}

	// The day before again: some of it as it was, some of it otherwise.
	fifth := c.open(network, source, "add", 5)
	again := fifth.doc("report", 4)
	again.observations = append(again.observations, last.observations[5], otherwise(last.observations[6]), last.observations[7])
	c.observe(fifth.doc("report", 5), 12, known...)

	corrected := c.open(network, source, "edit", 6).doc("report", 2)
	corrected.observations = append(corrected.observations, otherwise(second.docs[0].observations[1]), otherwise(second.docs[0].observations[2]))
	corrected.observations = append(corrected.observations, observation{at: "23:45:00", station: "02", quantity: "wind", value: ptr("7")})

	gone := c.open(network, source, "delete", 7)
	r := gone.doc("report", 1)
	r.observations = append(r.observations, first.docs[1].observations[0], first.docs[1].observations[7])
	r.observations = append(r.observations, observation{at: "23:15:00", station: "03", quantity: "rain", value: ptr("1")})
	if network != "North" {
		gone.doc("stations", 7).stations = []station{list.stations[1]}
	}
}

func otherwise(o observation) observation {
	o.value, o.quality = ptr("1000.5"), ptr("doubtful")
	return o
}

// faults are files and documents that fail.
func (c *Corpus) faults() {
	for _, bad := range [][2]string{
		{"Coast-05032024.zip", "zip_name_pattern"}, {"Coast_5032024.zip", "zip_name_pattern"}, {"Coast.2024-03-05.1.impc.zip", "zip_name_pattern"},
		{"Coast_31022024.zip", "zip_name_date"}, {"Atlantis_05032024.zip", "zip_name_centre"},
	} {
		u := c.open("Coast", "coast", "add", 20)
		c.observe(u.doc("report", 20), 1, "01")
		u.name, u.network, u.bad = bad[0], "", bad[1]
	}
	spoil := func(network, source string, n int, fault string, change func(*doc)) {
		u := c.open(network, source, "add", n)
		c.observe(u.doc("report", n), 3, "01")
		d := u.doc("report", n)
		c.observe(d, 2, "01")
		d.fault = fault
		if change != nil {
			change(d)
		}
	}
	spoil("Coast", "coast", 21, "xsd_invalid", nil)
	spoil("Alps", "north", 21, "xsd_invalid", func(d *doc) { d.zone = "+01:00" })
	spoil("Coast", "coast", 22, "xml_not_well_formed", nil)
	spoil("Alps", "north", 23, "centre_mismatch", func(d *doc) { d.network = "North" })
	spoil("North", "north", 24, "duplicate_key", func(d *doc) { d.observations = append(d.observations, otherwise(d.observations[0])) })
	spoil("North", "north", 25, "document_name_pattern", func(d *doc) { d.name = "North.2024-03-25.01.report.xml" })
	spoil("North", "north", 26, "document_name_kind", func(d *doc) { d.name = "forecast-North-20240326-1.xml" })
	spoil("North", "north", 27, "document_name_date", func(d *doc) { d.name = "report-North-20240230-1.xml" })
}

// later is what the second session finds: a station that was missed, one that
// comes back, and a file uploaded again with less in it.
func (c *Corpus) later() {
	c.open("Coast", "coast", "add", 9).doc("stations", 9).stations = []station{{code: "04", title: "Lighthouse", height: "31.5", sensors: []sensor{{"temperature", "T200"}}}}
	c.open("Alps", "north", "add", 9).doc("stations", 9).stations = []station{{code: "02", title: "Upper hut", height: "2100"}}
	for _, u := range c.uploads {
		if u.session == 1 && u.action == "add" && u.date.Equal(day(2)) && u.network != "Alps" {
			again := c.open(u.network, u.source, "add", 2)
			again.name = u.name
			d := again.doc("report", 2)
			d.observations = append(d.observations, u.docs[0].observations[:8]...)
			d.observations[0], d.observations[4] = otherwise(d.observations[0]), otherwise(d.observations[4])
			break
		}
	}
}
