# METADATA
# title: The decision
# description: Combines the layers. Default deny; an invariant that denies is final; then the roles decide.
# schemas:
#   - input: schema.input
package authz

import data.authz.invariants
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
	"matched": [],
	"obligations": [],
}

_verdict := {"effect": "deny", "reasons": invariants.reasons} if {
	count(invariants.denials) > 0
} else := {"effect": "allow", "reasons": [_rbac_reason]} if {
	rbac.granted
} else := {"effect": "deny", "reasons": [_rbac_reason]}

_rbac_reason := {"code": rbac.outcome, "layer": "rbac"}
