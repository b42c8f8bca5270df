package authz.abac_test

import data.authz
import data.cases.base

test_a_key_without_a_policy_denies_and_gates if {
	admin := object.union(base, {
		"action": "member:create",
		"subject": {"membership": {"system_roles": ["admin"]}},
	})
	_decided(admin, []).effect == "allow"
	denied := _decided(admin, [{"op": "add", "path": "deny/any", "value": ["none"]}])
	denied.effect == "deny"
	gated := _decided(admin, [{"op": "add", "path": "gate/any", "value": ["none"]}])
	gated.effect == "require_approval"
}

test_a_key_without_a_policy_grants_nothing if {
	member := object.union(base, {"action": "department:create"})
	answer := _decided(member, [{"op": "add", "path": "allow/any", "value": ["none"]}])
	answer.effect == "deny"
}

_decided(question, changes) := answer if {
	slice := json.patch(data.slice, changes)
	answer := authz.decision with input as question with data.slice as slice
}
