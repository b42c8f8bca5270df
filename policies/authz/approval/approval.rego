# METADATA
# title: Approvals
# description: What gates ask for, and whether an approval that was given answers one.
# schemas:
#   - input: schema.input
package authz.approval

# METADATA
# title: Answers
# description: Whether the approval in the input answers a gate, given as what the decision says of it.
answers(gate) if {
	_for_this_question
	some answered in input.approval.gates
	answered.policy_id == gate.policy_id
	answered.version == gate.version
} else := false

# METADATA
# title: Specification
# description: What all gates ask for together. An approver has a role of each of the lists.
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
