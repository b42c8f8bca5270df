package authz_test

import data.authz
import data.cases.base

test_a_member_reads_the_tenant if {
	authz.decision == {
		"request_id": "request-1",
		"tenant_id": "tenant-1",
		"effect": "allow",
		"reasons": [{"code": "role_grant", "layer": "rbac"}],
		"matched": [],
		"obligations": [],
		"approval": null,
		"provisional": false,
	} with input as base
}

test_a_role_does_not_lift_an_invariant if {
	closed := object.union(base, {"tenant": {"status": "suspended"}, "action": "member:list"})
	answer := authz.decision with input as closed
	answer.effect == "deny"
	answer.reasons == [{"code": "tenant_suspended", "layer": "invariant"}]
}

test_without_a_grant_the_answer_is_deny if {
	asked := object.union(base, {"action": "tenant:delete"})
	answer := authz.decision with input as asked
	answer.effect == "deny"
	answer.reasons == [{"code": "missing_permission", "layer": "rbac"}]
}

test_an_allow_policy_that_does_not_apply_is_why_before_the_roles if {
	asked := object.union(base, {"action": "department:create"})
	policy := {"h": {"policy_id": "a"}, "all": {"g": {"o": "eq", "k": "subject.x", "v": 1, "w": true}, "l": [], "c": []}}
	slice := json.patch(data.slice, [
		{"op": "add", "path": "policies/0", "value": policy},
		{"op": "add", "path": "allow/any", "value": ["0"]},
		{"op": "add", "path": "allow/filled", "value": true},
	])
	answer := authz.decision with input as asked with data.slice as slice
	answer.effect == "deny"
	answer.reasons == [{"code": "policy_not_met", "layer": "policy"}, {"code": "missing_permission", "layer": "rbac"}]
	others := json.patch(slice, [
		{"op": "add", "path": "allow/any", "value": []},
		{"op": "add", "path": "allow/role/other", "value": ["0"]},
	])
	about_others := authz.decision with input as asked with data.slice as others
	about_others.reasons == [{"code": "missing_permission", "layer": "rbac"}]
}

test_the_default_is_deny_without_the_ids_of_the_request if {
	authz.decision == {"effect": "deny"} with authz._verdict as {} with input as base
}
