# METADATA
# title: Invariants
# description: What no role and no policy can lift. Each file adds the code of its denial to `denials`.
# schemas:
#   - input: schema.input
package authz.invariants

import data.lib

# METADATA
# title: Precedence
# description: The first denial of this order is the one a client is told.
precedence := [
	"incomplete_input",
	"foreign_slice",
	"otp_required",
	"no_active_membership",
	"tenant_suspended",
	"tenant_archived",
	"tenant_isolation",
]

# METADATA
# title: Reasons
# description: The denials in order of precedence.
reasons := [{"code": code, "layer": "invariant"} |
	some code in precedence
	code in denials
]

_action := lib.action(input.action, input.application)
