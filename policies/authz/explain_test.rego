package authz_test

import data.authz
import data.cases.base

test_an_explanation_tells_each_node_and_whether_the_policy_applies if {
	_told({"roles": [], "departments": [], "users": []}) == {"policy_id": "p", "applies": true, "nodes": [
		{"path": "/a", "outcome": "true"},
		{"path": "/b", "outcome": "false"},
		{"path": "/c", "outcome": "unknown"},
	]}
}

test_a_policy_about_others_does_not_apply if {
	not _told({"roles": ["other"], "departments": ["other"], "users": ["other"]}).applies
}

test_a_policy_about_the_subject_applies if {
	_told({"roles": ["role-1"], "departments": [], "users": []}).applies
	_told({"roles": [], "departments": ["department-1"], "users": []}).applies
	_told({"roles": [], "departments": [], "users": ["user-1"]}).applies
}

_told(subjects) := told if {
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
	[told] := authz.explain.policies with input as input_of_member
}

_leaf(name, wanted) := {"all": {"g": {"o": "eq", "k": name, "v": 1, "w": wanted}, "l": [], "c": []}}

_node(path, name, operand) := {
	"path": path,
	"holds": {"all": {"g": {"o": "eq", "k": name, "v": operand, "w": true}, "l": [], "c": []}},
	"fails": {"all": {"g": {"o": "eq", "k": name, "v": operand, "w": false}, "l": [], "c": []}},
}
