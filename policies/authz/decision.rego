# METADATA
# title: The decision
# description: >-
#   Combines the layers. The default is deny. First an invariant can deny, then a rule of the installation, then a deny
#   policy. After that, a role or an allow policy has to grant, and every gate needs an approval.
# schemas:
#   - input: schema.input
package authz

import data.authz.abac
import data.authz.approval
import data.authz.invariants
import data.authz.obligations
import data.authz.platform
import data.authz.rbac

# Without the ids of the request, the host treats this as a failure of the engine.
default decision := {"effect": "deny"}

# METADATA
# title: Decision
# description: >-
#   Decides one request. The answer repeats `request_id` and `tenant_id`, so that the host can check that it belongs to
#   the request. Clients see the first reason.
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

# Each list of policies is computed only when the chain reaches it.
_verdict := _deny(invariants.reasons, []) if {
	count(invariants.denials) > 0
} else := _deny(platform.denials, []) if {
	count(platform.denials) > 0
} else := _deny(_reasons("policy_deny", abac.denies), abac.denies) if {
	count(abac.denies) > 0
} else := _plain_grant if {
	rbac.granted
	count(abac.gates) == 0
	count(abac.duties) == 0
	count(platform.demands) == 0
} else := _deny(_ungranted_reasons, []) if {
	not _granted
} else := {
	"effect": "require_approval",
	"reasons": _reasons("policy_gate", abac.open_gates),
	"matched": _heads(abac.open_gates),
	"obligations": obligations.merged(array.concat(abac.open_gates, platform.demands)),
	"approval": approval.specification(abac.open_gates),
	"provisional": false,
} if {
	count(abac.open_gates) > 0
} else := {
	"effect": "allow",
	"reasons": array.concat(_grant_reasons, _reasons("approval_granted", abac.gates)),
	"matched": _heads(_binding),
	"obligations": obligations.merged(array.concat(_binding, platform.demands)),
	"approval": null,
	"provisional": _provisional,
}

# The common case, without the work that only policies need.
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
	"obligations": _obligations_of_denial(policies),
	"approval": null,
	"provisional": false,
}

default _granted := false

_granted if rbac.granted

_granted if count(abac.allows) > 0

_rbac_reason := {"code": rbac.outcome, "layer": "rbac"}

# Where a policy about the subject does not apply, its condition is why, and not the roles.
_ungranted_reasons := [{"code": "policy_not_met", "layer": "policy"}, _rbac_reason] if {
	abac.could_permit
} else := [_rbac_reason]

_grant_reasons := [_rbac_reason] if {
	rbac.granted
} else := _reasons("policy_allow", abac.allows)

# The policies whose obligations bind the answer: the approved gates, and the policies that permit.
_binding := array.concat(abac.duties, abac.gates) if {
	rbac.granted
} else := array.concat(abac.allows, abac.gates)

# If no policy is about the subject, the resource cannot change what the policies decide.
_provisional if {
	abac.facts_known == false
	_pending
} else if {
	platform.looks_at_resource
	input.phase == "route"
} else := false

_pending if {
	abac.undecided
} else if {
	count(abac.duties) > 0
} else if {
	not rbac.granted
	count(abac.allows) > 0
}

# The service has no answer to change after a denial, but an application can act on the obligations.
_obligations_of_denial(policies) := obligations.merged(policies) if {
	input.application
} else := []

_reasons(code, policies) := [{"code": code, "layer": "policy", "policy_id": policy.h.policy_id} |
	some policy in policies
]

_heads(policies) := [policy.h | some policy in policies]
