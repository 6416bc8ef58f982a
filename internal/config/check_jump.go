package config

import "tributary/internal/remote"

// checkJump looks at the way to a server through jump hosts. Each is verified and
// logged in to as [remote.Config] says, so what that takes must be there.
func (d *decoder) checkJump(s *Source, at string) {
	if len(s.Jump) == 0 {
		return
	}
	if len(s.Jump) > remote.MaxJumps {
		d.problem(at+".jump", "lists %d jump hosts: no more than %d are gone through", len(s.Jump), remote.MaxJumps)
	}
	if s.KnownHosts == "" {
		d.problem(at+".known_hosts", "is missing: the keys of jump hosts are looked up there, since host_key pins the server's alone")
	}
	if s.IdentityFile == "" && s.IdentityAgent == "" {
		d.problem(at+".identity_file", "is missing, as is identity_agent: jump hosts are logged in to by keys alone, since password is told to the server only")
	}
	for i, hop := range s.Jump {
		if _, err := remote.ParseJump(hop); err != nil {
			d.problem(item(at+".jump", i), "%s", err)
		}
	}
}
