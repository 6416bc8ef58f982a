package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"tributary/internal/infile"
)

// maxSecret bounds what is read from a secret's file, in bytes.
const maxSecret = 64 << 10

// Secret is a reference to a secret: env:NAME or file:PATH. Only the reference
// is ever logged, stored or published; Resolve reads the secret itself. The
// addresses of databases are secrets too, and may be given plainly when they
// hold no password.
type Secret string

// IsReference reports whether the secret is env:NAME or file:PATH.
func (s Secret) IsReference() bool {
	return strings.HasPrefix(string(s), "env:") || strings.HasPrefix(string(s), "file:")
}

// Resolve reads the secret from where the reference says, without the line end
// that editors leave in files. It is empty for an empty reference. The error
// names the reference and never the secret.
func (s Secret) Resolve() (string, error) { return s.resolve(os.LookupEnv) }

func (s Secret) resolve(lookup func(string) (string, bool)) (string, error) {
	kind, rest, _ := strings.Cut(string(s), ":")
	switch {
	case s == "":
		return "", nil
	case kind == "env":
		v, ok := lookup(rest)
		if !ok || v == "" {
			return "", fmt.Errorf("the environment has no %s: export %s before starting", rest, rest)
		}
		return v, nil
	case kind == "file":
		return readSecret(rest)
	case strings.HasPrefix(rest, "//"):
		return string(s), nil
	}
	return "", errors.New("a secret is not written into the configuration: put it into a file or the environment and write file:PATH or env:NAME")
}

// absolute makes the path of a secret's file absolute.
func (s Secret) absolute(dir string) Secret {
	if rest, ok := strings.CutPrefix(string(s), "file:"); ok && rest != "" && !strings.HasPrefix(rest, "//") {
		return Secret("file:" + absolute(rest, dir))
	}
	return s
}

func readSecret(path string) (string, error) {
	f, err := infile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s: write the secret into it, readable by this user only (chmod 600)", path)
	}
	if err != nil {
		return "", fmt.Errorf("the secret can't be read: %w: give this user the right to read it", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("the secret can't be read: %w", err)
	}
	if len(text) > maxSecret {
		return "", fmt.Errorf("%s is larger than %d bytes: it is not a secret's file", path, maxSecret)
	}
	v := strings.TrimRight(string(text), "\r\n")
	if v == "" {
		return "", fmt.Errorf("the file %s is empty: write the secret into it", path)
	}
	return v, nil
}
