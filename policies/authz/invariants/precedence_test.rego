package authz.invariants_test

import data.authz.invariants
import data.cases.base

test_every_denial_has_a_rank if {
	given := {"subject": {"membership": null, "session": {"token": "x"}}, "tenant": null, "action": "role:list"}
	denials := _denied(given)
	count(denials) == 4
	every code in denials {
		code in invariants.precedence
	}
}

test_reasons_follow_the_precedence if {
	given := object.union(base, {"subject": {"membership": null}, "resource": {"tenant_id": "tenant-2"}})
	reasons := invariants.reasons with input as given
	[reason.code | some reason in reasons] == ["no_active_membership", "tenant_isolation"]
}

# For all files of this package.
_denied(changes) := denials if {
	denials := invariants.denials with input as object.union(base, changes)
}
