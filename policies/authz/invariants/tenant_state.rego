package authz.invariants

_inactive_codes := {"suspended": "tenant_suspended", "archived": "tenant_archived"}

# An owner can sign in to a suspended tenant to activate it, so its second factor is accepted.
denials contains code if {
	_action.needs_tenant
	not _action.when_inactive
	not _signing_in
	code := _inactive_codes[input.tenant.status]
}

default _signing_in := false

_signing_in if input.subject.session.token == "otp_pending"
