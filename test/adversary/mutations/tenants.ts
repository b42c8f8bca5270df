// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { Mutation } from '../mutation.ts'

/** Mistakes in the code of roles, approvals, lists and the database. */
export const tenantsMutations: readonly Mutation[] = [
  {
    what: 'an invitation is accepted twice',
    attacks: ['privileges'],
    file: 'src/tenancy/invitations/store.ts',
    find: "and id = ${accepted.id} and status = 'pending' and expires_at > ${at}",
    replace: 'and id = ${accepted.id} and expires_at > ${at}',
    also: [
      {
        file: 'src/tenancy/invitations/join-by-invitation.ts',
        find: `  if (offer.status === 'accepted' || offer.status === 'cancelled') throw invitationInvalid()
`,
        replace: '',
      },
    ],
  },
  {
    what: 'an invitation does not expire',
    attacks: ['expiry'],
    file: 'src/tenancy/invitations/join-by-invitation.ts',
    find: `  if (offer.status === 'expired' || offer.expires_at <= now) throw invitationExpired()
`,
    replace: '',
    also: [
      {
        file: 'src/tenancy/invitations/store.ts',
        find: "and id = ${accepted.id} and status = 'pending' and expires_at > ${at}",
        replace: "and id = ${accepted.id} and status = 'pending'",
      },
    ],
  },
  {
    what: 'admins change owners',
    attacks: ['privileges'],
    file: 'src/tenancy/members/keep-owners.ts',
    find: "granted.some((role) => has(role, 'owner')) && !isOwner(holder)",
    replace: 'false',
    also: [
      {
        file: 'src/tenancy/members/keep-owners.ts',
        find: "!has(role, 'member')",
        replace: "!has(role, 'member') && !has(role, 'owner')",
      },
    ],
  },
  {
    what: 'the last owner can go',
    attacks: ['privileges', 'races'],
    file: 'src/tenancy/members/keep-owners.ts',
    find: `  if (await hasActiveOwner(tx, tenantId)) return
`,
    replace: `  if ((await hasActiveOwner(tx, tenantId)) || tx) return
`,
  },
  {
    what: 'anybody grants the role of an owner',
    attacks: ['privileges'],
    file: 'src/tenancy/roles/grantable-roles.ts',
    find: '  for (const role of roles) {',
    replace: "  for (const role of roles.filter(({ name }) => name !== 'owner')) {",
  },
  {
    what: 'roles grant what their maker lacks',
    attacks: ['privileges'],
    file: 'src/tenancy/roles/grantable-roles.ts',
    find: '  if (lacked !== undefined) throw refused(`You',
    replace: "  if (lacked === '') throw refused(`You",
  },
  {
    what: 'members raise themselves',
    attacks: ['privileges'],
    file: 'src/tenancy/members/update-member.ts',
    find: 'const isOwn = isKept || isCaller(holder)',
    replace: 'const isOwn = isKept',
  },
  {
    what: 'requesters approve their own requests',
    attacks: ['privileges'],
    file: 'src/authorization/approvals/vote.ts',
    find: `  if (isOwnRequest(request, caller.userId)) throw selfApproval()
`,
    replace: '',
    also: [
      {
        file: 'src/authorization/approvals/store.ts',
        find: `  !isOwnRequest(request, userId) &&
`,
        replace: '',
      },
    ],
  },
  {
    what: 'one approver votes twice',
    attacks: ['privileges'],
    file: 'src/authorization/approvals/vote.ts',
    find: `  if (repeats(request, caller, cast)) return request
`,
    replace: '',
  },
  {
    what: 'an approval is for any body',
    attacks: ['privileges'],
    file: 'src/authorization/approvals/approvals.ts',
    find: `  row.action === call.action &&
  row.digest === digestOf(call)
`,
    replace: `  row.action === call.action
`,
  },
  {
    what: 'an approval is for anybody',
    attacks: ['privileges'],
    file: 'src/authorization/approvals/approvals.ts',
    find: `  row.requester_id === call.userId &&
`,
    replace: '',
    also: [
      {
        file: 'src/authorization/approvals/approvals.ts',
        find: '? presented(row, open) : null',
        replace: '? presented({ ...row, requester_id: call.userId }, open) : null',
      },
    ],
  },
  {
    what: 'an approval is used twice',
    attacks: ['races', 'privileges'],
    file: 'src/authorization/approvals/transition-store.ts',
    find: "and id = ${use.id} and kind = 'call' and status = 'approved'",
    replace: "and id = ${use.id} and kind = 'call'",
    also: [
      {
        file: 'src/authorization/approvals/approvals.ts',
        find: `  if (row.status !== 'approved') return null
`,
        replace: '',
      },
    ],
  },
  {
    what: 'an approval of an application is consumed twice',
    attacks: ['races', 'privileges'],
    file: 'src/authorization/approvals/transition-store.ts',
    find: "and id = ${use.id} and kind = 'application' and status = 'approved'",
    replace: "and id = ${use.id} and kind = 'application'",
    also: [
      {
        file: 'src/authorization/approvals/consume-approval.ts',
        find: `  if (request.status !== 'approved') throw notApproved(request)
`,
        replace: '',
      },
    ],
  },
  {
    what: 'an approval of an application is for any value',
    attacks: ['privileges'],
    file: 'src/authorization/approvals/bind-evaluation.ts',
    find: '    values,\n  }',
    replace: '  }',
  },
  {
    what: 'anybody consumes the approval of another subject',
    attacks: ['privileges'],
    file: 'src/authorization/approvals/ask-approval.ts',
    find: 'ownerId: maySpeak ? caller.userId',
    replace: "ownerId: maySpeak || caller.token !== 'otp_pending' ? caller.userId",
  },
  {
    what: 'a cancelled request is approved',
    attacks: ['states'],
    file: 'src/authorization/approvals/transition-store.ts',
    find: `    update approval_requests set status = 'rejected', decided_at = \${instant(at)}
    where tenant_id = \${tenantId} and id = \${id} and status = 'pending' and`,
    replace: `    update approval_requests set status = 'rejected', decided_at = \${instant(at)}
    where tenant_id = \${tenantId} and id = \${id} and`,
    also: [
      {
        file: 'src/authorization/approvals/vote.ts',
        find: `  if (request.status !== 'pending') throw invalidState(\`This request is \${request.status}.\`, request.status)
`,
        replace: '',
      },
    ],
  },
  {
    what: 'a cursor works for anybody',
    attacks: ['privileges'],
    file: 'src/lists/cursors.ts',
    find: 'JSON.stringify([path, tenantId, userId, Object',
    replace: 'JSON.stringify([path, Object',
  },
  {
    what: 'the policy of the API on roles lets all rows through',
    attacks: ['rows'],
    file: 'src/database/schema/tenancy.sql',
    find: `create policy tenant_isolation on roles for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
`,
    replace: `create policy tenant_isolation on roles for all to bailiwick_api using (true) with check (true);
`,
  },
  {
    what: 'memberships have no policy for the API',
    attacks: ['rows'],
    file: 'src/database/schema/tenancy.sql',
    find: `create policy tenant_isolation on memberships for all to bailiwick_api
  using (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid)
  with check (tenant_id = nullif(current_setting('app.tenant_id', true), '')::uuid);
`,
    replace: `create policy tenant_isolation on memberships for all to bailiwick_api using (true);
`,
  },
  {
    what: 'row-level security of roles is off',
    attacks: ['rows'],
    file: 'src/database/schema/tenancy.sql',
    find: `alter table roles enable row level security, force row level security;
`,
    replace: '',
  },
  {
    what: 'row-level security of departments is not forced',
    attacks: ['rows'],
    file: 'src/database/schema/tenancy.sql',
    find: 'alter table departments enable row level security, force row level security;',
    replace: 'alter table departments enable row level security;',
  },
]
