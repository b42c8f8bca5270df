package authz.invariants

_inactive_codes := {"suspended": "tenant_suspended", "archived": "tenant_archived"}

# An owner may sign in to a suspended tenant in order to activate it, so a second factor is taken there.
denials contains code if {
	_action.needs_tenant
	not _action.when_inactive
	input.subject.session.token == "access"
	code := _inactive_codes[input.tenant.status]
}
