package child

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tributary/test/wait"
)

// envParent makes the test binary start a child, name it, and wait to be killed.
const envParent = "TRIBUTARY_TEST_CHILD_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(envParent) == "1" {
		p, err := Start(exec.Command("sleep", "600"), syscall.SIGTERM)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Printf("%d\n", p.Pid())
		select {}
	}
	goleak.VerifyTestMain(m)
}

func TestStopTriesOneSignalAfterAnother(t *testing.T) {
	for _, c := range []struct {
		name, script string
		within       time.Duration // for each signal, which does for a busy machine where one is obeyed
		want         string        // in the error of Stop
	}{
		{"the first is enough", "exec sleep 600", wait.Patience(), ""},
		{"the second is", "trap '' INT; sleep 600 & wait", 3 * time.Second, ""},
		{"neither is", "trap '' INT QUIT; while :; do sleep 1; done", 300 * time.Millisecond, "was killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := exec.Command("sh", "-c", strings.Replace(c.script, "exec sleep", "echo ready; exec sleep", 1))
			if !strings.Contains(c.script, "exec") {
				cmd.Args[2] = strings.Replace(c.script, ";", "; echo ready;", 1)
			}
			cmd.Stdout = w
			p, err := Start(cmd, syscall.SIGKILL)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Read(make([]byte, 6)); err != nil { // the traps are set
				t.Fatal(err)
			}
			err = p.Stop(c.within, syscall.SIGINT, syscall.SIGQUIT)
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(got, c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			select {
			case <-p.Done():
			default:
				t.Error("it goes on")
			}
			p.Signal(syscall.SIGTERM) // to an ended child: does nothing
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			// The shell's own children end by themselves or with it.
			_ = syscall.Kill(-p.Pid(), syscall.SIGKILL)
		})
	}
}

func TestAChildDoesNotOutliveItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), envParent+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if !Alive(pid) {
		t.Fatal("the child does not run")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	deadline := time.After(wait.Patience())
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for running(pid) {
		select {
		case <-deadline:
			t.Fatal("the child goes on")
		case <-tick.C:
		}
	}
}

// running is false for a zombie that nobody reaps.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestAProgramThatIsNotThere(t *testing.T) {
	if _, err := Start(exec.Command("/no/such/program"), syscall.SIGKILL); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("error is %v", err)
	}
}

func TestTail(t *testing.T) {
	var seen []string
	tail := NewTail(func(line string) { seen = append(seen, line) })
	for i := range 30 {
		fmt.Fprintf(tail, "line %d\r\nsplit", i)
		fmt.Fprint(tail, " line\n\n")
	}
	if len(seen) != 60 || seen[0] != "line 0" || seen[59] != "split line" {
		t.Errorf("%d lines: %q ... %q", len(seen), seen[0], seen[len(seen)-1])
	}
	if got := strings.Split(tail.String(), "\n"); len(got) != tailLines || got[19] != "split line" {
		t.Errorf("the tail is %q", got)
	}
	fmt.Fprint(tail, strings.Repeat("x", 10*maxLineSize))
	fmt.Fprint(tail, "\n")
	if got := len(tail.String()); got > tailLines*(maxLineSize+1) {
		t.Errorf("the tail has %d bytes", got)
	}
}
