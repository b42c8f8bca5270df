package authz.invariants

# A tenant that is gone and a membership that is gone are the same news: the token names what no longer is.
denials contains "no_active_membership" if {
	_action.needs_tenant
	not _active_member
}

default _active_member := false

_active_member if {
	is_object(input.tenant)
	input.subject.membership.status == "active"
}
