package authz.invariants

import data.lib

# A rule with an undefined operand does not apply, even a rule that denies, and there is no error. So this file requires
# everything that any rule reads. An action that is not in the catalogue counts as missing.
denials contains "incomplete_input" if not _complete

default _complete := false

# Each part is passed as an argument, because a path from `input` costs a lookup per step. Words are compared one by
# one, because a set of words is built again for each use.
_complete if {
	is_string(input.request_id)
	is_number(input.now)
	_is_phase(input.phase)
	is_boolean(input.application)
	is_object(_action)
	_subject_complete(input.subject)
	_session_complete(input.subject.session)
	_membership_complete(input.subject.membership)
	_tenant_complete(input.tenant)
	_resource_complete(input.resource)
	_policies_complete(data.slice)
	is_object(input.attrs)
	is_boolean(input.others_can_approve)
	_approval_complete(input.approval)
}

_is_phase(phase) if {
	phase == "resource"
} else if phase == "route"

_subject_complete(subject) if {
	_kind_complete(subject)
	is_string(subject.id)
	is_string(subject.tenant_id)
}

# The subject of an application's question can be of the application's own type, without a session.
_kind_complete(subject) if {
	subject.type == "user"
} else if {
	subject.type == "service_account"
} else if {
	input.application
	is_string(subject.type)
}

_session_complete(session) if {
	is_null(session)
	input.application
} else if {
	_is_token(session.token)
} else if {
	_has_scopes(session.token)
	is_boolean(session.in_scope)
}

_has_scopes(token) if {
	token == "key"
} else if token == "oauth"

_is_token(token) if {
	token == "access"
} else if {
	token == "otp_pending"
} else if token == "impersonation"

_membership_complete(membership) if {
	is_null(membership)
} else if {
	_is_membership_status(membership.status)
	is_array(membership.system_roles)
	is_array(membership.role_ids)
	is_array(membership.permissions)
	lib.nullable_text(membership.department_id)
}

_tenant_complete(tenant) if {
	is_null(tenant)
} else if {
	is_string(tenant.id)
	_is_tenant_status(tenant.status)
}

_resource_complete(resource) if {
	is_string(resource.type)
	lib.nullable_text(resource.id)
	lib.nullable_text(resource.tenant_id)
	lib.nullable_text(resource.owner_id)
}

_policies_complete(slice) if {
	lib.nullable_text(slice.tenant_id)
	is_boolean(slice.looks_at_resource)
	is_object(slice.policies)
	is_boolean(slice.deny.filled)
	is_boolean(slice.gate.filled)
	is_boolean(slice.allow.filled)
	is_boolean(slice.duty.filled)
}

_approval_complete(approval) if {
	is_null(approval)
} else if {
	is_string(approval.subject_id)
	is_string(approval.action)
	is_string(approval.resource_type)
	lib.nullable_text(approval.resource_id)
	is_number(approval.valid_until)
	is_array(approval.gates)
}

_is_membership_status(status) if {
	status == "active"
} else if status == "suspended"

_is_tenant_status(status) if {
	status == "active"
} else if {
	status == "suspended"
} else if status == "archived"
