package authz.abac_test

import data.authz.abac

_attrs := {"subject.a": 1, "subject.b": 2}

_leaf(name, wanted) := {"k": name, "o": "eq", "v": 1, "w": wanted}

_node(first, leaves, children) := {"g": first, "l": leaves, "c": children}

_true := _leaf("subject.a", true)

_false := _leaf("subject.b", true)

_unknown := _leaf("subject.c", true)

test_all_needs_every_leaf if {
	abac.proven({"all": _node(_true, [_true, _true, _true, _true, _true], [])}, _attrs)
	not _proven({"all": _node(_true, [_true, _true, _true, _true, _false], [])})
	not _proven({"all": _node(_false, [_true], [])})
}

test_any_needs_one_leaf if {
	abac.proven({"any": _node(_false, [_false, _false, _false, _false, _true], [])}, _attrs)
	every place in [0, 1, 2, 3] {
		leaves := [leaf | some at in [0, 1, 2, 3]; leaf := {true: _true, false: _false}[at == place]]
		abac.proven({"any": _node(_false, leaves, [])}, _attrs)
	}
	not _proven({"any": _node(_false, [_false], [])})
}

test_an_empty_all_is_proven_and_an_empty_any_is_not if {
	abac.proven({"all": {"l": [], "c": []}}, _attrs)
	not _proven({"any": {"l": [], "c": []}})
}

test_a_missing_value_proves_neither_the_leaf_nor_its_opposite if {
	not _proven({"all": _node(_unknown, [], [])})
	not _proven({"all": _node(_leaf("subject.c", false), [], [])})
}

test_levels_alternate if {
	abac.proven({"all": _nested(_true, 4)}, _attrs)
	abac.proven({"any": _nested(_true, 4)}, _attrs)
	not _proven({"all": _nested(_false, 4)})
	not _proven({"any": _nested(_false, 4)})
}

# Deeper trees are refused when a policy is written.
test_a_tree_that_is_too_deep_is_not_proven if not _proven({"all": _nested(_true, 5)})

# A node without leaves holds as its only child does.
_nested(leaf, depth) := _node(leaf, [], []) if {
	depth == 0
} else := {"l": [], "c": [_node(leaf, [], [])]} if {
	depth == 1
} else := {"l": [], "c": [{"l": [], "c": [_node(leaf, [], [])]}]} if {
	depth == 2
} else := {"l": [], "c": [{"l": [], "c": [{"l": [], "c": [_node(leaf, [], [])]}]}]} if {
	depth == 3
} else := {"l": [], "c": [{"l": [], "c": [{"l": [], "c": [{"l": [], "c": [_node(leaf, [], [])]}]}]}]} if {
	depth == 4
} else := {"l": [], "c": [{"l": [], "c": [{"l": [], "c": [{"l": [], "c": [{"l": [], "c": [_node(leaf, [], [])]}]}]}]}]}

_proven(proof) if abac.proven(proof, _attrs)
