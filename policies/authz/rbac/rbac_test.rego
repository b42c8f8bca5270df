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

test_every_member_is_permitted_an_open_action if _outcome({"action": "approval_request:approve"}) == "open_to_members"

test_an_own_object_is_permitted if {
	_outcome({"action": "decision:read", "resource": {"owner_id": "user-1"}}) == "own"
}

test_the_route_phase_accepts_a_grant_on_own_objects if {
	_outcome({"action": "decision:read", "phase": "route"}) == "own"
}

test_an_object_of_another_person_is_not_permitted if {
	_outcome({"action": "decision:read", "resource": {"owner_id": "user-2"}}) == "not_owner"
}

test_an_action_of_no_role_is_a_missing_permission if _outcome({"action": "role:create"}) == "missing_permission"

test_granted_follows_the_outcome if {
	rbac.granted with input as base
	not rbac.granted with input as object.union(base, {"action": "role:create"})
}

_outcome(changes) := outcome if {
	outcome := rbac.outcome with input as object.union(base, changes)
}
