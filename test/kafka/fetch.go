package kafka

import (
	"bufio"
	"context"
	"crypto/sha256"
	_ "embed" // the list of jars and where they come from
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tributary/internal/engine/install"
)

// Version is the pinned version of Apache Kafka. It is changed together with
// pom.xml and jars.sha256, after the suites have run on the new one.
const Version = "4.3.1"

// plugin is what Maven copies the jars with.
const plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

//go:embed pom.xml
var pom []byte

//go:embed jars.sha256
var jars string

// Files of an installation, beside the jars in lib.
const (
	bootstrapFile = "bootstrap.checkpoint" // what a formatted log directory begins with
	loggingFile   = "log4j2.properties"
)

const logging = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{ISO8601} %p %m (%c{1})%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
`

// ErrMissing says that Apache Kafka, or Java to run it with, is not there.
var ErrMissing = errors.New("Apache Kafka is not there: run make kafka-fetch")

// Dir is where Apache Kafka is kept: a folder among the engines that tributary
// engines fetch keeps.
func Dir() (string, error) {
	dir, err := install.Dir("")
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "kafka-"+Version), nil
}

// Locate returns the folder of an installation that Fetch has made, or
// ErrMissing by errors.Is.
func Locate() (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, bootstrapFile)); err != nil {
		return "", fmt.Errorf("%w (looked in %s)", ErrMissing, dir)
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("%w (there is no java, version 17 or newer)", ErrMissing)
	}
	return dir, nil
}

// Fetch fetches Apache Kafka with Maven, as it is configured on this machine,
// compares each jar with its pinned sha256 and moves all into place in one
// step. What is there already is not fetched again, and needs no network.
func Fetch(ctx context.Context, progress io.Writer) (err error) {
	if dir, err := Locate(); err == nil {
		fmt.Fprintf(progress, "Apache Kafka %s: %s\n", Version, dir)
		return nil
	}
	dir, err := Dir()
	if err != nil {
		return err
	}
	for _, program := range []string{"mvn", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("fetch Apache Kafka: %s is not installed: on Debian, apt-get install maven installs it and a JDK: %w", program, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("fetch Apache Kafka: %w", err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return fmt.Errorf("fetch Apache Kafka: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	fmt.Fprintf(progress, "Apache Kafka %s: fetching with mvn (45 MB) ...\n", Version)
	if err := fetch(ctx, tmp); err != nil {
		return fmt.Errorf("fetch Apache Kafka: %w", err)
	}
	if err := os.Rename(filepath.Join(tmp, "kafka"), dir); err != nil {
		return fmt.Errorf("fetch Apache Kafka: put it in place: %w", err)
	}
	fmt.Fprintf(progress, "Apache Kafka %s: %s\n", Version, dir)
	return nil
}

// fetch makes an installation in tmp/kafka.
func fetch(ctx context.Context, tmp string) error {
	dir := filepath.Join(tmp, "kafka")
	if err := Jars(ctx, tmp, filepath.Join(dir, "lib"), pom, jars); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, loggingFile), []byte(logging), 0o600); err != nil {
		return err
	}
	return format(ctx, dir, tmp)
}

// Jars fetches with Maven what a pom, which is written to the folder tmp, needs
// at run time into the new folder lib, and compares it with a list as sha256sum
// writes one. More are arguments for Maven.
func Jars(ctx context.Context, tmp, lib string, pom []byte, list string, more ...string) error {
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mvn", append(more, "-B", "-q", "--strict-checksums", plugin, "-DincludeScope=runtime", "-DoutputDirectory="+lib)...)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mvn: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return verify(lib, list)
}

// verify compares a folder with a list of sha256 sums: it must hold these
// files, and no others.
func verify(lib, list string) error {
	want := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(list)); lines.Scan(); {
		sum, name, _ := strings.Cut(lines.Text(), "  ")
		want[name] = sum
	}
	entries, err := os.ReadDir(lib)
	if err != nil {
		return err
	}
	for _, e := range entries {
		got, err := sum(filepath.Join(lib, e.Name()))
		if err != nil {
			return err
		}
		if got != want[e.Name()] {
			return fmt.Errorf("the sha256 of %s is %s and should be %q: it was damaged on its way, or is not the one that was tested", e.Name(), got, want[e.Name()])
		}
		delete(want, e.Name())
	}
	if len(want) > 0 {
		return fmt.Errorf("%d jars are missing, such as %s", len(want), anyKey(want))
	}
	return nil
}

func anyKey(m map[string]string) string {
	for k := range m {
		return k
	}
	return ""
}

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// format keeps what Kafka's own tool writes into an empty log directory, so
// that a broker's start need not wait for another Java. It is the same for
// every node; what tells nodes apart is written by Start.
func format(ctx context.Context, dir, tmp string) error {
	logs := filepath.Join(tmp, "logs")
	properties := filepath.Join(tmp, "format.properties")
	node := node{id: 1, controller: "127.0.0.1:1", client: "127.0.0.1:2", dir: logs}
	if err := os.WriteFile(properties, []byte(node.properties([]string{"1@127.0.0.1:1"})), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "java", javaArgs(dir, "kafka.tools.StorageTool", "format", "-t", ClusterID, "-c", properties)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(filepath.Join(logs, bootstrapFile), filepath.Join(dir, bootstrapFile))
}

// javaArgs are the arguments that run a class of an installation: a heap for
// tests, and what starts fast rather than runs fast.
func javaArgs(dir, class string, args ...string) []string {
	return append([]string{"-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dlog4j2.configurationFile=" + filepath.Join(dir, loggingFile),
		"-cp", filepath.Join(dir, "lib", "*"), class}, args...)
}
