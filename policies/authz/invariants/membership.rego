package authz.invariants

# A deleted tenant and a deleted membership have the same code: in both cases the token is out of date.
denials contains "no_active_membership" if {
	_action.needs_tenant
	not _active_member
}

default _active_member := false

_active_member if {
	is_object(input.tenant)
	input.subject.membership.status == "active"
}

# A subject of an application's own type is never a member. It has no roles, and only policies about everyone apply.
_active_member if {
	input.application
	is_object(input.tenant)
	is_null(input.subject.membership)
	not _is_member_type
}

default _is_member_type := false

_is_member_type if input.subject.type in {"user", "service_account"}
