// Who may ask for what: written by hand from the documented rules, not from the code, so that a grant that was added by
// mistake is found. An action that is missing here is judged by the catalogue.

const everyMember = `tenant:read member:list user:list user:read role:list department:list`
const self = `profile:read profile:update profile:delete password:change email_verification:send
  session:switch session:logout session:list session:delete otp_device:create otp_device:confirm otp_device:generate
  otp_device:list otp_device:delete otp:send otp:verify passkey:list passkey:create passkey:update passkey:delete
  passkey:verify identity:list identity:delete tenant:list tenant:create member:delete invitation:accept invitation:list_own
  approval_request:list approval_request:read approval_request:list_pending approval_request:approve
  approval_request:reject approval_request:cancel approval_request:create approval_request:consume api_key:create api_key:rotate api_key:delete
  api_key:list_own access:evaluate`
const managers = `tenant:update member:create member:update service_account:create service_account:update
  service_account:delete role:create role:update role:delete department:create department:update department:delete
  invitation:create invitation:resend policy:create policy:update policy:delete attribute_definition:create
  attribute_definition:delete webhook:list webhook:create webhook:update webhook:delete webhook:test webhook:rotate
  webhook:replay registered_resource:update registered_resource:delete oauth_client:create oauth_client:update
  oauth_client:delete oauth_resource:create oauth_resource:update oauth_resource:delete oauth_grant:revoke
  connection:create connection:update connection:delete connection:test domain:create domain:update domain:delete
  directory:update`
const readers = `service_account:list service_account:read invitation:list policy:list policy:read policy:test
  attribute_definition:list registered_resource:list event:list audit:list oauth_client:list oauth_client:read
  oauth_resource:list oauth_resource:read oauth_grant:list connection:list connection:read domain:list domain:read
  directory:read`
const readersAndMembers = `decision:list decision:read decision:explain`
const managersAndMembers = `invitation:cancel`
const owners = `tenant:suspend tenant:activate tenant:archive tenant:delete member:impersonate connection:activate
  domain:verify scim:provision`

const columns: [string, string[]][] = [
  [everyMember, ['owner', 'admin', 'member', 'auditor']],
  [self, ['owner', 'admin', 'member', 'auditor']],
  [managers, ['owner', 'admin']],
  [readers, ['owner', 'admin', 'auditor']],
  [readersAndMembers, ['owner', 'admin', 'auditor', 'member']],
  [managersAndMembers, ['owner', 'admin', 'member']],
  [owners, ['owner']],
]

/** The system roles that may send a request of this action; undefined for an action that is not in the table. */
export function rolesThatMayAsk(action: string): readonly string[] | undefined {
  return columns.find(([actions]) => actions.split(/\s+/).includes(action))?.[1]
}
