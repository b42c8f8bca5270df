package authz.approval_test

import data.authz.approval
import data.cases.base

_gate := {"policy_id": "gate-1", "version": 2}

_approval := {
	"id": "approval-1",
	"subject_id": "user-1",
	"action": "tenant:read",
	"resource_type": "tenant",
	"resource_id": "tenant-1",
	"valid_until": 1767225600001,
	"gates": [_gate],
}

test_an_approval_satisfies_its_gate if _satisfies({})

test_an_approval_satisfies_nothing_else if {
	every changes in [
		{"subject_id": "user-2"},
		{"action": "tenant:update"},
		{"resource_type": "member"},
		{"resource_id": "tenant-2"},
		{"gates": []},
		{"gates": [{"policy_id": "gate-2", "version": 2}]},
		{"gates": [{"policy_id": "gate-1", "version": 1}]},
	] {
		_satisfies(changes) == false
	}
}

test_an_approval_ends_in_its_last_moment if _satisfies({"valid_until": 1767225600000}) == false

test_without_an_approval_no_gate_is_satisfied if approval.satisfies(_gate) == false with input as base

test_all_gates_together_require_the_strictest if {
	one := {"approval": _requirement(1, ["role-1"], 60, 600)}
	other := {"approval": _requirement(3, ["role-2"], 600, 60)}
	approval.specification([one, other]) == {
		"quorum": 3,
		"approvers": [["role-1"], ["role-2"]],
		"expires_in": 60,
		"valid_for": 60,
	}
}

_requirement(quorum, roles, expires_in, valid_for) := {
	"quorum": quorum,
	"approver": {"roles": roles},
	"expires_in": expires_in,
	"valid_for": valid_for,
}

_satisfies(changes) := satisfied if {
	given := object.union(base, {"approval": object.union(_approval, changes)})
	satisfied := approval.satisfies(_gate) with input as given
}
