package ftp

import (
	"fmt"
	"net/textproto"
	"strconv"
	"strings"

	"tributary/internal/remote"
)

// checked returns a reply as the FTP library may see it: in the one form that
// the library reads without harm, or as an error.
func (c *ftpControl) checked(code int, text string) (int, string, error) {
	transfer := c.verb == "RETR" || c.verb == "LIST" || c.verb == "MLSD" || c.verb == "STOR"
	switch {
	case c.left && !c.asked && code == 150:
		// Pure-FTPd ends a transfer that is broken off with the code that began it. What
		// else it may say is found before the next command.
		return 426, text, nil
	case code < 200 && (!transfer || !c.asked || code != 125 && code != 150):
		// A preliminary reply where the last one is due: more would follow.
		return 0, "", remote.Broken("protocol_error", "it goes on replying where a command has ended: %d %s", code, text)
	case transfer && !c.asked && code/100 == 2:
		return endOfTransfer(text)
	}
	if c.ahead.taken {
		if err := inItsTurn(c.verb, code, text); err != nil {
			return 0, "", err
		}
	}
	switch c.verb {
	case "", "USER":
		c.ahead.greeted(text)
		// Nothing follows a refusal, of which the library would keep the text only.
		if code != 220 && code != 230 && code != 331 {
			return 0, "", &textproto.Error{Code: code, Msg: text}
		}
	case "FEAT":
		// Names of features have no case; the library looks for capitals.
		text = strings.ToUpper(text)
	case "OPTS":
		// Servers that speak nothing but UTF-8 refuse it in many ways.
		code = 200
	case "PWD":
		// The library panics where there is one quotation mark only. A server
		// that names no directory has its root.
		if code == 257 && strings.Count(text, `"`) < 2 {
			text = `"/"`
		}
	case "PASV":
		if code == 227 {
			return passive(text)
		}
	}
	return code, text, nil
}

// endOfTransfer knows how servers end a transfer: some say 250 for 226, and
// vsftpd ends the listing of a directory that can't be read with success.
func endOfTransfer(text string) (int, string, error) {
	if strings.Contains(strings.ToLower(text), "failed to open directory") {
		return 550, text, nil
	}
	return 226, text, nil
}

// passive rewrites "Entering Passive Mode (h1,h2,h3,h4,p1,p2)", brackets or
// not: the library panics where these are the wrong way round.
func passive(text string) (int, string, error) {
	port, ok := parsePASV(text)
	if !ok {
		return 0, "", remote.Broken("protocol_error", "it names no port for the data connection: %s", text)
	}
	return 227, fmt.Sprintf("(0,0,0,0,%d,%d)", port>>8, port&0xff), nil
}

func parsePASV(text string) (port int, ok bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r != ',' && (r < '0' || r > '9') })
	for _, word := range words {
		parts := strings.Split(word, ",")
		if len(parts) != 6 {
			continue
		}
		for _, part := range parts {
			n, err := strconv.ParseUint(part, 10, 8)
			if err != nil {
				return 0, false
			}
			port = port<<8&0xffff | int(n)
		}
		return port, port > 0
	}
	return 0, false
}
