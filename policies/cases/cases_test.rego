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

test_incomplete[path] if {
	some path in cases.incomplete
	given := json.patch(cases.base, [{"op": "remove", "path": path}])
	authz.decision.effect == "deny" with input as given
	authz.decision.reasons[0].code == "incomplete_input" with input as given
}

test_nothing_at_all_is_denied if authz.decision.effect == "deny" with input as {}

test_every_action_has_a_row if {
	{action | some action, _ in cases.roles.rows} == {action | some action, _ in data.catalogue.actions}
}

_answers(case) if {
	given := _with(case.set)
	authz.decision.effect == case.effect with input as given
	[reason.code | some reason in authz.decision.reasons] == case.codes with input as given
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
	answer := authz.decision with input as given
	[answer.effect, answer.reasons] != [_effect(code), [{"code": code, "layer": "rbac"}]]
}

_phases := {"route": "route", "own": "resource", "foreign": "resource"}

_owners := {"route": null, "own": "user-1", "foreign": "user-2"}

_with(changes) := json.patch(cases.base, [{"op": "add", "path": path, "value": value} |
	some path, value in changes
])

_effect(code) := "allow" if {
	code in {"role_grant", "own", "open_to_members"}
} else := "deny"
