# METADATA
# title: Invariants
# description: Denials that no role and no policy can override. Each file adds its code to `denials`.
# schemas:
#   - input: schema.input
package authz.invariants

import data.lib

# METADATA
# title: Precedence
# description: The order of the reasons. Clients see the first one.
precedence := [
	"incomplete_input",
	"foreign_slice",
	"otp_required",
	"key_not_allowed",
	"impersonation_not_allowed",
	"application_not_allowed",
	"scope_missing",
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
