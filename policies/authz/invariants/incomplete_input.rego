package authz.invariants

import data.lib

# An undefined operand makes a rule silently not apply, a denying one too. So whatever any rule reads is
# demanded here once, and an action that the catalogue does not know counts as missing.
denials contains "incomplete_input" if not _complete

default _complete := false

_complete if {
	is_string(input.request_id)
	is_number(input.now)
	input.phase in {"route", "resource"}
	is_object(_action)
	_subject_complete
	_session_complete
	_membership_complete
	_tenant_complete
	_resource_complete
	_environment_complete
}

_subject_complete if {
	input.subject.type == "user"
	is_string(input.subject.id)
	is_string(input.subject.email)
	is_boolean(input.subject.email_verified)
	is_string(input.subject.tenant_id)
}

_session_complete if {
	is_string(input.subject.session.id)
	is_string(input.subject.session.acr)
	is_array(input.subject.session.amr)
	is_number(input.subject.session.auth_time)
	input.subject.session.token in {"access", "otp_pending"}
}

_membership_complete if is_null(input.subject.membership)

_membership_complete if {
	is_string(input.subject.membership.id)
	input.subject.membership.status in {"active", "suspended"}
	is_array(input.subject.membership.system_roles)
	is_array(input.subject.membership.role_ids)
	is_array(input.subject.membership.permissions)
	lib.nullable_text(input.subject.membership.department_id)
	is_number(input.subject.membership.joined_at)
}

_tenant_complete if is_null(input.tenant)

_tenant_complete if {
	is_string(input.tenant.id)
	input.tenant.status in {"active", "suspended", "archived"}
	is_boolean(input.tenant.require_mfa)
}

_resource_complete if {
	is_string(input.resource.type)
	lib.nullable_text(input.resource.id)
	lib.nullable_text(input.resource.tenant_id)
	lib.nullable_text(input.resource.owner_id)
}

_environment_complete if {
	lib.nullable_text(input.environment.ip)
	lib.nullable_text(input.environment.user_agent)
}
