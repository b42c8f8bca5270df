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

# A subject of an application's own kind is no member of anything: it has no roles, and policies about all decide.
_active_member if {
	input.application
	is_object(input.tenant)
	is_null(input.subject.membership)
	not _meant_as_member
}

default _meant_as_member := false

_meant_as_member if input.subject.type in {"user", "service_account"}
