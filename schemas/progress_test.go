package schemas

import "testing"

// What an event tells of progress is read as it was written; what others wrote, or
// what is told of something else, is none.
func TestProgressOf(t *testing.T) {
	attributes := func(received, rate string) map[string]string {
		return map[string]string{"received": received, "rate": rate}
	}
	for name, tt := range map[string]struct {
		entity, phase, status string
		attributes            map[string]string
		want                  Progress
		ok                    bool
	}{
		"as it is written":   {EntityDownload, "download", "running", Progress{Received: 312, Rate: 8}.Attributes(), Progress{312, 8}, true},
		"nothing came":       {EntityDownload, "download", "running", attributes("0", "0"), Progress{}, true},
		"it began":           {EntityDownload, "download", "running", nil, Progress{}, false},
		"of an unzip":        {EntityDownload, "unzip", "running", attributes("1", "1"), Progress{}, false},
		"of an end":          {EntityDownload, "download", "failed", attributes("1", "1"), Progress{}, false},
		"of a document":      {EntityDocument, "download", "running", attributes("1", "1"), Progress{}, false},
		"without a rate":     {EntityDownload, "download", "running", map[string]string{"received": "1"}, Progress{}, false},
		"a negative count":   {EntityDownload, "download", "running", attributes("-1", "1"), Progress{}, false},
		"a negative rate":    {EntityDownload, "download", "running", attributes("1", "-1"), Progress{}, false},
		"beyond any number":  {EntityDownload, "download", "running", attributes("9223372036854775808", "1"), Progress{}, false},
		"words":              {EntityDownload, "download", "running", attributes("much", "fast"), Progress{}, false},
		"a rate with a unit": {EntityDownload, "download", "running", attributes("1", "8 MB/s"), Progress{}, false},
	} {
		got, ok := ProgressOf(&StatusChanged{Entity: tt.entity, Phase: tt.phase, Status: tt.status, Attributes: tt.attributes})
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %t; want %+v, %t", name, got, ok, tt.want, tt.ok)
		}
	}
}
