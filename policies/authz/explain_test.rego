package authz_test

import data.authz
import data.cases.base

test_an_explanation_has_the_outcome_of_each_node_and_whether_the_policy_applies if {
	_explained({"roles": [], "departments": [], "users": []}) == {"policy_id": "p", "applies": true, "nodes": [
		{"path": "/a", "outcome": "true"},
		{"path": "/b", "outcome": "false"},
		{"path": "/c", "outcome": "unknown"},
	]}
}

test_a_policy_about_others_does_not_apply if {
	not _explained({"roles": ["other"], "departments": ["other"], "users": ["other"]}).applies
}

test_a_policy_about_the_subject_applies if {
	_explained({"roles": ["role-1"], "departments": [], "users": []}).applies
	_explained({"roles": [], "departments": ["department-1"], "users": []}).applies
	_explained({"roles": [], "departments": [], "users": ["user-1"]}).applies
}

_explained(subjects) := explained if {
	input_of_member := object.union(base, {
		"subject": {"membership": {"department_id": "department-1"}},
		"attrs": {"subject.x": 1},
		"explain": [object.union(_leaf("subject.x", true), {
			"policy_id": "p",
			"subjects": subjects,
			"applies_if": true,
			"nodes": [_node("/a", "subject.x", 1), _node("/b", "subject.x", 2), _node("/c", "subject.y", 1)],
		})],
	})
	[explained] := authz.explain.policies with input as input_of_member
}

_leaf(name, wanted) := {"all": {"g": {"o": "eq", "k": name, "v": 1, "w": wanted}, "l": [], "c": []}}

_node(path, name, operand) := {
	"path": path,
	"holds": {"all": {"g": {"o": "eq", "k": name, "v": operand, "w": true}, "l": [], "c": []}},
	"fails": {"all": {"g": {"o": "eq", "k": name, "v": operand, "w": false}, "l": [], "c": []}},
}
