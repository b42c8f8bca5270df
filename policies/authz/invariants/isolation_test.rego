package authz.invariants_test

test_isolation_denies if {
	_denied({"resource": {"tenant_id": "tenant-2"}}) == {"tenant_isolation"}
}

test_isolation_allows_no_tenant_where_none_is_needed if {
	_denied({"resource": {"tenant_id": null}, "action": "tenant:list"}) == set()
}
