package authz.abac

# METADATA
# title: Proven
# description: >-
#   Whether the proof of a policy succeeds. A condition is a tree with alternating levels. Rego has no recursion, so
#   each level is written out. A node's cheapest leaf comes first. Loops in Rego cannot exit early, so the first leaves
#   are written out too, and evaluation stops at the leaf that decides.
proven(policy, attrs) if {
	_any_of_5(policy.any, attrs)
} else if {
	_all_of_5(policy.all, attrs)
} else := false

_all_of_5(node, attrs) if {
	_guarded(node, attrs)
	_leaves(node, attrs)
	every child in node.c {
		_any_of_4(child, attrs)
	}
}

_any_of_5(node, attrs) if {
	_some_leaf(node, attrs)
} else if {
	some child in node.c
	_all_of_4(child, attrs)
}

_all_of_4(node, attrs) if {
	_guarded(node, attrs)
	_leaves(node, attrs)
	every child in node.c {
		_any_of_3(child, attrs)
	}
}

_any_of_4(node, attrs) if {
	_some_leaf(node, attrs)
} else if {
	some child in node.c
	_all_of_3(child, attrs)
}

_all_of_3(node, attrs) if {
	_guarded(node, attrs)
	_leaves(node, attrs)
	every child in node.c {
		_any_of_2(child, attrs)
	}
}

_any_of_3(node, attrs) if {
	_some_leaf(node, attrs)
} else if {
	some child in node.c
	_all_of_2(child, attrs)
}

_all_of_2(node, attrs) if {
	_guarded(node, attrs)
	_leaves(node, attrs)
	every child in node.c {
		_any_of_1(child, attrs)
	}
}

_any_of_2(node, attrs) if {
	_some_leaf(node, attrs)
} else if {
	some child in node.c
	_all_of_1(child, attrs)
}

_all_of_1(node, attrs) if {
	count(node.c) == 0
	_guarded(node, attrs)
	_leaves(node, attrs)
}

_any_of_1(node, attrs) if _some_leaf(node, attrs)

_guarded(node, attrs) if {
	_holds(node.g, attrs)
} else if not node.g

_leaves(node, attrs) if {
	_leaf_holds(node.l, 0, attrs)
	_leaf_holds(node.l, 1, attrs)
	_leaf_holds(node.l, 2, attrs)
	_leaf_holds(node.l, 3, attrs)
	every leaf in array.slice(node.l, 4, count(node.l)) {
		_holds(leaf, attrs)
	}
}

# Holds also past the end of the list.
_leaf_holds(leaves, index, attrs) if {
	_holds(leaves[index], attrs)
} else if count(leaves) <= index

_some_leaf(node, attrs) if {
	_holds(node.g, attrs)
} else if _some_of(node.l, attrs)

_some_of(leaves, attrs) if {
	_holds(leaves[0], attrs)
} else if {
	_holds(leaves[1], attrs)
} else if {
	_holds(leaves[2], attrs)
} else if {
	_holds(leaves[3], attrs)
} else if {
	some leaf in array.slice(leaves, 4, count(leaves))
	_holds(leaf, attrs)
}
