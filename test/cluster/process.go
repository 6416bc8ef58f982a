package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tributary/internal/engine/child"
)

// process starts a command of the program, whose log goes to a file of its own.
// It ends with this process, however that ends.
func (c *Cluster) process(name, address string, args ...string) (*Process, error) {
	p := &Process{Name: name, HTTP: address, Log: filepath.Join(c.o.Dir, "logs", name+".log")}
	log, err := os.OpenFile(p.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.o.Binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.o.Dir, c.Env(), log, log
	if address != "" {
		cmd.Env = append(cmd.Env, "TRIBUTARY_CFG_HTTP_LISTEN="+address, "TRIBUTARY_CFG_WEB_LISTEN=127.0.0.1:0")
	}
	p.Process, err = child.Start(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// end waits for a process that was told to stop, and says how it ended. A second
// signal would end it at once.
func (p *Process) end() error {
	limit := time.NewTimer(stopWithin)
	defer limit.Stop()
	select {
	case <-p.Done():
	case <-limit.C:
		p.Signal(syscall.SIGKILL)
		<-p.Done()
		return fmt.Errorf("%s did not stop within %s and was killed; see %s", p.Name, stopWithin, p.Log)
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("%s: %w; see %s", p.Name, err, p.Log)
	}
	return nil
}

// unready asks a member whether it is ready, and says why not.
func (p *Process) unready(ctx context.Context) string {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+"/readyz?verbose", nil)
	if err != nil {
		return err.Error()
	}
	answer, err := (&http.Client{Timeout: 5 * time.Second}).Do(q)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// await asks until the answer is empty, which is what was waited for.
func (c *Cluster) await(ctx context.Context, p *Process, ask func() string) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		last := ask()
		if last == "" {
			return nil
		}
		select {
		case <-p.Done():
			return fmt.Errorf("%s has ended: %w; see %s", p.Name, p.Err(), p.Log)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %s; see %s", p.Name, last, p.Log)
		case <-tick.C:
		}
	}
}

// Watch waits until ctx ends. A member that ends by itself is started again
// within a second, as compose's restart policy does; the end of the engines is
// an error.
func (c *Cluster) Watch(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.engines.Done():
			return fmt.Errorf("the engines have ended by themselves: %w; see %s", c.engines.Err(), c.engines.Log)
		case <-tick.C:
			if err := c.revive(); err != nil {
				return err
			}
		}
	}
}

func (c *Cluster) revive() error {
	for i, p := range c.members {
		select {
		case <-p.Done():
		default:
			continue
		}
		c.say("%s has ended (%v) and is started again", p.Name, p.Err())
		role, _, _ := strings.Cut(p.Name, "-")
		again, err := c.process(p.Name, p.HTTP, "run", role)
		if err != nil {
			return fmt.Errorf("start %s again: %w", p.Name, err)
		}
		c.members[i] = again
	}
	return nil
}
