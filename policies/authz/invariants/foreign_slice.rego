package authz.invariants

# Another tenant's policies decide nothing here, whatever went wrong in keeping them.
denials contains "foreign_slice" if not _own_slice

default _own_slice := false

_own_slice if data.slice.tenant_id == input.subject.tenant_id
