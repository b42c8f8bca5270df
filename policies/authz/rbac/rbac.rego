# METADATA
# title: Roles
# description: What system roles, a tenant's own roles and ownership permit.
# schemas:
#   - input: schema.input
package authz.rbac

import data.lib

default granted := false

# METADATA
# title: Granted
# description: Whether the roles permit the action; in the route phase, whether they could.
granted if _grants(outcome)

_grants(code) if {
	code == "role_grant"
} else if {
	code == "open_to_members"
} else if code == "own"

# METADATA
# title: Outcome
# description: How the roles decide, as the code of the reason.
outcome := "role_grant" if {
	_by_role
} else := "role_grant" if {
	_by_permission
} else := "open_to_members" if {
	_action.open
} else := "own" if {
	_own_only
	_own_object
} else := "not_owner" if {
	_own_only
} else := "missing_permission"

_action := lib.action(input.action, input.application)

_by_role if {
	some role in input.subject.membership.system_roles
	_action.roles[role]
}

# A permission cannot grant an action that is only about oneself; such a permission has no effect.
_by_permission if {
	_action.permission
	some permission in input.subject.membership.permissions
	permission in {input.action, _wildcard}
}

_wildcard := _action.wildcard if {
	input.application == false
} else := concat(":", [split(input.action, ":")[0], "*"])

_own_only if _action.self

_own_only if {
	some role in input.subject.membership.system_roles
	_action.own[role]
}

# The object is not known yet, so the resource phase checks whether it is the subject's own.
_own_object if input.phase == "route"

_own_object if input.resource.owner_id == input.subject.id
