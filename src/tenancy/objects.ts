import type { ObjectFinders } from '../lists/find-object.ts'
import { lister, listerOfAll, type ObjectListers } from '../lists/list-objects.ts'
import { departmentResource } from './departments/department-schemas.ts'
import { departmentList, findDepartment, listDepartments } from './departments/store.ts'
import { domainResource } from './domains/domain-schemas.ts'
import { domainList, findDomain, listDomains } from './domains/store.ts'
import { invitationResource } from './invitations/invitation-schemas.ts'
import { findInvitation, invitationList, listInvitations } from './invitations/store.ts'
import { accountList, findAccount, listAccounts } from './members/account-store.ts'
import { listMembers, memberList } from './members/list-store.ts'
import { memberResource } from './members/member-schemas.ts'
import { findMember } from './members/store.ts'
import { roleResource } from './roles/role-schemas.ts'
import { findRole, listRoles, roleList } from './roles/store.ts'
import { accountResource } from './service-accounts/account-schemas.ts'
import { findTenant } from './tenants/store.ts'
import { tenantResource } from './tenants/tenant-schemas.ts'

/** Loads the objects of this context as resources for decisions. */
export const tenancyObjects: ObjectFinders = {
  async tenant(read, { tenantId, userId }, id) {
    const tenant = id === tenantId ? await findTenant(read, tenantId, userId) : null
    return tenant && tenantResource(tenant)
  },
  async member(read, { tenantId }, id) {
    const member = await findMember(read, tenantId, id)
    return member && memberResource(member)
  },
  async service_account(read, { tenantId }, id) {
    const account = await findAccount(read, tenantId, id)
    return account && accountResource(account)
  },
  async role(read, { tenantId }, id) {
    const role = await findRole(read, tenantId, id)
    return role && roleResource(role)
  },
  async department(read, { tenantId }, id) {
    const department = await findDepartment(read, tenantId, id)
    return department && departmentResource(department)
  },
  async domain(read, { tenantId }, id) {
    const domain = await findDomain(read, { tenantId, id })
    return domain && domainResource(domain)
  },
  async invitation(read, { tenantId, now }, id) {
    const invitation = await findInvitation(read, tenantId, id, now)
    return invitation && invitationResource(invitation)
  },
}

/** Lists the objects of this context, for searches. */
export const tenancyLists: ObjectListers = {
  tenant: listerOfAll(async (tx, { tenantId, userId }) => {
    const tenant = await findTenant(tx, tenantId, userId)
    return tenant ? [tenantResource(tenant)] : []
  }),
  member: lister(memberList, (tx, { tenantId }, page) => listMembers(tx, tenantId, page), memberResource),
  service_account: lister(
    accountList,
    (tx, { tenantId }, page) => listAccounts(tx, tenantId, page),
    accountResource,
  ),
  role: lister(roleList, (tx, { tenantId }, page) => listRoles(tx, tenantId, page), roleResource),
  department: lister(
    departmentList,
    (tx, { tenantId }, page) => listDepartments(tx, tenantId, page),
    departmentResource,
  ),
  domain: lister(domainList, (tx, { tenantId }, page) => listDomains(tx, tenantId, page), domainResource),
  invitation: lister(
    invitationList,
    (tx, { tenantId, now }, page) => listInvitations(tx, tenantId, page, now),
    invitationResource,
  ),
}
