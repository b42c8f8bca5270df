// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { Mutation } from '../mutation.ts'

/** Mistakes in the code of factors, codes, links and limits. */
export const factorsMutations: readonly Mutation[] = [
  {
    what: 'a replayed refresh token ends nothing',
    attacks: ['expiry'],
    file: 'src/identity/sign-in/refresh.ts',
    find: "if (await endSession(tx, { id: sessionId, userId, reason: 'replay', at: now })) {",
    replace: 'if (now < 0) {',
  },
  {
    what: 'a used refresh token works again',
    attacks: ['expiry'],
    file: 'src/identity/sign-in/refresh.ts',
    find: `if (!live) return judgeReplay(deps, tx, { presented, session, requestInfo, now })
`,
    replace: '',
  },
  {
    what: 'refreshing an ended session',
    attacks: ['expiry'],
    file: 'src/identity/sign-in/continue-session.ts',
    find: `    session.over ||
`,
    replace: '',
    also: [
      {
        file: 'src/identity/sessions/store.ts',
        find: '    where id = ${session.id} and ended_at is null and expires_at > ${instant(session.at)}\n',
        replace: '    where id = ${session.id}\n',
      },
    ],
  },
  {
    what: 'refreshing a chain past its end',
    attacks: ['expiry'],
    file: 'src/identity/sign-in/continue-session.ts',
    find: `  if (family.expires_at <= now) return refused(tokenNotValid())
`,
    replace: '',
  },
  {
    what: 'refreshing asks for no factor',
    attacks: ['factors'],
    file: 'src/identity/sign-in/continue-session.ts',
    find: "if (second.kind !== 'settled') return second",
    replace: "if (second.kind === 'refused') return second",
  },
  {
    what: 'a strict tenant asks for no factor',
    attacks: ['factors'],
    file: 'src/identity/sign-in/second-factor.ts',
    find: ': tenantRequires || demandedAtLogin',
    replace: ': demandedAtLogin',
  },
  {
    what: 'an enrolled account asks for no factor',
    attacks: ['factors'],
    file: 'src/identity/sign-in/second-factor.ts',
    find: 'const demandedAtLogin = session === null && (',
    replace: 'const demandedAtLogin = false && (',
  },
  {
    what: 'a young factor is enough',
    attacks: ['factors'],
    file: 'src/identity/sign-in/second-factor.ts',
    find: "secondFactor === 'not_counting' ? counting :",
    replace: "secondFactor === 'not_counting' ? false :",
  },
  {
    what: 'no factor is young',
    attacks: ['factors'],
    file: 'src/identity/otp/young-factors.ts',
    find: `  if (!channelsOn(config).includes('email')) return null
`,
    replace: `  if (channelsOn(config)) return null
`,
  },
  {
    what: 'a young factor proves itself',
    attacks: ['factors'],
    file: 'src/identity/otp/young-factors.ts',
    find: `  if (young && !hasFreshSecondFactor(caller, at)) return shown
`,
    replace: '',
  },
  {
    what: 'a second factor stays fresh for a day',
    attacks: ['factors'],
    file: 'src/identity/sessions/fresh-authentication.ts',
    find: 'const secondFactorSeconds = 600',
    replace: 'const secondFactorSeconds = 86400',
  },
  {
    what: 'a sign-in stays recent for a day',
    attacks: ['factors'],
    file: 'src/identity/sessions/fresh-authentication.ts',
    find: 'const signInSeconds = 900',
    replace: 'const signInSeconds = 86400',
  },
  {
    what: 'MFA asks for no fresh factor',
    attacks: ['factors'],
    file: 'src/identity/sessions/fresh-authentication.ts',
    find: 'if (caller.auth.user.mfaEnabled && !hasFreshSecondFactor(caller, now))',
    replace: 'if (caller.auth.user.mfaEnabled && now < 0)',
  },
  {
    what: 'a factor is enrolled in an old session',
    attacks: ['factors'],
    file: 'src/identity/otp/enrolment.ts',
    find: `  else if (!begun && !hasFreshSecondFactor(caller, now)) assertRecentSignIn(caller, now, enrolmentSeconds)
`,
    replace: '',
  },
  {
    what: 'a temporary token enrols a factor',
    attacks: ['factors'],
    file: 'src/identity/otp/enrolment.ts',
    find: `  if (!canEnrolFirst(config, factors))
`,
    replace: `  if (!config)
`,
  },
  {
    what: 'a factor is removed without showing one',
    attacks: ['factors'],
    file: 'src/identity/otp/delete-device.ts',
    find: `  if (config.OTP_ENABLED) assertFreshSecondFactor(caller, at)
  else assert`,
    replace: '  if (!config.OTP_ENABLED) assert',
  },
  {
    what: 'the last factor can go',
    attacks: ['factors'],
    file: 'src/identity/otp/delete-device.ts',
    find: `if (required && turnsMfaOn && !(await hasOtherFactor(tx, userId, id))) throw lastFactor()
`,
    replace: '',
  },
  {
    what: 'an address is changed in an old session',
    attacks: ['factors'],
    file: 'src/identity/users/update-profile.ts',
    find: `  if (password === undefined) assertRecentSignIn(caller, now)
`,
    replace: `  if (password === undefined) return
`,
  },
  {
    what: 'a mailed code works twice',
    attacks: ['races', 'kinds'],
    file: 'src/identity/otp/code-store.ts',
    find: `and used_at is null and expires_at > \${at}
      and (sign_in_id`,
    replace: `and expires_at > \${at}
      and (sign_in_id`,
  },
  {
    what: 'a mailed code does not expire',
    attacks: ['expiry'],
    file: 'src/identity/otp/code-store.ts',
    find: `and used_at is null and expires_at > \${at}
      and (sign_in_id`,
    replace: `and used_at is null
      and (sign_in_id`,
  },
  {
    what: 'a mailed code works in any sign-in',
    attacks: ['factors'],
    file: 'src/identity/otp/code-store.ts',
    find: `      and (sign_in_id is null or sign_in_id = \${signInId})
`,
    replace: '',
  },
  {
    what: 'a recovery code works twice',
    attacks: ['races'],
    file: 'src/identity/otp/code-store.ts',
    find: `    delete from otp_recovery_codes
    where user_id = \${userId} and code_hash = any`,
    replace: `    update otp_recovery_codes set code_hash = code_hash
    where user_id = \${userId} and code_hash = any`,
  },
  {
    what: 'an old set of recovery codes stays',
    attacks: ['factors'],
    file: 'src/identity/otp/code-store.ts',
    find: `  tx.later(sql.unsafe\`delete from otp_recovery_codes where user_id = \${set.userId}\`)
`,
    replace: '',
  },
  {
    what: 'wrong codes are not limited in a window',
    attacks: ['guessing'],
    file: 'src/identity/otp/code-store.ts',
    find: `
      and coalesce(a.recent[cardinality(a.recent) + 1 - \${guessing.inWindow}] <= \${since}, true)`,
    replace: '',
  },
  {
    what: 'wrong codes are not limited in a row',
    attacks: ['guessing'],
    file: 'src/identity/otp/code-store.ts',
    find: 'inRow: 10,',
    replace: 'inRow: 100000,',
  },
  {
    what: 'a code of an app works twice',
    attacks: ['races'],
    file: 'src/identity/otp/store.ts',
    find: `and confirmed_at is not null and (last_step is null or last_step < \${use.step})
    returning counts_from`,
    replace: `and confirmed_at is not null
    returning counts_from`,
  },
  {
    what: 'a step of an app is not burned',
    attacks: ['races', 'factors'],
    file: 'src/identity/otp/store.ts',
    find: 'update otp_devices set last_step = ${use.step}, last_used_at',
    replace: 'update otp_devices set last_used_at',
  },
  {
    what: 'wrong passwords from one address are not limited',
    attacks: ['guessing'],
    file: 'src/identity/rate-limits/store.ts',
    find: `    where a.locked_until is null or a.locked_until <= \${instant(at)}
    returning failures`,
    replace: `    where true
    returning failures`,
  },
  {
    what: 'wrong passwords a day are not limited',
    attacks: ['guessing'],
    file: 'src/identity/rate-limits/store.ts',
    find: '    where a.failures < ${failuresADay} or',
    replace: '    where true or',
  },
  {
    what: 'addresses of IPv6 count one by one',
    attacks: ['guessing'],
    file: 'src/identity/rate-limits/address-key.ts',
    find: ".slice(0, 4).join(':')}::/64`",
    replace: ".slice(0, 8).join(':')}`",
  },
  {
    what: 'a link works twice',
    attacks: ['races'],
    file: 'src/messages/links/link-store.ts',
    find: '    where id = ${id} and used_at is null and expires_at > ${instant(at)} returning id`)',
    replace: '    where id = ${id} and expires_at > ${instant(at)} returning id`)',
  },
  {
    what: 'a link works for any purpose',
    attacks: ['kinds'],
    file: 'src/messages/links/link-store.ts',
    find: 'where token_hash = ${sql.binary(token.hash)} and purpose = ${token.purpose} and used_at is null`',
    replace: 'where token_hash = ${sql.binary(token.hash)} and used_at is null`',
  },
  {
    what: 'a link does not expire',
    attacks: ['expiry'],
    file: 'src/messages/links/one-time-link.ts',
    find: `  if (found.expired) throw expiredLink()
`,
    replace: '',
    also: [
      {
        file: 'src/messages/links/link-store.ts',
        find: 'and used_at is null and expires_at > ${instant(at)} returning id`)',
        replace: 'and used_at is null returning id`)',
      },
    ],
  },
  {
    what: 'a magic link needs no nonce',
    attacks: ['factors'],
    file: 'src/identity/magic-links/confirm-magic-link.ts',
    find: 'const right = isNonceOf(deps, token, nonce)',
    replace: 'const right = isNonceOf(deps, token, nonce) || true',
  },
  {
    what: 'the API reads sealed secrets',
    attacks: ['rows'],
    file: 'src/database/schema/identity.sql',
    find: 'grant select (user_id, id, type, name, created_at, confirmed_at, last_used_at, counts_from, shown_in),',
    replace: 'grant select,',
  },
]
