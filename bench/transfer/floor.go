package main

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"tributary/internal/config"
)

// floor is the least that fetching files over HTTP and storing them durably under
// their hash takes, with the second hash that publishers put beside their files.
type floor struct {
	base                  string
	names                 []string
	keyID, secret, region string // of who signs requests; none where empty
}

func (f *floor) run(ctx context.Context, dir string) error {
	next := make(chan string, len(f.names))
	for _, name := range f.names {
		next <- name
	}
	close(next)
	errs := make([]error, config.Default().Plan.MaxSessions)
	var connections sync.WaitGroup
	for i := range errs {
		connections.Go(func() { errs[i] = f.connection(ctx, dir, next) })
	}
	connections.Wait()
	return errors.Join(errs...)
}

// connection fetches files one after the other over a connection of its own.
func (f *floor) connection(ctx context.Context, dir string, next <-chan string) error {
	transport := &http.Transport{DisableCompression: true, MaxConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	signer, buf := v4.NewSigner(), make([]byte, 256<<10)
	for name := range next {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+"/"+name, nil)
		if err != nil {
			return err
		}
		if f.keyID != "" {
			const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
			req.Header.Set("X-Amz-Content-Sha256", noBody)
			if err := signer.SignHTTP(ctx, aws.Credentials{AccessKeyID: f.keyID, SecretAccessKey: f.secret}, req, noBody, "s3", f.region, time.Now()); err != nil {
				return err
			}
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		err = store(resp, dir, name, buf)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
	}
	return nil
}

// store writes a file, syncs it and names it by its hash.
func store(resp *http.Response, dir, name string, buf []byte) (err error) {
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", name, resp.Status)
	}
	part := filepath.Join(dir, name)
	w, err := os.Create(part)
	if err != nil {
		return err
	}
	sum, publishers := sha256.New(), md5.New()
	_, err = io.CopyBuffer(io.MultiWriter(w, sum, publishers), struct{ io.Reader }{resp.Body}, buf)
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		return err
	}
	return os.Rename(part, filepath.Join(dir, hex.EncodeToString(sum.Sum(nil))))
}
