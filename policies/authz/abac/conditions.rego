package authz.abac

# METADATA
# title: Proven
# description: >-
#   Whether the proof of a policy succeeds. A condition is a tree with alternating levels. Rego has no recursion, so
#   each level is written out. A node's cheapest leaf comes first, because loops in Rego cannot exit early.
proven(policy, attrs) if {
	_all_of_5(policy.all, attrs)
} else if {
	_any_of_5(policy.any, attrs)
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
	every leaf in node.l {
		_holds(leaf, attrs)
	}
}

_some_leaf(node, attrs) if {
	_holds(node.g, attrs)
} else if {
	some leaf in node.l
	_holds(leaf, attrs)
}
