package authz.invariants_test

import data.authz.invariants
import data.cases.base

test_a_slice_of_another_tenant_denies if {
	slice := object.union(data.slice, {"tenant_id": "tenant-2"})
	invariants.denials == {"foreign_slice"} with input as base with data.slice as slice
}

test_the_slice_of_the_tenant_is_accepted if {
	not "foreign_slice" in invariants.denials with input as base
}
