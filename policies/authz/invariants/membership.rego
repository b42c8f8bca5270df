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

# Whom an application asks about need not be a member: such a person has no roles, and policies decide.
_active_member if {
	input.application
	is_object(input.tenant)
	is_null(input.subject.membership)
}
