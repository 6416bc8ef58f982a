package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"tributary/web/access"
)

// maxPasswordLine is how much of a file or of stdin is read for a password, in bytes.
const maxPasswordLine = 4096

// password reads a new password: the first line of a file, or of stdin. Where that is
// a terminal it is asked for twice, and not shown.
func (c *cli) password(ctx context.Context, file string) (string, error) {
	var password string
	var err error
	switch f, ok := c.stdin.(*os.File); {
	case file != "":
		password, err = passwordFile(file)
	case ok && term.IsTerminal(int(f.Fd())):
		password, err = c.askPassword(ctx, f)
	default:
		password, err = firstLine("stdin", c.stdin)
	}
	if err != nil {
		return "", usage(err)
	}
	return password, usage(access.CheckPassword(password))
}

func passwordFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("--password-file: %w", err)
	}
	defer f.Close()
	return firstLine(file, f)
}

func firstLine(name string, r io.Reader) (string, error) {
	line, err := bufio.NewReaderSize(io.LimitReader(r, maxPasswordLine), maxPasswordLine).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password from %s: %w", name, err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func (c *cli) askPassword(ctx context.Context, f *os.File) (string, error) {
	fd := int(f.Fd())
	shown, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask for the password: %w", err)
	}
	// Whoever gives up with Ctrl-C sees again what they type.
	stop := context.AfterFunc(ctx, func() { _ = term.Restore(fd, shown) })
	defer stop()
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Once more: "} {
		fmt.Fprint(c.stderr, prompt)
		text, err := term.ReadPassword(fd)
		fmt.Fprintln(c.stderr)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", fmt.Errorf("ask for the password: %w", err)
		}
		typed[i] = string(text)
	}
	if typed[0] != typed[1] {
		return "", errors.New("the two passwords differ: nothing was done")
	}
	return typed[0], nil
}
