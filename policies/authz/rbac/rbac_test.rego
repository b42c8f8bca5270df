package authz.rbac_test

import data.authz.rbac
import data.cases.base

test_a_role_grants if _outcome({"action": "member:list"}) == "role_grant"

test_a_permission_grants if {
	_outcome({"action": "webhook:list", "subject": {"membership": {"permissions": ["webhook:*"]}}}) == "role_grant"
}

test_a_permission_about_oneself_grants_nothing if {
	given := {"subject": {"membership": {"permissions": ["profile:*"]}}, "resource": {"owner_id": "user-2"}}
	_outcome(object.union(given, {"action": "profile:update"})) == "not_owner"
}

test_open_actions_are_open if _outcome({"action": "approval_request:approve"}) == "open_to_members"

test_ones_own_is_granted if {
	_outcome({"action": "decision:read", "resource": {"owner_id": "user-1"}}) == "own"
}

test_the_route_phase_lets_an_own_grant_pass if {
	_outcome({"action": "decision:read", "phase": "route"}) == "own"
}

test_another_persons_is_not_granted if {
	_outcome({"action": "decision:read", "resource": {"owner_id": "user-2"}}) == "not_owner"
}

test_what_no_role_has_is_missing if _outcome({"action": "role:create"}) == "missing_permission"

test_granted_follows_the_outcome if {
	rbac.granted with input as base
	not rbac.granted with input as object.union(base, {"action": "role:create"})
}

_outcome(changes) := outcome if {
	outcome := rbac.outcome with input as object.union(base, changes)
}
