// Package badinput holds every named kind of bad input against the stages that
// meet it: names, archives and documents that are damaged, hostile or just
// wrong. Each case is built in code and has an oracle: the phase and exception
// it must end with, what the message must tell, that nothing stays on disk, and
// how much time and memory it may take.
package badinput
