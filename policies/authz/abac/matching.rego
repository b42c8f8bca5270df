# METADATA
# title: Matching
# description: >-
#   Which policies of the slice (`data.slice`) apply. An allow applies if its condition is proven. A deny or a gate
#   applies unless the negation of its condition is proven, so a missing value never permits. `filled` makes an empty
#   list cheap.
# schemas:
#   - input: schema.input
package authz.abac

import data.authz.approval
import data.lib

default facts_known := false

# METADATA
# title: Facts known
# description: >-
#   Whether everything that the policies read is known. If not, the route phase checks only whether a policy could
#   permit, and the resource phase decides.
facts_known if input.phase == "resource"

facts_known if data.slice.looks_at_resource == false

default denies := []

# METADATA
# title: Denies
# description: The deny policies that apply.
denies := [policy |
	attrs := input.attrs
	some policy in _for_subject(data.slice.deny)
	proven(policy, attrs) == false
] if {
	data.slice.deny.filled
	facts_known
	not _exempt
}

default allows := []

# METADATA
# title: Allows
# description: The allow policies that apply, if a policy can grant the action. With unknown facts, those that could.
allows := [policy |
	attrs := input.attrs
	some policy in _for_subject(data.slice.allow)
	proven(policy, attrs)
] if {
	data.slice.allow.filled
	_action.widen
	facts_known
} else := _for_subject(data.slice.allow) if {
	data.slice.allow.filled
	_action.widen
}

default could_permit := false

# METADATA
# title: Could permit
# description: Whether an allow policy is about the subject, whether it applies or not.
could_permit if {
	data.slice.allow.filled
	_action.widen
	count(_keys(data.slice.allow)) > 0
}

default duties := []

# METADATA
# title: Duties
# description: >-
#   The allow policies with obligations that apply. Their obligations bind the answer even if a role grants the
#   action. With unknown facts, those that could apply.
duties := [policy |
	some policy in _for_subject(data.slice.duty)
	proven(policy, input.attrs)
] if {
	data.slice.duty.filled
	_action.widen
	facts_known
} else := _for_subject(data.slice.duty) if {
	data.slice.duty.filled
	_action.widen
}

default gates := []

# METADATA
# title: Gates
# description: The gates that apply, with or without an approval.
gates := [policy |
	attrs := input.attrs
	some policy in _for_subject(data.slice.gate)
	proven(policy, attrs) == false
] if {
	data.slice.gate.filled
	_gated
	facts_known
}

default undecided := false

# METADATA
# title: Undecided
# description: Whether a deny or a gate about the subject could apply once the resource is known.
undecided if {
	data.slice.deny.filled
	not _exempt
	count(_for_subject(data.slice.deny)) > 0
}

undecided if {
	data.slice.gate.filled
	_gated
	count(_for_subject(data.slice.gate)) > 0
}

# METADATA
# title: Open gates
# description: The gates that no approval satisfies.
open_gates := [policy |
	some policy in gates
	approval.satisfies(policy.h) == false
]

_action := lib.action(input.action, input.application)

default _exempt := false

# Policies cannot restrict a person's own profile, sessions and factors. Otherwise a tenant could lock people in.
_exempt if _action.exempt == "everyone"

# An owner can always read and repair the policies.
_exempt if {
	_action.exempt == "owner"
	_owner
}

default _gated := false

_gated if {
	_action.gate
	not _sole_approver
}

default _sole_approver := false

# If no other member can approve, a gate would prevent an owner from repairing it.
_sole_approver if {
	_exempt
	input.others_can_approve == false
}

default _owner := false

_owner if "owner" in input.subject.membership.system_roles

# Lists have keys of `data.slice.policies`, so that each policy is stored once for any number of principals. A policy
# about several principals of the subject appears once for each; the host removes repetitions.
_for_subject(lists) := [object.get(policies, key, missing) |
	policies := data.slice.policies
	missing := _missing_policy
	some key in _keys(lists)
]

# Stands for a key without a policy, which is a fault of the host. It proves nothing: as a deny it applies, as an allow
# it does not, and as a gate no role can approve. The host refuses an answer that names it.
_missing_policy := {
	"h": {"policy_id": "", "version": 0},
	"approval": {"quorum": 1, "approver": {"roles": []}, "expires_in": 1, "valid_for": 1},
}

_keys(lists) := array.concat(
	lists.any,
	array.concat(
		[key | some id in _roles; some key in lists.role[id]],
		array.concat(
			[key | some key in lists.department[input.subject.membership.department_id]],
			[key | some key in lists.user[_member]],
		),
	),
)

default _roles := []

_roles := array.concat(input.subject.membership.system_roles, input.subject.membership.role_ids)

# The id of a subject that is not a member belongs to the application, even if it equals the id of a user.
_member := input.subject.id if is_object(input.subject.membership)

# METADATA
# title: About the subject
# description: Whether the subjects of a policy include the subject of the request.
about_subject(subjects) if {
	(count(subjects.roles) + count(subjects.departments)) + count(subjects.users) == 0
} else if {
	some id in _roles
	id in subjects.roles
} else if {
	input.subject.membership.department_id in subjects.departments
} else if {
	_member in subjects.users
} else := false
