package authz.invariants_test

import data.authz.invariants
import data.cases.base

test_a_complete_input_of_a_member_is_not_denied if {
	invariants.denials == set() with input as base
}

test_incomplete_input_denies if {
	_denied({"now": null}) == {"incomplete_input"}
}

test_token_kind_denies if {
	_denied({"subject": {"session": {"token": "otp_pending"}}}) == {"otp_required"}
}

test_token_kind_allows if {
	_denied({"subject": {"session": {"token": "otp_pending"}}, "action": "otp:verify"}) == set()
}

test_membership_denies if {
	_denied({"subject": {"membership": null}}) == {"no_active_membership"}
}

test_membership_allows_what_needs_none if {
	_denied({"subject": {"membership": null}, "action": "session:logout"}) == set()
}

test_tenant_state_denies if {
	_denied({"tenant": {"status": "archived"}, "action": "role:list"}) == {"tenant_archived"}
}

test_tenant_state_allows_reading if {
	_denied({"tenant": {"status": "archived"}}) == set()
}

test_isolation_denies if {
	_denied({"resource": {"tenant_id": "tenant-2"}}) == {"tenant_isolation"}
}

test_isolation_allows_no_tenant_where_none_is_needed if {
	_denied({"resource": {"tenant_id": null}, "action": "tenant:list"}) == set()
}

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

_denied(changes) := denials if {
	denials := invariants.denials with input as object.union(base, changes)
}
