package authz.invariants_test

import data.authz.invariants
import data.cases.base

test_a_complete_input_of_a_member_is_not_denied if {
	invariants.denials == set() with input as base
}

test_incomplete_input_denies if {
	_denied({"now": null}) == {"incomplete_input"}
}
