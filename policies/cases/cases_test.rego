# METADATA
# title: Golden cases
# description: The service's tests and its start evaluate these and the table of roles in the compiled module.
package cases_test

import data.authz
import data.authz.abac
import data.cases

test_invariants[name] if {
	some name, case in cases.invariants
	_answers(case)
}

test_grants[name] if {
	some name, case in cases.grants
	_answers(case)
}

# A row says what is given, and the effect and the code of the answer.
test_combining[given] if {
	some given, row in cases.combining
	[effect, code] := split(row, " ")
	_answers({"given": given, "effect": effect, "codes": [code]})
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

test_an_empty_input_is_denied if authz.decision.effect == "deny" with input as {}

test_every_action_has_a_row if {
	{action | some action, _ in cases.roles.rows} == {action | some action, _ in data.catalogue.actions}
}

_answers(case) if {
	answer := _decided(_with(_changes(case)))
	answer.effect == case.effect
	[reason.code | some reason in answer.reasons] == case.codes
	object.subset(answer, object.get(case, "answer", {}))
}

_changes(case) := object.union_n(array.concat(
	[_part(word) | some word in split(object.get(case, "given", ""), " ")],
	[object.get(case, "set", {})],
))

# Each word of `given` is an action or a part.
_part(word) := {"action": word} if {
	contains(word, ":")
} else := object.get(cases.parts, word, {})

# What each operator proves (for an allow) and what its opposite proves (for a deny or a gate): with a value that
# matches, one that does not, one of a wrong type and none. The compiled module answers the same as whole decisions.
_wrong_outcomes(row) := {[situation, wanted] |
	some situation in ["true", "false", "wrong", "ill-typed", "missing"]
	attrs := object.union(_attrs(row, situation), object.get(row, "attrs", {}))
	some wanted in ["true", "false"]
	abac.proven(_proof(row.leaf, wanted), attrs) != _expected(_outcome(row, situation), wanted)
}

_expected(outcome, wanted) if {
	outcome == wanted
} else := false

_attrs(row, situation) := {} if {
	situation == "missing"
} else := {"subject.x": null} if {
	situation == "ill-typed"
} else := {"subject.x": row[situation]}

_outcome(row, situation) := object.get(row, "missing", "unknown") if {
	situation == "missing"
} else := situation

_proof(leaf, wanted) := {"all": {"g": object.union({"k": "subject.x"}, leaf), "l": [], "c": []}} if {
	wanted == "true"
} else := {"any": {"g": object.union({"k": "subject.x"}, object.union(leaf, {"w": leaf.w == false})), "l": [], "c": []}}

# Here the slice is a member of the input, so that one list of paths changes both. Replacing data makes an evaluation
# slow, so this is done only for cases that change the slice.
_whole := object.union(cases.base, {"slice": data.slice})

_decided(whole) := answer if {
	whole.slice == data.slice
	answer := authz.decision with input as object.remove(whole, ["slice"])
} else := answer if {
	slice := object.get(whole, "slice", null)
	answer := authz.decision with input as object.remove(whole, ["slice"]) with data.slice as slice
}

_with(changes) := json.patch(_whole, [{"op": "add", "path": path, "value": value} |
	some path, value in changes
])
