// Package hostile attacks the program from outside: the built binary, real
// sockets, real engines. Its tests play servers that misbehave at one step of
// their conversation, programs that write to topics what nobody wrote, and
// another account of the same machine, and then look at what became of a good
// source beside them. It is run by make test-hostile.
package hostile
