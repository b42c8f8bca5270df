# METADATA
# title: The decision
# description: >-
#   Combines the layers. Default deny; an invariant that denies is final, then a deny policy; then a role or an
#   allow policy has to grant, and no gate may be open.
# schemas:
#   - input: schema.input
package authz

import data.authz.abac
import data.authz.approval
import data.authz.invariants
import data.authz.obligations
import data.authz.rbac

# Echoes nothing, so the host takes it for a failure of the engine and not for an answer.
default decision := {"effect": "deny"}

# METADATA
# title: Decision
# description: >-
#   Answers one request. `request_id` and `tenant_id` are echoed, so that the host can tell this answer from
#   another's; the first reason is the one a client is told.
# entrypoint: true
decision := {
	"request_id": object.get(input, "request_id", null),
	"tenant_id": object.get(input, ["subject", "tenant_id"], null),
	"effect": _verdict.effect,
	"reasons": _verdict.reasons,
	"matched": _verdict.matched,
	"obligations": _verdict.obligations,
	"approval": _verdict.approval,
	"provisional": _verdict.provisional,
}

# Lazy: each list of policies costs only where it is reached.
_verdict := _deny(invariants.reasons, []) if {
	count(invariants.denials) > 0
} else := _deny(_reasons("policy_deny", abac.denies), abac.denies) if {
	count(abac.denies) > 0
} else := _plain_grant if {
	rbac.granted
	count(abac.gates) == 0
	count(abac.duties) == 0
} else := _deny([_rbac_reason], []) if {
	not _granted
} else := {
	"effect": "require_approval",
	"reasons": _reasons("policy_gate", abac.open_gates),
	"matched": _heads(abac.open_gates),
	"obligations": obligations.merged(abac.open_gates),
	"approval": approval.specification(abac.open_gates),
	"provisional": false,
} if {
	count(abac.open_gates) > 0
} else := {
	"effect": "allow",
	"reasons": array.concat(_grounds, _reasons("approval_granted", abac.gates)),
	"matched": _heads(_demanding),
	"obligations": obligations.merged(_demanding),
	"approval": null,
	"provisional": _provisional,
}

# The common case, spared what only policies need.
_plain_grant := {
	"effect": "allow",
	"reasons": [_rbac_reason],
	"matched": [],
	"obligations": [],
	"approval": null,
	"provisional": _provisional,
}

_deny(reasons, policies) := {
	"effect": "deny",
	"reasons": reasons,
	"matched": _heads(policies),
	"obligations": _handed_on(policies),
	"approval": null,
	"provisional": false,
}

default _granted := false

_granted if rbac.granted

_granted if count(abac.allows) > 0

_rbac_reason := {"code": rbac.outcome, "layer": "rbac"}

_grounds := [_rbac_reason] if {
	rbac.granted
} else := _reasons("policy_allow", abac.allows)

# What the answer is bound by: the gates that were answered, and the policies that permit.
_demanding := array.concat(abac.duties, abac.gates) if {
	rbac.granted
} else := array.concat(abac.allows, abac.gates)

# Where no policy is about the subject, nothing is left open that the resource could answer.
_provisional if {
	abac.whole == false
	_pending
} else := false

_pending if {
	abac.awaited
} else if {
	count(abac.duties) > 0
} else if {
	not rbac.granted
	count(abac.allows) > 0
}

# With a denial nothing is left to change; only an application may have something to do.
_handed_on(policies) := obligations.merged(policies) if {
	input.application
} else := []

_reasons(code, policies) := [{"code": code, "layer": "policy", "policy_id": policy.h.policy_id} |
	some policy in policies
]

_heads(policies) := [policy.h | some policy in policies]
