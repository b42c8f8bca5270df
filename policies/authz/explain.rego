package authz

import data.authz.abac

# METADATA
# title: Explanation
# description: >-
#   The decision, and for each policy in `input.explain` whether it is about the subject and applies, with the
#   outcome of every node of its condition as it was written.
# entrypoint: true
explain := {
	"decision": decision,
	"policies": [{"policy_id": policy.policy_id, "applies": _applies(policy), "nodes": _nodes(policy)} |
		some policy in input.explain
	],
}

_applies(policy) if {
	abac.about_subject(policy.subjects)
	abac.proven(policy, input.attrs) == policy.applies_if
} else := false

_nodes(policy) := [{"path": node.path, "outcome": _outcome(node)} | some node in policy.nodes]

_outcome(node) := "true" if {
	abac.proven(node.holds, input.attrs)
} else := "false" if {
	abac.proven(node.fails, input.attrs)
} else := "unknown"
