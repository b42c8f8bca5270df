package authz.invariants

# Denies if the loaded policies are those of another tenant, which would be a fault of the host.
denials contains "foreign_slice" if not _own_slice

default _own_slice := false

_own_slice if data.slice.tenant_id == input.subject.tenant_id

# All tenants without policies share one slice. It names no tenant, and is empty.
_own_slice if {
	is_null(data.slice.tenant_id)
	data.slice.policies == {}
}
