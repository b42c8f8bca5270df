# METADATA
# title: Policies of the tenant
# description: >-
#   Which policies of the slice (`data.slice`) apply. An allow applies where its condition is proven, a deny or a
#   gate unless the negation of its condition is proven: what is missing never opens. A list that is not filled
#   costs one look.
# schemas:
#   - input: schema.input
package authz.abac

import data.authz.approval
import data.lib

default whole := false

# METADATA
# title: Whole
# description: >-
#   Whether everything the policies look at is known. If not, the route phase asks only whether a policy could
#   permit, and the resource phase decides.
whole if input.phase == "resource"

whole if data.slice.looks_at_resource == false

default denies := []

# METADATA
# title: Denies
# description: The deny policies that apply.
denies := [policy |
	some policy in _relevant(data.slice.deny)
	proven(policy, input.attrs) == false
] if {
	data.slice.deny.filled
	whole
	not _shielded
}

default allows := []

# METADATA
# title: Allows
# description: The allow policies that apply to an action they can grant; where not all is known, that could.
allows := [policy |
	some policy in _relevant(data.slice.allow)
	proven(policy, input.attrs)
] if {
	data.slice.allow.filled
	_action.widen
	whole
} else := _relevant(data.slice.allow) if {
	data.slice.allow.filled
	_action.widen
}

default duties := []

# METADATA
# title: Duties
# description: >-
#   The allow policies with obligations that apply, where a role grants already: what they demand of the answer
#   is demanded all the same. Where not all is known, those that could apply.
duties := [policy |
	some policy in _relevant(data.slice.duty)
	proven(policy, input.attrs)
] if {
	data.slice.duty.filled
	_action.widen
	whole
} else := _relevant(data.slice.duty) if {
	data.slice.duty.filled
	_action.widen
}

default gates := []

# METADATA
# title: Gates
# description: The gates that apply, answered or not.
gates := [policy |
	some policy in _relevant(data.slice.gate)
	proven(policy, input.attrs) == false
] if {
	data.slice.gate.filled
	_gated
	whole
}

default awaited := false

# METADATA
# title: Awaited
# description: Whether a deny or a gate is about the subject that may apply once the resource is known.
awaited if {
	data.slice.deny.filled
	not _shielded
	count(_relevant(data.slice.deny)) > 0
}

awaited if {
	data.slice.gate.filled
	_gated
	count(_relevant(data.slice.gate)) > 0
}

# METADATA
# title: Open gates
# description: The gates that no approval answers.
open_gates := [policy |
	some policy in gates
	approval.answers(policy.h) == false
]

_action := lib.action(input.action, input.application)

default _shielded := false

# One's own profile, sessions and factors are out of reach of a policy, or a tenant could lock people in.
_shielded if _action.shield == "everyone"

# An owner can always read and mend the policies.
_shielded if {
	_action.shield == "owner"
	_owner
}

default _gated := false

_gated if {
	_action.gate
	not _sole_approver
}

default _sole_approver := false

# A gate nobody else can answer would lock an owner out of mending it.
_sole_approver if {
	_shielded
	input.others_can_approve == false
}

default _owner := false

_owner if "owner" in input.subject.membership.system_roles

# Lists hold keys of `data.slice.policies`, so that a policy stands once however many principals it names. A policy
# about several of the subject's principals comes once for each; the host drops repetitions.
_relevant(lists) := [object.get(data.slice.policies, key, _absent) | some key in _keys(lists)]

# Stands for a policy that is not there, which is a fault of the host. It proves nothing, so it denies and never
# allows, and as a gate no role can answer it. The host refuses an answer that names it.
_absent := {
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

# The id of somebody who is no member is not one of ours, whatever it reads.
_member := input.subject.id if is_object(input.subject.membership)

# METADATA
# title: About the subject
# description: Whether subjects, as a policy names them, include the one who asks.
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
