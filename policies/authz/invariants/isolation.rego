package authz.invariants

# The subject, the request and the resource have the same tenant. Only an action that needs no tenant can have none: for
# example, a session belongs to the person.
denials contains "tenant_isolation" if not _tenant_in_scope

denials contains "tenant_isolation" if not _resource_in_scope

default _tenant_in_scope := false

_tenant_in_scope if input.tenant.id == input.subject.tenant_id

_tenant_in_scope if {
	is_null(input.tenant)
	_tenantless
}

default _resource_in_scope := false

_resource_in_scope if input.resource.tenant_id == input.subject.tenant_id

_resource_in_scope if {
	is_null(input.resource.tenant_id)
	_tenantless
}

default _tenantless := false

_tenantless if _action.needs_tenant == false
