package authz.invariants

import data.lib

# An undefined operand makes a rule silently not apply, a denying one too. So whatever any rule reads is
# demanded here once, and an action that the catalogue does not know counts as missing.
denials contains "incomplete_input" if not _complete

default _complete := false

# Each part is handed on, because a path walked from `input` costs a lookup per step.
_complete if {
	is_string(input.request_id)
	is_number(input.now)
	input.phase in {"route", "resource"}
	is_object(_action)
	_subject_complete(input.subject)
	_session_complete(input.subject.session)
	_membership_complete(input.subject.membership)
	_tenant_complete(input.tenant)
	_resource_complete(input.resource)
	_environment_complete(input.environment)
}

_subject_complete(subject) if {
	subject.type == "user"
	is_string(subject.id)
	is_string(subject.email)
	is_boolean(subject.email_verified)
	is_string(subject.tenant_id)
}

_session_complete(session) if {
	is_string(session.id)
	is_string(session.acr)
	is_array(session.amr)
	is_number(session.auth_time)
	session.token in {"access", "otp_pending"}
}

_membership_complete(membership) if {
	is_null(membership)
} else if {
	is_string(membership.id)
	membership.status in {"active", "suspended"}
	is_array(membership.system_roles)
	is_array(membership.role_ids)
	is_array(membership.permissions)
	lib.nullable_text(membership.department_id)
	is_number(membership.joined_at)
}

_tenant_complete(tenant) if {
	is_null(tenant)
} else if {
	is_string(tenant.id)
	tenant.status in {"active", "suspended", "archived"}
	is_boolean(tenant.require_mfa)
}

_resource_complete(resource) if {
	is_string(resource.type)
	lib.nullable_text(resource.id)
	lib.nullable_text(resource.tenant_id)
	lib.nullable_text(resource.owner_id)
}

_environment_complete(environment) if {
	lib.nullable_text(environment.ip)
	lib.nullable_text(environment.user_agent)
}
