import type { ObjectFinders } from '../platform/find-object.ts'
import { departmentResource } from './departments/department-schemas.ts'
import { findDepartment } from './departments/store.ts'
import { invitationResource } from './invitations/invitation-schemas.ts'
import { findInvitation } from './invitations/store.ts'
import { memberResource } from './members/member-schemas.ts'
import { findMember } from './members/store.ts'
import { roleResource } from './roles/role-schemas.ts'
import { findRole } from './roles/store.ts'
import { findTenant } from './tenants/store.ts'
import { tenantResource } from './tenants/tenant-schemas.ts'

/** Loads the objects of this context as resources for decisions. */
export const tenancyObjects: ObjectFinders = {
  async tenant(tx, { tenantId, userId }, id) {
    const tenant = id === tenantId ? await findTenant(tx, tenantId, userId) : null
    return tenant && tenantResource(tenant)
  },
  async member(tx, { tenantId }, id) {
    const member = await findMember(tx, tenantId, id)
    return member && memberResource(member)
  },
  async role(tx, { tenantId }, id) {
    const role = await findRole(tx, tenantId, id)
    return role && roleResource(role)
  },
  async department(tx, { tenantId }, id) {
    const department = await findDepartment(tx, tenantId, id)
    return department && departmentResource(department)
  },
  async invitation(tx, { tenantId, now }, id) {
    const invitation = await findInvitation(tx, tenantId, id, now)
    return invitation && invitationResource(invitation)
  },
}
