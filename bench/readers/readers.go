package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// readers are people who have the first page open.
type readers struct {
	address, token string
	client         *http.Client
	most           int
	cancel         context.CancelFunc
	all            sync.WaitGroup

	listening     atomic.Int64
	events, pages atomic.Int64
	failed        atomic.Pointer[error]
}

// openPages opens the page of so many.
func openPages(ctx context.Context, address, token string, most int) *readers {
	ctx, cancel := context.WithCancel(ctx)
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * most, MaxConnsPerHost: 0}
	r := &readers{address: address, token: token, client: &http.Client{Transport: transport}, most: most, cancel: cancel}
	for range most {
		r.all.Go(func() {
			for ctx.Err() == nil {
				if err := r.listen(ctx); err != nil && ctx.Err() == nil {
					r.failed.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	return r
}

// wait waits until all listen.
func (r *readers) wait(ctx context.Context) error {
	for r.listening.Load() < int64(r.most) {
		if err := r.failed.Load(); err != nil {
			return *err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
	return nil
}

// close closes all pages and tells what their readers heard and fetched, and what they
// met first that was wrong.
func (r *readers) close() (events, pages int64, failed error) {
	r.cancel()
	r.all.Wait()
	r.client.CloseIdleConnections()
	if err := r.failed.Load(); err != nil {
		failed = *err
	}
	return r.events.Load(), r.pages.Load(), failed
}

// listen hears of changes until the stream says that it ends, and fetches the page
// whenever there are some.
func (r *readers) listen(ctx context.Context) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.address+"/events", nil)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+r.token)
	answer, err := r.client.Do(q)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("/events: %s", answer.Status)
	}
	r.listening.Add(1)
	changed := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	var fetching sync.WaitGroup
	defer fetching.Wait()
	defer cancel()
	fetching.Go(func() { r.fetch(ctx, changed) })
	for lines := bufio.NewScanner(answer.Body); ; {
		if !lines.Scan() {
			return errors.Join(lines.Err(), errors.New("/events: the stream is cut"))
		}
		switch line := lines.Text(); {
		case line == "event: again":
			return nil
		case strings.HasPrefix(line, "id: "):
			r.events.Add(1)
			select {
			case changed <- struct{}{}:
			default: // it is to be fetched already
			}
		}
	}
}

// fetch fetches the page after changes, and yields to the server as the script does.
func (r *readers) fetch(ctx context.Context, changed <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		began := time.Now()
		if _, err := ask(ctx, r.client, r.address+"/", r.token); err != nil {
			if ctx.Err() == nil {
				r.failed.CompareAndSwap(nil, &err)
			}
			return
		}
		r.pages.Add(1)
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(time.Minute, max(time.Second, 9*time.Since(began)))):
		}
	}
}
