package authz.platform_test

import data.authz
import data.authz.platform
import data.cases.base

test_there_are_no_rules if {
	platform.looks_at_resource == false
	platform.denials == []
	platform.demands == []
}

_reason := {"code": "platform_rule", "layer": "invariant", "rule": "night", "message": "Not at night."}

_mask := {"type": "mask_fields", "properties": {"fields": ["email"]}}

test_a_denial_overrides_a_role if {
	answer := authz.decision with input as base with platform.denials as [_reason]
	answer.effect == "deny"
	answer.reasons == [_reason]
}

test_an_invariant_comes_first if {
	given := object.union(base, {"tenant": {"status": "suspended"}, "action": "role:list"})
	answer := authz.decision with input as given with platform.denials as [_reason]
	answer.reasons[0].code == "tenant_suspended"
}

test_a_demand_binds_what_a_role_grants if {
	answer := authz.decision with input as base with platform.demands as [{"obligations": [_mask]}]
	answer.effect == "allow"
	answer.obligations == [_mask]
}

test_a_demand_grants_nothing if {
	given := object.union(base, {"action": "role:create"})
	answer := authz.decision with input as given with platform.demands as [{"obligations": [_mask]}]
	answer.effect == "deny"
}

test_a_rule_about_the_resource_leaves_the_route_open if {
	given := object.union(base, {"phase": "route"})
	answer := authz.decision with input as given with platform.looks_at_resource as true
	answer.provisional
	decided := authz.decision with input as base with platform.looks_at_resource as true
	decided.provisional == false
}
