package kafka

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// jvm runs tools of one version, one after another.
type jvm struct {
	in  io.Writer
	out *bufio.Reader
}

func startJava(t *testing.T, version string) *jvm {
	cmd := exec.CommandContext(t.Context(), "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(tools(t, version), "*"), filepath.Join("testdata", "Tools.java"))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return &jvm{in: in, out: bufio.NewReader(out)}
}

// run runs one tool and returns what it wrote; an error says that it failed.
func (j *jvm) run(class, input string, args ...string) (string, error) {
	words := make([]string, 0, 2+len(args))
	for _, w := range append([]string{class, input}, args...) {
		words = append(words, base64.StdEncoding.EncodeToString([]byte(w)))
	}
	if _, err := fmt.Fprintln(j.in, strings.Join(words, " ")); err != nil {
		return "", err
	}
	line, err := j.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("java has ended: %w", err)
	}
	status, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	if n, err := strconv.Atoi(status); err != nil || n != 0 {
		return string(out), fmt.Errorf("exit status %s", status)
	}
	return string(out), nil
}
