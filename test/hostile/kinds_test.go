package hostile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// garbage is n bytes of everything that text should not hold.
func garbage(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.IntN(256))
	}
	copy(b, "\x00\xff\x1b[31m\u202e'; --")
	return b
}

// nasty is text that must be cleaned before it is stored or shown.
const nasty = "denied \x00\x00 \xff\xfe \x1b[31mred\x1b]0;title\x07 \u009b31m \u202egpj \u2028 %s %n ${jndi:ldap://x} <script>"

func anyOf[T any](w *wire, of ...T) T { return of[w.rng.IntN(len(of))] }

// The misbehaviours that need no protocol.
func endless(text string) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error { return w.forever([]byte(text)) }
}

func after(head, text string) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error {
		if _, err := w.Write([]byte(head)); err != nil {
			return err
		}
		return w.forever([]byte(text))
	}
}

func instead(texts ...string) func(*wire, []byte) error {
	return func(w *wire, _ []byte) error {
		_, err := w.Write([]byte(anyOf(w, texts...)))
		return err
	}
}

func hang(w *wire, _ []byte) error      { return w.hang() }
func cut(w *wire, _ []byte) error       { return w.cut() }
func halfClose(w *wire, _ []byte) error { return w.halfClose() }

func partly(then func(*wire, []byte) error) func(*wire, []byte) error {
	return func(w *wire, well []byte) error {
		if n := len(well); n > 1 {
			if _, err := w.Write(well[:1+w.rng.IntN(n-1)]); err != nil {
				return err
			}
		}
		return then(w, nil)
	}
}

func junk(w *wire, _ []byte) error {
	_, err := w.Write(garbage(w.rng, 1+w.rng.IntN(100_000)))
	return err
}

func twice(w *wire, well []byte) error {
	_, err := w.Write(bytes.Repeat(well, 2+w.rng.IntN(5)))
	return err
}

func flood(w *wire, well []byte) error { return w.forever(append([]byte("\r\n"), well...)) }

func slowly(w *wire, well []byte) error {
	return w.drip(append(bytes.TrimRight(well, "\r\n"), '-'), time.Duration(anyOf(w, 20, 100, 400))*time.Millisecond)
}

// code is the code of a reply.
func code(well []byte) string { return string(well[:min(3, len(well))]) }

func replyWithoutEnd(w *wire, well []byte) error {
	return after(code(well)+"-hello\r\n", anyOf(w, code(well)+"-hello again and again\r\n", " and more of it\r\n", "\r\n"))(w, well)
}

func replyHugeLine(w *wire, well []byte) error {
	_, err := w.Write([]byte(anyOf(w, code(well), "530", "550", "553", "421", "450") + " no " + strings.Repeat("A", anyOf(w, 20_000, 1<<20, 5<<20)) + "\r\n"))
	return err
}

func replyManyLines(w *wire, well []byte) error {
	c := anyOf(w, code(well), "530", "553")
	_, err := w.Write([]byte(c + "-\r\n" + strings.Repeat(c+"-some line\r\n", anyOf(w, 1000, 300_000)) + c + " end\r\n"))
	return err
}

func wrongCode(w *wire, _ []byte) error {
	_, err := fmt.Fprintf(w, "%s nobody expected this\r\n", anyOf(w, "100", "120", "150", "200", "226", "230", "250", "331", "332", "350", "421", "425", "450", "500", "502", "530", "532", "550", "553", "599", "600", "999", "000"))
	return err
}

// lines sends listing lines and ends the listing well.
func lines(texts ...string) func(*wire, []byte) error {
	return func(w *wire, well []byte) error {
		_, err := w.Write(append([]byte(strings.Join(texts, "\r\n")+"\r\n"), well...))
		return err
	}
}

// numbered sends entries without end, or n.
func numbered(n int, line func(i int) string) func(*wire, []byte) error {
	return func(w *wire, well []byte) error {
		if _, err := w.Write(well); err != nil {
			return err
		}
		var b []byte
		for i := 0; n == 0 || i < n; i++ {
			if b = append(b, line(i)+"\r\n"...); len(b) > 60_000 {
				if _, err := w.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		_, err := w.Write(b)
		return err
	}
}

// onJ names a file of the centre whose files hostile sources show, by its day.
func onJ(day, inc int) string { return fmt.Sprintf("J.2023-01-%02d.%d.impc.zip", day, inc) }

// facts is a line of MLSD.
func facts(size, modify, name string) string {
	return "type=file;size=" + size + ";modify=" + modify + "; " + name
}

func someDates(w *wire, well []byte) error {
	var of []string
	for i, d := range []string{"00000101000000", "00010101000000", "99991231235959", "999990101000000", "20241301000000", "20240230000000", "-0010101000000", "18000101000000", "20240101", "now", "", "20240101000000.999999999999999999999999", "20240101\x00000000"} {
		of = append(of, facts("10", d, fmt.Sprintf("J.2023-02-%02d.%d.impc.zip", i+1, w.s.seed)))
	}
	return lines(of...)(w, well)
}

func someSizes(w *wire, well []byte) error {
	var of []string
	for i, n := range []string{"-1", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "18446744073709551615", "99999999999999999999999999", "0x10", "1e3", "", " 5", "+7", "\x00"} {
		of = append(of, facts(n, "20240101000000", fmt.Sprintf("J.2023-03-%02d.%d.impc.zip", i+1, w.s.seed)))
	}
	return lines(of...)(w, well)
}

func someNames(w *wire, well []byte) error {
	var of []string
	for _, n := range badNames(w.s.seed) {
		of = append(of, facts("10", "20240101000000", n))
	}
	return lines(of...)(w, well)
}

// badNames are names that break things, some of them acceptable as such.
func badNames(seed uint64) []string {
	return []string{
		"../../../etc/x.zip", "/etc/passwd.zip", "..", ".", "a/b.zip", `a\b.zip`, ".zip", " .zip", "x.ZIP", "\x00.zip", "J\x00.zip",
		"H2026\x1b[31mRED\x1b]0;pwn\x07.zip", "\u009b31mC1.zip", "\u202egpj.zip", "=cmd|'/c calc'!A1.zip", "<script>alert(1)</script>.zip",
		"a\rDELE x.zip", "'; DROP TABLE control.look; --.zip", "${jndi:ldap://x}.zip", "\xff\xfe.zip", strings.Repeat("L", 8000) + ".zip", strings.Repeat("\xff", 4000) + ".zip",
		fmt.Sprintf("J.2023-01-01.9223372036854775807%d.impc.zip", seed), "J.9999-12-31.01.impc.zip", "J.0000-00-00.01.impc.zip", "J.2023-02-30.01.impc.zip",
		strings.Repeat("e\u0301", 300) + ".zip", "con.zip", "-rf.zip", "%00.zip", "%2e%2e%2fx.zip", onJ(1, int(seed)) + ".md5", onJ(1, int(seed)) + " ",
	}
}

// onceFTP are where a conversation of a poll is struck; kinds of the control
// connection may strike at each.
func ftpKinds() []kind {
	c := controlSteps
	return []kind{
		{name: "reply-without-end", steps: c, strike: replyWithoutEnd},
		{name: "reply-huge-line", steps: c, strike: replyHugeLine},
		{name: "reply-endless-line", steps: c, strike: after("250 ", "A")},
		{name: "reply-many-lines", steps: c, strike: replyManyLines},
		{name: "reply-empty-lines", steps: c, strike: endless("\r\n")},
		{name: "reply-drip", steps: c, strike: slowly},
		{name: "reply-flood", steps: c, strike: flood},
		{name: "reply-twice", steps: c, strike: twice},
		{name: "reply-out-of-order", steps: c, strike: instead("226 done\r\n", "331 password\r\n", "220 good day\r\n221 goodbye\r\n", "150 soon\r\n226 done\r\n")},
		{name: "reply-partly", steps: c, strike: partly(hang)},
		{name: "reply-text", steps: c, strike: instead("553 "+nasty+"\r\n", "550 "+nasty+"\r\n", "421 "+nasty+"\r\n", "530 "+nasty+"\r\n")},
		{name: "reply-code-junk", steps: c, strike: instead("2x0 hello\r\n", "-1 hello\r\n", "\r\n", "hello\r\n", "99999999999 x\r\n", "250\r\n", "25\r\n", "250_x\r\n", "\n", "\x00\r\n")},
		{name: "wrong-code", steps: c, strike: wrongCode},
		{name: "garbage-bytes", steps: append([]string{"listing", "transfer"}, c...), strike: junk},
		{name: "cut-connection", steps: append([]string{"listing", "transfer"}, c...), strike: partly(cut)},
		{name: "half-close", steps: append([]string{"listing", "transfer"}, c...), strike: partly(halfClose)},
		{name: "hang", steps: append([]string{"listing", "transfer"}, c...), strike: hang},
		{name: "telnet-endless", steps: c, strike: endless("\xff\xf1\xff\xfd\x18")},
		{name: "feat-endless", steps: []string{"FEAT"}, strike: after("211-Features\r\n", " MLST type*;size*;modify*;\r\n MLSD\r\n")},
		{name: "feat-odd", steps: []string{"FEAT"}, strike: instead("211-F\r\n MLST "+strings.Repeat("x*;", 5000)+"\r\n MLSD\r\n211 End\r\n", "211-F\r\n"+strings.Repeat(" A\r\n", 90_000)+"211 End\r\n", "211-\r\n\r\n\x00\r\n211 \r\n")},
		{name: "pwd-odd", steps: []string{"PWD"}, strike: instead("257 \"\r\n", "257 no quotes\r\n", "257 \"../../..\"\r\n", "257 \"/"+strings.Repeat("a/", 20_000)+"\"\r\n", "257 \"/\x00/\x1b[31m\"\r\n", "257 \"/a\"\"b\"\r\n")},
		{name: "pasv-elsewhere", passive: true, steps: []string{"PASV"}, strike: instead("227 x (127,0,0,99,31,144)\r\n", "227 x (0,0,0,0,31,144)\r\n", "227 x (127,0,0,1,0,1)\r\n")},
		{name: "pasv-junk", passive: true, steps: []string{"PASV"}, strike: instead("227 x\r\n", "227 x (1,2,3)\r\n", "227 x (999,999,999,999,999,999)\r\n", "227 x (127,0,0,1,-1,-1)\r\n", "227 ("+strings.Repeat("1,", 200_000)+")\r\n", "227 )(\r\n")},
		{name: "pasv-port-zero", steps: []string{"EPSV"}, strike: instead("229 x (|||0|)\r\n", "229 x (|||65536|)\r\n", "229 x (|||-5|)\r\n", "229 x (||||)\r\n", "229 x\r\n", "229 x (|||"+strings.Repeat("9", 100_000)+"|)\r\n", "229 )|||(\r\n")},
		{name: "data-connection-never-comes", steps: []string{"listing", "transfer"}, strike: hang},
		{name: "data-connection-drips", steps: []string{"listing", "transfer"}, strike: slowly},
		{name: "listing-endless", steps: []string{"listing"}, strike: numbered(0, func(i int) string { return facts("10", "20240101000000", fmt.Sprintf("J.2022-01-01.%d.impc.zip", i)) }), ends: []string{"listing_too_long", "poll_timed_out"}},
		{name: "listing-endless-ignored", steps: []string{"listing"}, strike: numbered(0, func(i int) string { return facts("10", "20240101000000", fmt.Sprintf("readme%d.txt", i)) })},
		{name: "listing-endless-dots", steps: []string{"listing"}, strike: endless("type=cdir;modify=20240101000000; .\r\n")},
		{name: "listing-endless-blank", steps: []string{"listing"}, strike: endless("\r\n")},
		{name: "listing-endless-same", steps: []string{"listing"}, strike: endless(facts("10", "20240101000000", "J.2022-01-01.1.impc.zip") + "\r\n")},
		{name: "listing-endless-line", steps: []string{"listing"}, strike: after("type=file;size=10;modify=20240101000000; ", "L")},
		{name: "listing-endless-facts", steps: []string{"listing"}, strike: after("type=file;", "x=y;")},
		{name: "listing-huge-names", steps: []string{"listing"}, strike: numbered(0, func(i int) string {
			return facts("10", "20240101000000", fmt.Sprintf("%09d%s.zip", i, strings.Repeat("L", 1000)))
		})},
		{name: "listing-bad-dates", steps: []string{"listing"}, strike: someDates},
		{name: "listing-bad-sizes", steps: []string{"listing"}, strike: someSizes},
		{name: "listing-traversal-names", steps: []string{"listing"}, strike: someNames},
		{name: "listing-duplicate-names", steps: []string{"listing"}, strike: numbered(3000, func(i int) string { return facts(fmt.Sprint(i), "20240101000000", onJ(9, i%7)) })},
		{name: "listing-old-odd", old: true, steps: []string{"listing"}, strike: lines("-rw-r--r-- 1 a b 99999999999999999999 Jan 01 2024 J.2023-04-01.1.impc.zip", "-rw-r--r-- 1 a b -5 Feb 31 2024 J.2023-04-02.1.impc.zip", "-rw-r--r-- 1 a b 5 Jan 01 99999 J.2023-04-03.1.impc.zip", "-rw-r--r-- 1 a b 5 Jan 01 0000 J.2023-04-04.1.impc.zip", "01-01-00  00:00AM 5 J.2023-04-05.1.impc.zip", "total "+strings.Repeat("9", 100_000), strings.Repeat("- ", 100_000))},
		{name: "listing-old-endless", old: true, steps: []string{"listing"}, strike: numbered(0, func(i int) string { return fmt.Sprintf("-rw-r--r-- 1 a b 10 Jan 01 2024 J.2022-01-02.%d.impc.zip", i) })},
		{name: "mdtm-lies", old: true, steps: []string{"MDTM"}, strike: instead("213 00000101000000\r\n", "213 99999999999999\r\n", "213 -1\r\n", "213 "+strings.Repeat("2", 100_000)+"\r\n", "213 \x00\r\n", "550 no\r\n")},
		{name: "size-lies", old: true, bare: true, steps: []string{"SIZE"}, strike: instead("213 0\r\n", "213 -5\r\n", "213 9223372036854775807\r\n", "213 99999999999999999999999\r\n", "213 x\r\n")},
		{name: "mlst-lies", steps: []string{"MLST"}, strike: mlstLies},
		{name: "transfer-short", steps: []string{"transfer"}, strike: func(w *wire, well []byte) error { _, err := w.Write(well[:len(well)/2]); return err }},
		{name: "transfer-long", steps: []string{"transfer"}, strike: func(w *wire, well []byte) error {
			_, err := w.Write(append(well, garbage(w.rng, 100_000)...))
			return err
		}},
		{name: "transfer-endless", steps: []string{"transfer"}, strike: endless("P"), size: 1 << 10},
		{name: "transfer-slow", size: 4 << 20, steps: []string{"transfer"}, strike: slowly},
	}
}

func mlstLies(w *wire, _ []byte) error {
	_, err := fmt.Fprintf(w, "250-x\r\n type=file;size=%s;modify=%s; %s\r\n250 End\r\n",
		anyOf(w, "0", "-1", "9223372036854775807", "99999999999999999999", "", fmt.Sprint(w.rng.IntN(1<<20))),
		anyOf(w, "00000101000000", "99991231235959", "20240101000001", "x", fmt.Sprintf("202401010000%02d", w.rng.IntN(60))),
		anyOf(w, w.s.file, strings.Repeat("L", 100_000), "\x00"))
	return err
}
