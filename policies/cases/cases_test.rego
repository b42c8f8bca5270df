# METADATA
# title: Golden cases
# description: The same files are run against the compiled module by the service's own tests and at its start.
package cases_test

import data.authz
import data.cases

test_role_table[action] if {
	some action, row in cases.roles.rows
	count(_wrong_marks(action, row)) == 0
}

test_invariants[name] if {
	some name, case in cases.invariants
	_answers(case)
}

test_grants[name] if {
	some name, case in cases.grants
	_answers(case)
}

test_policies[name] if {
	some name, case in cases.policies
	_answers(case)
}

test_operators[name] if {
	some name, row in cases.operators
	count(_wrong_outcomes(row)) == 0
}

test_incomplete[path] if {
	some path in cases.incomplete
	answer := _decided(json.patch(_whole, [{"op": "remove", "path": path}]))
	answer.effect == "deny"
	answer.reasons[0].code == "incomplete_input"
}

test_nothing_at_all_is_denied if authz.decision.effect == "deny" with input as {}

test_every_action_has_a_row if {
	{action | some action, _ in cases.roles.rows} == {action | some action, _ in data.catalogue.actions}
}

_answers(case) if {
	answer := _decided(_with(case.set))
	answer.effect == case.effect
	[reason.code | some reason in answer.reasons] == case.codes
	object.subset(answer, object.get(case, "answer", {}))
}

_wrong_marks(action, row) := {[role, kind] |
	some index, role in cases.roles.columns
	some kind, code in cases.roles.marks[split(row, " ")[index]]
	given := _with({
		"action": action,
		"phase": _phases[kind],
		"subject/membership/system_roles": [role],
		"resource/owner_id": _owners[kind],
	})
	answer := _decided(given)
	[answer.effect, answer.reasons] != [_effect(code), [{"code": code, "layer": "rbac"}]]
}

# Each operator in a policy of each effect, with a value that fits, one that does not, one of a wrong type and none.
_wrong_outcomes(row) := {[effect, situation] |
	some effect, outcome in cases.outcomes
	some situation in ["true", "false", "wrong", "ill-typed", "missing"]
	attrs := _attrs(row, situation)
	expected := object.get(outcome.answers, _outcome(row, situation), outcome.answers.unknown)
	answer := _decided(_with(object.union(outcome.set, {
		"attrs": object.union(attrs, object.get(row, "attrs", {})),
		concat("/", ["slice", effect, "any"]): [_policy(row.leaf, effect)],
	})))
	[answer.effect, answer.reasons[0].code] != expected
}

_attrs(row, situation) := {} if {
	situation == "missing"
} else := {"subject.x": null} if {
	situation == "ill-typed"
} else := {"subject.x": row[situation]}

_outcome(row, situation) := object.get(row, "missing", "unknown") if {
	situation == "missing"
} else := situation

_policy(leaf, effect) := object.union(_proof(object.union({"k": "subject.x"}, leaf), effect), {
	"h": {"policy_id": "p", "version": 1, "name": "P", "effect": effect, "priority": 0},
	"approval": {"quorum": 1, "approver": {"roles": ["owner"]}, "expires_in": 60, "valid_for": 60},
})

_proof(leaf, effect) := {"all": {"g": leaf, "l": [], "c": []}} if {
	effect == "allow"
} else := {"any": {"g": object.union(leaf, {"w": [true, false][_flipped[leaf.w]]}), "l": [], "c": []}}

_flipped := {true: 1, false: 0}

_phases := {"route": "route", "own": "resource", "foreign": "resource"}

_owners := {"route": null, "own": "user-1", "foreign": "user-2"}

# The slice stands beside the members of the input here, so that one list of paths changes both.
_whole := object.union(cases.base, {"slice": cases.slice})

_decided(whole) := answer if {
	slice := object.get(whole, "slice", null)
	answer := authz.decision with input as object.remove(whole, ["slice"]) with data.slice as slice
}

_with(changes) := json.patch(_whole, [{"op": "add", "path": path, "value": value} |
	some path, value in changes
])

_effect(code) := "allow" if {
	code in {"role_grant", "own", "open_to_members"}
} else := "deny"
