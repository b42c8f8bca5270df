# METADATA
# title: Approvals
# description: What gates require, and whether an approval satisfies a gate.
# schemas:
#   - input: schema.input
package authz.approval

# METADATA
# title: Satisfies
# description: Whether the approval in the input satisfies a gate, given by `policy_id` and `version`.
satisfies(gate) if {
	_for_this_question
	some approved in input.approval.gates
	approved.policy_id == gate.policy_id
	approved.version == gate.version
} else := false

# METADATA
# title: Specification
# description: What all gates require together. An approver has a role of each list.
specification(gates) := {
	"quorum": max([gate.approval.quorum | some gate in gates]),
	"approvers": sort({gate.approval.approver.roles | some gate in gates}),
	"expires_in": min([gate.approval.expires_in | some gate in gates]),
	"valid_for": min([gate.approval.valid_for | some gate in gates]),
}

default _for_this_question := false

_for_this_question if {
	input.now < input.approval.valid_until
	input.approval.subject_id == input.subject.id
	input.approval.action == input.action
	input.approval.resource_type == input.resource.type
	input.approval.resource_id == input.resource.id
}
