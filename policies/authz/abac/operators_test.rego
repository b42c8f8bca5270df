package authz.abac_test

import data.authz.abac

# Each operator with values of every kind is in cases/operators.json. Here is what the cases cannot say: a comparison
# that has no result proves neither itself nor its opposite.
test_a_comparison_has_a_result if {
	_holds("eq", 1, 1) == [true, false]
	_holds("eq", 1, 2) == [false, true]
	_holds("in", "a", ["a"]) == [true, false]
	_holds("between", 2, [1, 3]) == [true, false]
	_holds("has", ["a"], "a") == [true, false]
	_holds("matches", "abc", "^a") == [true, false]
	_holds("cidr", "10.1.2.3", ["10.0.0.0/8"]) == [true, false]
	_holds("overlaps", ["a"], ["b"]) == [false, true]
	_holds("includes", ["a", "b"], ["b"]) == [true, false]
	_holds("subset", ["a", "c"], ["a"]) == [false, true]
}

test_without_a_result_neither_holds if {
	_holds("eq", 1, "1") == [false, false]
	_holds("lt", "1", 2) == [false, false]
	_holds("between", "1", [1, 3]) == [false, false]
	_holds("starts_with", 1, "1") == [false, false]
	_holds("subset", "a", ["a"]) == [false, false]
	_holds("no such operator", 1, 1) == [false, false]
	_holds("eq", null, 1) == [false, false]
}

_holds(operator, value, operand) := [_outcome(operator, value, operand, wanted) | some wanted in [true, false]]

_outcome(operator, value, operand, wanted) := abac.proven({"all": node}, {"subject.x": value}) if {
	node := {"g": {"k": "subject.x", "o": operator, "v": operand, "w": wanted}, "l": [], "c": []}
}
