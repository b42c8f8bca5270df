package authz.invariants_test

test_tenant_state_denies if {
	_denied({"tenant": {"status": "archived"}, "action": "role:list"}) == {"tenant_archived"}
}

test_tenant_state_allows_reading if {
	_denied({"tenant": {"status": "archived"}}) == set()
}
