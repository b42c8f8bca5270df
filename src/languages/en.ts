import { counting, joining, lasting } from './format.ts'
import { type Factor, mail, type Outcome, type WaysIn, wordsOf } from './mail-text.ts'

const counted = counting('en')
const joined = joining('en-GB')
const lasts = lasting('en')

const worksOnce = (minutes: number | undefined) =>
  minutes === undefined ? 'The link works once.' : `The link works once, within ${lasts(minutes)}.`

/** What a reset by mail does, and what it leaves: the truth for a person who fears an intruder. */
const secureYourAccount = [
  'If it was not you, reset your password at once.',
  'That ends all sessions, revokes your API keys, and removes second factors that were added in the last 24 hours with the password alone. Then sign in and delete the passkeys and other second factors that you do not know.',
]

function stillOpen({ keysRevoked, passkeys, keys }: WaysIn): string[] {
  const ways = [
    ...(passkeys > 0 ? [counted(passkeys, { one: 'passkey', other: 'passkeys' })] : []),
    ...(keys > 0 ? [counted(keys, { one: 'API key', other: 'API keys' })] : []),
  ]
  return [
    ...(keysRevoked ? ['Your API keys were revoked.'] : []),
    ...(ways.length > 0 ? [`These still open your account: ${joined(ways)}.`] : []),
  ]
}

const factors: Record<Factor, string> = {
  passkey: 'A passkey',
  totp: 'An authenticator app',
  email: 'Codes sent to this address',
  static: 'A set of recovery codes',
}

const factorAdded = mail<{ device: Factor; undo?: string | undefined }>(({ device, undo }, { service }) => ({
  subject: `A second factor was added to your ${service} account`,
  says: [`${factors[device]} can now be used to sign in to your account.`],
  ...(undo
    ? {
        next: ['It was added with your password only, so it does not count as a second factor for 24 hours.'],
        otherwise: [
          'If it was not you, remove it within that time. That also ends all sessions. Then reset your password, because someone else knows it. Later, reset it first, and then remove the factor in your account.',
        ],
        undo: 'Remove the second factor',
      }
    : { otherwise: ['If it was not you, change your password and remove it.'] }),
}))

const outcomes: Record<Outcome, { was: string; next: string }> = {
  approved: { was: 'was approved', next: 'Open the request to carry it out. The approval works once.' },
  rejected: { was: 'was rejected', next: 'Nothing was changed.' },
  cancelled: { was: 'was cancelled', next: 'Nothing was changed.' },
  executed: { was: 'was approved and carried out', next: 'You do not need to do anything.' },
  failed: { was: 'was approved, but failed', next: 'Nothing was changed. The request shows why.' },
}

/** What policies can require an approval for. Applications have actions of their own, which stand as they are named. */
const actions = {
  'tenant:update': 'Change the organisation',
  'tenant:suspend': 'Suspend the organisation',
  'tenant:archive': 'Archive the organisation',
  'tenant:delete': 'Delete the organisation',
  'member:create': 'Add a member',
  'member:update': 'Change a member',
  'member:delete': 'Remove a member',
  'service_account:create': 'Create a service account',
  'service_account:update': 'Change a service account',
  'service_account:delete': 'Delete a service account',
  'api_key:create': 'Create an API key',
  'api_key:rotate': 'Replace an API key',
  'api_key:delete': 'Delete an API key',
  'role:create': 'Create a role',
  'role:update': 'Change a role',
  'role:delete': 'Delete a role',
  'department:create': 'Create a department',
  'department:update': 'Change a department',
  'department:delete': 'Delete a department',
  'invitation:create': 'Invite a person',
  'policy:create': 'Create a policy',
  'policy:update': 'Change a policy',
  'policy:delete': 'Delete a policy',
  'oauth:authorize': 'Use an application',
  'oauth_client:create': 'Register an application',
  'oauth_client:update': 'Change an application',
  'oauth_client:delete': 'Delete an application',
  'oauth_resource:create': 'Register an API',
  'oauth_resource:update': 'Change an API',
  'oauth_resource:delete': 'Delete an API',
  'connection:create': 'Connect an identity provider',
  'connection:update': 'Change a connection',
  'connection:delete': 'Delete a connection',
  'directory:update': 'Change what groups of the directory give',
  'domain:create': 'Claim a domain',
  'domain:update': 'Change a domain',
  'domain:delete': 'Give a domain up',
  'webhook:create': 'Create a webhook',
  'webhook:update': 'Change a webhook',
}

/** The roles that every organisation has. */
const roles = { owner: 'Owner', admin: 'Administrator', member: 'Member', auditor: 'Auditor' }

/** The texts of pages and mails in English. Each other language has the same: the compiler keeps it complete. */
export const en = {
  /** BCP 47: the attribute `lang` of pages and mails. */
  code: 'en',
  /** How the language calls itself. */
  name: 'English',
  /** BCP 47: how dates and numbers look for a reader whose locale is not known. */
  format: 'en-GB',

  actions,

  mails: {
    /** What stands around every mail. */
    frame: {
      hello: (firstName: string) => (firstName ? `Hello ${firstName},` : 'Hello,'),
      plainLink: 'If the button does not work, open this link:',
      signed: (service: string) => `${service} sent this mail automatically. Please do not reply to it.`,
    },

    /** The mail about notices that were not sent, because the address got enough of them in an hour. */
    summary: (subject: string, notSent: number) => ({
      subject: `${notSent} more: ${subject}`,
      says: [
        `In one hour, ${counted(notSent, { one: 'more mail was', other: 'more mails were' })} due to this address with the subject “${subject}”. They were not sent, because an address gets only a few of a kind in an hour.`,
        'Sign in to see what happened.',
      ],
      otherwise: ['If it was not you, reset your password.'],
    }),

    /** By name of the template (src/messages/mail). */
    letters: {
      email_verification: mail<{
        origin?: { how: 'made' | 'changed'; at: number } | undefined
        minutes?: number | undefined
        reject?: string | undefined
      }>(({ origin, minutes, reject }, { service, moment }) => ({
        subject: `Confirm your e-mail address for ${service}`,
        says: [
          ...(origin?.how === 'made'
            ? [`An account with this address was created at ${service} on ${moment(origin.at)}.`]
            : []),
          ...(origin?.how === 'changed'
            ? [
                `On ${moment(origin.at)}, someone asked to change the address of an account at ${service} to this one.`,
              ]
            : []),
          'If it was you, confirm that this address is yours.',
        ],
        button: 'Confirm this address',
        next: [worksOnce(minutes)],
        ...(reject
          ? {
              otherwise: ['If it was not you, remove your address from the account.'],
              undo: 'This was not me',
            }
          : { otherwise: ['If it was not you, you do not need to do anything.'] }),
      })),
      address_already_registered: mail<{ link?: string | undefined; minutes?: number | undefined }>(
        ({ link, minutes }, { service }) => ({
          ...(link
            ? {
                subject: `Choose a password for your account at ${service}`,
                says: [
                  'Someone registered with this address. An account with it was made before, and the address was never confirmed.',
                  'If you have just registered, choose a password: the account is yours then. An earlier password, its sessions and its second factors end.',
                ],
                button: 'Choose a password',
                next: [worksOnce(minutes)],
              }
            : {
                subject: `You already have an account at ${service}`,
                says: [
                  'Someone tried to register with this address. It already has an account, and nothing was changed.',
                  'If it was you, sign in as usual, or reset your password if you forgot it.',
                ],
              }),
          otherwise: ['If it was not you, you do not need to do anything.'],
        }),
      ),
      invitation: mail<{
        tenantName: string
        inviter: string
        message: string
        expiresAt?: number | undefined
      }>(({ tenantName, inviter, message, expiresAt }, { service, moment }) => ({
        subject: `You are invited to an organisation at ${service}`,
        says: [
          `${inviter || 'A person without a verified address'} invites you to “${tenantName}”.`,
          `Accept to become a member. If you have no account at ${service} yet, you create one on the way.`,
        ],
        quote: message ? { of: 'Their message', words: `“${message}”` } : undefined,
        button: 'Accept the invitation',
        next: expiresAt === undefined ? [] : [`The invitation works once, until ${moment(expiresAt)}.`],
        otherwise: ['If you do not know them, you do not need to do anything.'],
      })),
      added_to_tenant: mail<{ tenantName: string; addedBy?: string | undefined; link?: string | undefined }>(
        ({ tenantName, addedBy, link }, { service }) => ({
          subject: `You were added to an organisation at ${service}`,
          says: [
            `${addedBy || 'An administrator'} made you a member of “${tenantName}”.`,
            'Sign in as usual and switch to it.',
          ],
          ...(link
            ? {
                otherwise: [
                  'If you do not know them, or do not want to be a member, leave the organisation.',
                ],
                undo: 'Leave the organisation',
              }
            : {}),
        }),
      ),
      magic_link: mail<{ minutes: number }>(({ minutes }, { service }) => ({
        subject: `Sign in to ${service}`,
        says: [
          'Someone asked to sign in with this address. If it was you, open the link in the browser in which you asked.',
        ],
        button: 'Sign in',
        next: [worksOnce(minutes), 'Do not forward this mail.'],
        otherwise: ['If it was not you, you do not need to do anything.'],
      })),
      provider_sign_in: mail<{ provider: string; account: string; minutes: number }>(
        ({ provider, account, minutes }, { service }) => ({
          subject: `Sign in to ${service} with ${provider}`,
          says: [
            `Someone signed in with ${provider} and gave this address. The id of the account there is ${account}. Open the link only if it was you.`,
          ],
          button: 'Go on',
          next: [
            `${worksOnce(minutes)} From then on, the account there signs in here.`,
            'Do not forward this mail.',
          ],
          otherwise: ['If it was not you, you do not need to do anything.'],
        }),
      ),
      password_reset: mail<{ minutes?: number | undefined }>(({ minutes }, { service }) => ({
        subject: `Reset your ${service} password`,
        says: [
          `Someone asked to reset the password of your account at ${service}. If it was you, choose a new one.`,
        ],
        button: 'Choose a new password',
        next: [`${worksOnce(minutes)} A new password ends all your sessions.`],
        otherwise: ['If it was not you, you do not need to do anything. Your password stays the same.'],
      })),
      password_changed: mail<WaysIn>((ways, { service }) => ({
        subject: `Your ${service} password was changed`,
        says: [
          'The password of your account was changed, and your other sessions were ended.',
          ...stillOpen(ways),
        ],
        otherwise: secureYourAccount,
      })),
      sessions_ended: mail<WaysIn>((ways, { service }) => ({
        subject: `Your ${service} sessions were ended`,
        says: ['All sessions of your account were ended, on every device.', ...stillOpen(ways)],
        otherwise: secureYourAccount,
      })),
      new_sign_in: mail<{
        ip: string
        device: { browser: string | null; system: string | null }
        at: number
      }>(({ ip, device: { browser, system }, at }, { service, moment }) => ({
        subject: `New sign-in to your ${service} account`,
        says: ['Someone signed in to your account. The combination of device and network is new.'],
        facts: [
          ['When', moment(at)],
          ['Browser', browser ?? 'An unknown program'],
          ...(system ? [['System', system] as [string, string]] : []),
          ['IP address', ip],
        ],
        next: ['If it was you, you do not need to do anything.'],
        otherwise: secureYourAccount,
      })),
      second_factor_code: mail<{ minutes: number }>(({ minutes }, { service }) => ({
        subject: `Your ${service} sign-in code`,
        says: ['This is the code that you asked for.'],
        next: [`It works once, within ${lasts(minutes)}. We will never ask you for this code.`],
        otherwise: ['If you did not ask for it, someone may know your password. Change it.'],
      })),
      second_factor_added: factorAdded,
      young_factor_added: factorAdded,
      identity_linked: mail<{ provider: string; undo: string }>(({ provider }, { service }) => ({
        subject: `A new way to sign in to your ${service} account`,
        says: [`An account at ${provider} was linked to your account. It can be used to sign in.`],
        otherwise: ['If it was not you, unlink it within 7 days. That also ends all sessions.'],
        undo: 'Unlink it',
      })),
      identity_unlinked: mail<{ provider: string }>(({ provider }, { service }) => ({
        subject: `A way to sign in to your ${service} account was removed`,
        says: [`The account at ${provider} was unlinked from your account.`],
        otherwise: secureYourAccount,
      })),
      second_factors_locked: mail<{ minutes: number }>(({ minutes }, { service }) => ({
        subject: `Your second factors at ${service} are paused`,
        says: [
          `Too many wrong codes were given for your account, so for ${lasts(minutes)} no second factor is accepted, not even a right one.`,
        ],
        otherwise: ['If it was not you, someone may know your password: reset it.'],
      })),
      second_factors_reset: mail<object>((_, { service }) => ({
        subject: `Your second factors at ${service} were removed`,
        says: [
          'An operator of this service removed all second factors of your account and ended all sessions. Sign in with your password and add a second factor again.',
        ],
        otherwise: [
          'If you did not ask for this, reset your password and contact the operator of this service at once.',
        ],
      })),
      second_factor_removed: mail<{ device: Factor }>(({ device }, { service }) => ({
        subject: `A second factor was removed from your ${service} account`,
        says: [`${factors[device]} can no longer be used to sign in to your account.`],
        otherwise: ['If it was not you, change your password and add a second factor again.'],
      })),
      passkey_renamed: mail<{ before: string; after: string }>(({ before, after }, { service }) => ({
        subject: `A passkey of your ${service} account was renamed`,
        says: [`The passkey “${before}” of your account is now called “${after}”.`],
        otherwise: ['If it was not you, reset your password and remove the passkeys that you do not know.'],
      })),
      account_cleared: mail<{
        hasPassword: boolean
        byOperator?: boolean | undefined
        tenants: string[]
        others: number
      }>(({ hasPassword, byOperator, tenants, others }, { service }) => ({
        subject: `Your ${service} account was secured`,
        says: [
          byOperator
            ? 'This address was confirmed for the first time: the operator of this service set a new password.'
            : `This address was confirmed for the first time, by a link to ${hasPassword ? 'reset the password' : 'sign in'}.`,
          `Someone else could have used the account before, so its ${hasPassword ? '' : 'password, '}second factors, API keys and sessions were removed${byOperator ? '' : ', and it has a new organisation of its own'}.`,
          ...(tenants.length > 0
            ? [
                `Since before, the account is also a member of ${joined([...tenants.map((tenant) => `“${tenant}”`), ...(others > 0 ? [`${others} more`] : [])])}. A sign-in opens these only if you choose them. Leave those that you do not know.`,
              ]
            : []),
        ],
        otherwise: [
          hasPassword
            ? `If you did not ${byOperator ? 'ask for' : 'choose'} a new password, reset it at once.`
            : 'To sign in with a password, reset it.',
        ],
      })),
      password_cleared: mail<object>((_, { service }) => ({
        subject: `Your ${service} account has no password`,
        says: [
          'You confirmed this address by a link to sign in. Someone else could have created the account before, so its password, second factors and sessions were removed.',
          'To sign in with a password, reset it.',
        ],
      })),
      email_changed: mail<{ newEmail: string; undo?: string | undefined }>(
        ({ newEmail, undo }, { service }) => ({
          subject: `Your e-mail address was changed at ${service}`,
          says: [
            `The address of your account is now ${newEmail}. Links that were sent to this address no longer work.`,
          ],
          ...(undo
            ? {
                next: ['For 24 hours, sign-in codes still come to this address.'],
                otherwise: [
                  'If it was not you, undo the change within 72 hours. That ends all sessions. Then reset your password, because someone else may know it.',
                ],
                undo: 'Undo the change',
              }
            : {
                otherwise: [
                  'If it was not you, contact the operator of this service at once. You can no longer reset your password with this address.',
                ],
              }),
        }),
      ),
      email_change_rejected: mail<{ email: string }>(({ email }, { service }) => ({
        subject: `Your new e-mail address was rejected at ${service}`,
        says: [
          `The address of your account was changed to ${email}. A reader of that mailbox answered that they did not ask for it, so your account has this address again. All sessions were ended.`,
          'If you mistyped the new address, sign in and change it again.',
        ],
        otherwise: ['If you did not change it, reset your password: someone else may know it.'],
      })),
      email_change_undone: mail<{ email: string; tenants: { name: string }[] }>(
        ({ email, tenants }, { service }) => ({
          subject: `The change of your e-mail address at ${service} was undone`,
          says: [
            `The address of your account is ${email} again. A reader of that mailbox undid the change. All sessions were ended, and what the account got since the change was removed: memberships, second factors and API keys.`,
            ...(tenants.length > 0
              ? [
                  `The account was the last owner of ${joined(tenants.map(({ name }) => `“${name}”`))}. Without an owner, an organisation is archived. Ask the operator of this service to make this address its owner. Then sign in and activate it.`,
                ]
              : []),
          ],
          otherwise: ['If it was not you, contact the operator of this service at once.'],
        }),
      ),
      api_key_created: mail<{ keyName: string; tenantName: string; ofAccount: boolean }>(
        ({ keyName, tenantName, ofAccount }, { service }) => ({
          subject: `An API key was created ${ofAccount ? 'with' : 'for'} your ${service} account`,
          says: [
            ofAccount
              ? `With your account, the API key “${keyName}” was created for a service account of “${tenantName}”. It can do there what its scopes and the roles of the service account permit.`
              : `The API key “${keyName}” was created. It can do in “${tenantName}” what its scopes and your roles permit.`,
          ],
          otherwise: ['If it was not you, sign in, delete the key and change your password.'],
        }),
      ),
      api_key_leaked: mail<{ keyName: string; tenantName: string; prefix: string; holder: string }>(
        ({ keyName, tenantName, prefix, holder }, { service }) => ({
          subject: `An API key was found and revoked at ${service}`,
          says: [
            `Someone found the API key “${keyName}” of ${holder} in “${tenantName}” and reported it, so it was revoked. It begins with ${prefix} and no longer works.`,
          ],
          next: [
            'Find out where it was published, and what was done with it: the audit log and the decision log show it. Then create a new key.',
          ],
        }),
      ),
      approval_requested: mail<{
        requester: string
        subject?: string | undefined
        action: string
        object?: string | undefined
        tenantName: string
        expiresAt: number
      }>(({ requester, subject, action, object, tenantName, expiresAt }, { moment }) => ({
        subject: `Approval requested${wordsOf(actions, action) ? `: ${wordsOf(actions, action)}` : ''}`,
        says: [`${requester} asks for your approval in “${tenantName}”.`],
        facts: [
          ['Action', wordsOf(actions, action) ?? action],
          ...(object ? [['Object', object] as [string, string]] : []),
          ...(subject ? [['For', subject] as [string, string]] : []),
          ['Expires', moment(expiresAt)],
        ],
        button: 'Review the request',
        next: ['You can approve or reject it there. Read it before you approve it.'],
      })),
      approval_decided: mail<{
        kind: 'call' | 'application'
        outcome: Outcome
        action: string
        tenantName: string
      }>(({ kind, outcome, action, tenantName }) => ({
        subject: `Your request ${outcomes[outcome].was}`,
        says: [`Your request in “${tenantName}” ${outcomes[outcome].was}.`],
        facts: [['Action', wordsOf(actions, action) ?? action]],
        button: 'Open the request',
        next: [
          kind === 'application' && outcome === 'approved'
            ? 'Do it in the application before the approval expires. It works once.'
            : outcomes[outcome].next,
        ],
      })),
      domain_missing: mail<{ tenantName: string; domain: string; record: string; until: number }>(
        ({ tenantName, domain, record, until }, { moment }) => ({
          subject: 'The record of a domain is missing',
          says: [
            `“${tenantName}” has verified the domain ${domain} by a record in the DNS. The record is not there any more.`,
          ],
          facts: [
            ['Record', record],
            ['The domain is lost on', moment(until)],
          ],
          next: [
            'Add the record again, and leave it there. When the domain is lost, addresses of it lead no new people into your organisation.',
          ],
        }),
      ),
      domain_lost: mail<{ tenantName: string; domain: string; record: string }>(
        ({ tenantName, domain, record }) => ({
          subject: 'A domain of your organisation is lost',
          says: [
            `The DNS has not had the record of ${domain} for 14 days. So “${tenantName}” has lost the domain: addresses of it lead no new people into your organisation.`,
          ],
          facts: [['Record', record]],
          next: ['Add the record again, and then verify the domain again.'],
        }),
      ),
      connection_certificate_ends: mail<{ tenantName: string; connection: string; endsAt: number }>(
        ({ tenantName, connection, endsAt }, { moment }) => ({
          subject: 'A certificate of your identity provider ends soon',
          says: [
            `People of “${tenantName}” sign in by the connection “${connection}”. The last certificate in the metadata of its identity provider ends soon. When the identity provider signs with a new one, the connection has to know it.`,
          ],
          facts: [['Ends', moment(endsAt)]],
          next: [
            'Ask who runs the identity provider for the new metadata, and give it to the connection. If the connection has the address of the metadata, new certificates there count by themselves.',
          ],
        }),
      ),
      connection_activator_left: mail<{ tenantName: string; connection: string }>(
        ({ tenantName, connection }) => ({
          subject: 'Activate a connection anew',
          says: [
            `People of “${tenantName}” sign in by the connection “${connection}”. The person who activated it has left, or may do less than then. It goes on to work.`,
          ],
          next: [
            'Try the connection yourself, and activate it anew, so that a present owner vouches for it.',
          ],
        }),
      ),
      glass_broken: mail<{ tenantName: string; owner: string; ip: string; at: number }>(
        ({ tenantName, owner, ip, at }, { moment }) => ({
          subject: 'An owner signed in without your identity provider',
          says: [
            `The members of “${tenantName}” sign in by its identity provider. ${owner} is an owner, and signed in with a password and a second factor instead.`,
          ],
          facts: [
            ['When', moment(at)],
            ['IP address', ip],
          ],
          next: ['If no owner meant to do this, end their sessions and ask them to change the password.'],
        }),
      ),
      impersonated: mail<{ tenantName: string; actor: string; reason: string }>(
        ({ tenantName, actor, reason }) => ({
          subject: 'Someone acted as you in an organisation',
          says: [
            `${actor || 'A person without a verified address'} of “${tenantName}” can act as you there for 15 minutes.`,
          ],
          quote: { of: 'The reason they gave', words: `“${reason}”` },
          next: [
            'They cannot change your account, password, second factors or sessions. The audit log names both of you in everything they do.',
          ],
          otherwise: ['If you did not expect this, ask them, or another owner of the organisation.'],
        }),
      ),
    },
  },

  /** By page (src/pages/sign-in). */
  pages: {
    /** Links of an organisation, below its pages and mails. */
    brand: { terms: 'Terms', privacy: 'Privacy', support: 'Help' },
    email: 'E-mail address',
    first_name: 'First name',
    last_name: 'Last name',
    optional: 'optional',
    newPasswordHint: 'At least 8 characters.',
    continue: 'Continue',
    back: 'Back to sign-in',
    change: 'Change',
    again: 'Begin again',
    errorTitle: 'This did not work',
    address: {
      title: 'Sign in',
      lead: 'Enter your e-mail address to go on.',
      isNew: 'New here?',
      register: 'Create an account',
    },
    realm: {
      title: 'How do you sign in?',
      lead: 'Your organisation has several ways. Choose the one that you use at work.',
      other: 'Sign in another way',
      toIt: 'Sign in with your organisation',
    },
    register: {
      title: 'Create an account',
      isKnown: 'Do you have one?',
      sent: (email: string) =>
        `We sent a mail to ${email}. Open its link in this browser to confirm the address, and you are signed in.`,
    },
    forgot: {
      title: 'Reset your password',
      lead: 'Enter the address of your account. We mail you a link to choose a new password.',
      send: 'Mail me a link',
      sent: (email: string) =>
        `If ${email} has an account, we sent a mail there. Its link lets you choose a new password.`,
    },
    mailedLink: {
      send: 'Mail me a link instead',
      sent: (email: string) =>
        `If ${email} has an account, we sent a mail there. Open its link in this browser within 15 minutes to sign in.`,
      again: 'Mail me a new link',
      password: 'Sign in with the password instead',
    },
    /** After a page that mails something. */
    sent: {
      title: 'Look into your mailbox',
      notThere: 'Nothing there? Wait a moment, and look among the unwanted mails too.',
      otherAddress: 'Use another address',
    },
    password: { title: 'Enter your password', label: 'Password', forgot: 'Forgot your password?' },
    passkey: {
      signIn: 'Sign in with a passkey',
      show: 'Use a passkey',
      lead: 'Use your passkey to go on.',
      noScript: 'A passkey needs JavaScript. Switch it on for this site, and load the page again.',
      failed: 'The passkey was not used. Try again, or go on without it.',
    },
    code: {
      title: 'Confirm that it is you',
      ofApp: 'Enter the code that your authenticator app shows.',
      ofMail: (email: string) => `Enter the code that we mailed to ${email || 'your address'}.`,
      ofList: 'Enter one of your recovery codes.',
      byMail: 'We can mail you a code.',
      label: 'Code',
      orRecovery: 'One of your recovery codes works too.',
      mail: 'Mail me a code instead',
      send: 'Mail me a code',
      again: 'Mail me a new code',
      other: 'Sign in with another address',
      notYet:
        'The code is right, but this factor is too new to be enough here. Show another one, or come back tomorrow.',
      another: 'Show another factor',
    },
    setUp: {
      title: 'Set up a second factor',
      why: 'This organisation asks for a second factor, and you have none yet.',
      apps: 'Any authenticator app will do, such as the password manager of your phone.',
      passkey: 'Set up a passkey instead',
      usePasskey: {
        title: 'Your passkey is ready',
        lead: 'Use it once to go on. Later sign-ins need no more than that.',
      },
      begin: 'Set up an app',
      scan: 'Scan this code with your authenticator app.',
      qr: 'QR code for your authenticator app',
      orType: 'Or type this key into it:',
      here: 'Is the app on this device? Open it here.',
      code: 'Code that the app shows',
      anew: 'Show another QR code',
    },
    recoveryCodes: {
      title: 'Keep your recovery codes',
      lead: 'If you lose your device, one of these codes signs you in. Each works once. They are shown only now, so keep them in a safe place.',
      download: 'Download them as a text file',
      file: 'recovery-codes.txt',
      kept: 'I have kept them',
    },
    stepUp: { title: 'Confirm again that it is you' },
    signedIn: {
      title: 'You are signed in',
      switch: 'Change the organisation',
      signOut: 'Sign out',
      invited: (tenant: string) => `You are invited to ${tenant}`,
      seeInvitation: 'See the invitation',
    },
    confirmAddress: {
      title: 'Confirm your address',
      isDue: 'Your address is not confirmed yet',
      lead: (email: string) => `We mail a link to ${email}. Open it to confirm that the address is yours.`,
      send: 'Mail me the link',
      sent: (email: string) => `We sent a mail to ${email}. Open its link to confirm the address.`,
    },
    connected: {
      title: 'Connected applications',
      lead: 'You are signed in to these applications. One that you disconnect asks you again.',
      none: 'You are signed in to no application.',
      since: (at: string, count: number) => (count === 1 ? `since ${at}` : `since ${at}, ${count} sign-ins`),
      end: (client: string) => `Disconnect ${client}`,
      more: 'Show more',
    },
    organisation: {
      title: 'Choose an organisation',
      lead: 'You belong to several. Where do you want to go?',
    },
    /** An application asks for consent (OpenID Connect). Scopes without words stand as they are. */
    connectionTest: {
      works: (name: string) => `${name} works`,
      lead: (subject: string) => `The provider knows you as ${subject}. This is all that it says of you:`,
      close: 'You can close this page, and activate the connection.',
      fails: 'The sign-in did not work',
      again: 'Change the connection or the settings at the provider, and try again.',
    },
    provider: {
      goOn: (name: string) => `Continue with ${name}`,
      goOnLead: (name: string) => `You leave this page, and sign in with ${name}.`,
      leaving: (name: string) => `On to ${name}`,
      leavingLead: 'One moment: you are taken there.',
      fails: (name: string) => `The sign-in with ${name} did not work`,
      faults: {
        denied: (name: string) => `${name} says that you did not agree, or that you may not use it here.`,
        unreachable: (name: string) =>
          `${name} cannot be reached just now. Try again later, or sign in in another way.`,
        refused: (name: string) =>
          `The answer of ${name} was not accepted. Try again, or sign in in another way.`,
        undated: (name: string) =>
          `This needs a sign-in of just now, and ${name} does not say when you signed in there. Sign in in another way.`,
      },
      back: 'Back to the sign-in',
      address: {
        title: 'Your email address',
        lead: (name: string) => `${name} gave no address. Which one is yours? You get a mail to it.`,
      },
      sent: (email: string) => `We sent a mail to ${email}. Open its link to go on.`,
      replace: {
        title: 'Someone is signed in',
        lead: (here: string, account: string, name: string) =>
          `You are signed in as ${here}. Do you want to sign in with ${name} in its place, as ${account}?`,
        button: (account: string) => `Sign in as ${account}`,
        stay: (here: string) => `Stay ${here}`,
      },
      confirm: {
        title: (name: string) => `Sign in with ${name}`,
        own: (name: string, account: string, email: string) =>
          `From now on, ${account} at ${name} signs in to the account ${email}.`,
        elsewhere: (name: string, account: string, email: string) =>
          `In another browser, someone signed in at ${name} as ${account}, and gave the address ${email}. From now on, they could sign in to the account of this address. Go on only if that was you.`,
        button: 'That was me: go on',
      },
      dead: { title: 'This no longer works', lead: 'It was used already, or is too old. Begin again.' },
    },
    consent: {
      title: (client: string) => `Continue to ${client}`,
      lead: (client: string, tenant: string) => `${client} of ${tenant} wants to know:`,
      scopes: {
        ...actions,
        openid: 'who you are, and that you are a member',
        profile: 'your name, language and time zone',
        email: 'your email address',
        roles: 'your roles',
        groups: 'your roles and your department',
        organization: 'the name of the organisation',
        offline_access: 'this also while you are away, until you end its session',
        'profile:read': 'see your profile',
        'tenant:list': 'see your organisation',
        'tenant:read': 'see the organisation and its settings',
        'user:list': 'see the list of people',
        'user:read': 'see the people',
        'member:list': 'see the members',
        'role:list': 'see the roles',
        'department:list': 'see the departments',
        'invitation:list': 'see the invitations',
        'service_account:list': 'see the list of service accounts',
        'service_account:read': 'see the service accounts',
        'policy:list': 'see the list of policies',
        'policy:read': 'see the policies',
        'decision:list': 'see the list of decisions',
        'decision:read': 'see the decisions',
        'decision:explain': 'see why something was decided',
        'approval_request:list': 'see the requests for approval',
        'approval_request:read': 'see a request for approval',
        'access:evaluate': 'ask what people may do',
        'audit:list': 'see the audit log',
        'event:list': 'see the events',
        'webhook:list': 'see the webhooks',
        'oauth_client:list': 'see the list of applications',
        'oauth_client:read': 'see the applications',
      } as Record<string, string>,
      acts: (api: string) => `In your name, it wants to do this at ${api}:`,
      leadsTo: (host: string) => `It takes you to ${host}.`,
      allow: 'Continue',
      deny: 'Cancel',
      other: 'Use another account',
      gone: 'This request is over. Go back to the application, and begin again.',
    },
    /** Policies keep a person out of an application, or let them ask. `reasons`: by the code of the decision. */
    access: {
      denied: (client: string) => `You cannot use ${client}`,
      reasons: {
        no_active_membership: 'You are not a member of its organisation.',
        policy_deny: 'The rules of its organisation do not let you in.',
        policy_timeout: 'The rules of its organisation gave no answer in time. Try again later.',
        policy_failed: 'A rule of its organisation failed. Tell the people who manage the organisation.',
        no_eligible_approver: 'Another person would have to agree, and there is none who can.',
        step_up_impossible:
          'The rules of its organisation ask for a second factor, and you have none that can be shown here.',
        tenant_suspended: 'Its organisation is suspended.',
        tenant_archived: 'Its organisation is closed.',
        impersonation_not_allowed: 'Who acts as another member cannot do this.',
      } as Record<string, string | undefined>,
      decision: 'The people who manage the organisation find out why with this number:',
      back: (client: string) => `Back to ${client}`,
      ask: (client: string) => `Ask for access to ${client}`,
      lead: (client: string, host: string) =>
        `The rules of its organisation ask another person to agree before you use ${client} at ${host}.`,
      send: 'Ask for access',
      rejected: 'Your request was refused',
      rejectedAt: (at: string) => `It was refused on ${at}. You can ask again.`,
      sendAgain: 'Ask again',
      waits: 'Your request waits',
      until: (client: string, at: string) =>
        `The people who can let you into ${client} have a mail. You get one when they decide. Then come back here, or begin again in the application. Your request ends on ${at}.`,
      look: 'Look again',
    },
    /** A device shows a code, and its person enters it here (RFC 8628). */
    device: {
      title: 'Connect a device',
      lead: 'Enter the code that your device shows.',
      compare: 'Go on only if your device shows this very code.',
      yours: 'your device',
      label: 'Code',
      hint: 'Eight letters, such as BCDF-GHJK.',
      question: 'Did you start this?',
      from: (place: string) => `The request came from ${place}.`,
      warning: 'If someone sent you the code or a link to it, cancel: their device would have your account.',
      connected: 'Your device is connected',
      goBack: 'Go back to it. You can close this page.',
      refused: 'The device is not connected',
      nothingGiven: 'It got nothing of you. You can close this page.',
      over: 'This code is over',
      beginAgain: 'Begin again on the device, which shows a new one.',
    },
    /** A request of an application that cannot be answered. */
    application: {
      title: 'The application asked for something that is not possible',
      lead: 'Tell the people who run the application:',
      leave: 'One moment: you go on.',
    },
    signedOut: { title: 'You are signed out', lead: 'You can close this page.', again: 'Sign in again' },
    leave: { title: 'You are signed in', lead: 'One moment: you are taken back.' },
    /** The pages of mailed links, by the link's name. `dead`: what to do when the link works no longer. */
    links: {
      incomplete: {
        title: 'This link is not complete',
        lead: 'Open it from the mail again, in a browser that accepts cookies.',
      },
      expired: 'This link is too old',
      used: 'This link does not work any more',
      close: 'You can close this page.',
      signIn: 'Sign in',
      resetPassword: 'Choose a new password',
      notMe: 'This was not me',
      newPassword: 'New password',
      made: (at: string) => `An account with this address was created on ${at}.`,
      changed: (at: string) => `Someone asked on ${at} to change the address of an account to this one.`,
      email_verification: {
        title: 'Confirm your e-mail address',
        lead: 'Press the button to confirm that this address is yours.',
        button: 'Confirm address',
        done: {
          title: 'Your address is confirmed',
          lead: 'You can go on where you came from, or sign in here.',
        },
        dead: 'It was used, or a newer one took its place. If your address is not confirmed yet, sign in and ask for a new link.',
      },
      email_rejection: {
        title: 'This was not me',
        lead: 'Did you not create this account, or not give it your address? Then remove the address from it. An account whose address was never confirmed is deleted. An account that had another address before gets that one back.',
        button: 'Remove my address',
        done: { title: 'Your address is removed', lead: 'It belongs to no account any more.' },
        dead: 'Your address may be removed already. If mails about the account still come, choose a new password: then the account is yours to close.',
      },
      password_reset: {
        title: 'Choose a new password',
        lead: 'This ends all your sessions.',
        button: 'Set password',
        done: {
          title: 'Your password is changed',
          lead: 'All your sessions have ended. Sign in with the new password.',
        },
        dead: 'Links work once, and for a short time. Ask for a new one.',
      },
      email_undo: {
        title: 'Undo the change of address',
        lead: 'Did you not change the address of your account? Then restore this one. All sessions of the account end, yours too.',
        button: 'Restore this address',
        done: {
          title: 'Your address is restored',
          lead: 'All sessions have ended. Choose a new password now, because the person who changed the address may know yours.',
        },
        dead: 'Your address may be restored already. If it is not, ask the people who manage your organisation to secure your account.',
      },
      factor_undo: {
        title: 'Remove the second factor',
        lead: 'Did you not add this second factor? Then remove it. All sessions of your account end, yours too.',
        button: 'Remove it',
        done: {
          title: 'The second factor is removed',
          lead: 'All sessions have ended. Choose a new password now, because the person who added the factor knows yours.',
        },
        dead: 'The factor may be removed already. If it is not, ask the people who manage your organisation to secure your account.',
      },
      identity_undo: {
        title: 'Unlink the account',
        lead: 'Did you not link this account at another provider? Then unlink it. All sessions of your account end, yours too.',
        button: 'Unlink it',
        done: {
          title: 'The account is unlinked',
          lead: 'It no longer signs in to your account, and all sessions have ended. Choose a new password, if you have one.',
        },
        dead: 'It may be unlinked already. If it is not, ask the people who manage your organisation to secure your account.',
      },
      invitation: {
        title: (tenant: string) => `Join ${tenant}`,
        lead: (inviter: string, names: readonly string[]) =>
          `${inviter ? `${inviter} invites you` : 'You are invited'}${names.length > 0 ? `, with the ${names.length === 1 ? 'role' : 'roles'} ${joined(names.map((name) => wordsOf(roles, name) ?? name))}` : ''}.`,
        join: (tenant: string) => `Join ${tenant}`,
        byPasskey: 'Join with a passkey instead',
        hasAccount: 'This address has an account. Sign in with it, and join with one click.',
        signIn: 'Sign in to join',
        otherAddress: (invited: string, own: string) =>
          `The invitation is for ${invited}, and you are signed in as ${own}.`,
        signOut: 'Sign out and go on',
        isMember: { title: 'You are a member already', lead: 'You do not need this invitation any more.' },
        done: {
          title: (tenant: string) => `You have joined ${tenant}`,
          lead: 'You are signed in.',
          leadElsewhere: 'Sign in to your application as usual.',
          enter: (tenant: string) => `Go on in ${tenant}`,
        },
        dead: 'It was used, cancelled or replaced, or is too old. Ask the person who invited you to send it again.',
      },
      magic_link: {
        title: 'Sign in',
        lead: 'The link works once, and only in the browser in which you asked for it.',
        button: 'Sign in',
        dead: 'Links work once, and for a few minutes. Ask for a new one.',
        elsewhere: {
          title: 'Another browser asked for this link',
          lead: 'Open it in the browser in which you asked for it, or ask for a new one in this browser.',
        },
        done: 'You are signed in. Go back to the window in which you asked for the link.',
        wrong: 'This did not work. Try again in a moment, or ask for a new link.',
      },
      tenant_leave: {
        title: 'Leave the organisation',
        lead: 'You were added as a member. If you do not want that, leave. Your account stays as it is.',
        button: 'Leave',
        done: { title: 'You have left the organisation', lead: 'Your account stays as it is.' },
        dead: 'You may have left already. If not, sign in and leave the organisation there.',
      },
    },
    /** By code of a refusal. `wait` is in seconds, 0 for none. */
    refusals: {
      invalid_credentials: () => 'Address and password do not match. Check both, or reset your password.',
      otp_invalid: () => 'This code is not right, or too old. Use the newest one.',
      passkey_invalid: () =>
        'This passkey was not accepted: it is unknown here, or it took too long. Try again, or go on without it.',
      otp_required: () => 'You have shown none of your factors yet. Begin again.',
      invalid_state: () => 'This app is set up already. Begin again.',
      account_locked: (wait) => `Too many attempts. Try again in ${minutes(wait)}, or reset your password.`,
      throttled: (wait) => `Too many attempts. Try again in ${minutes(wait)}.`,
      channel_disabled: () =>
        'This organisation asks for a second factor, and you have none that can be shown here. Ask the people who manage it.',
      no_active_membership: () => 'You are no longer a member of this organisation.',
      tenant_suspended: () => 'This organisation is suspended. Ask the people who manage it.',
      tenant_archived: () => 'This organisation is closed. Ask the people who managed it.',
      token_not_valid: () => 'This took too long. Begin again.',
      not_authenticated: () => 'This took too long. Begin again.',
      session_revoked: () => 'You were signed out. Begin again.',
      invitation_needed: () =>
        'You are not a member of this organisation yet. If it can invite you, you get a mail. Open its link.',
      sso_required: () => 'This organisation has its members sign in with its own identity provider.',
      sign_in_refused: () => 'This account cannot sign in here.',
      state_not_valid: () =>
        'This answer belongs to another browser, was used already, or is too old. Begin again.',
      overtaken: () => 'This was changed meanwhile. Begin again.',
      form_not_valid: () => 'This form is of another browser, or too old. Begin again.',
      form_expired: () => 'More than 15 minutes went by since the page was opened. Begin again.',
      cross_site_request: () => 'This form came from another site, so it was not taken. Begin again.',
      email_mismatch: () => 'This invitation is for another address than yours.',
      last_owner: () =>
        'You are the last owner, and an organisation needs one. Make another member an owner first.',
      not_found: () => 'There is no such page.',
      overloaded: () => 'Many people sign in just now. Try again in a moment.',
      dependency_unavailable: () => 'The service is not complete just now. Try again in a moment.',
      internal_error: () => 'The service has failed. The fault is noted. Try again in a moment.',
    } as Record<string, ((wait: number) => string) | undefined>,
    /** For a refusal that is not among these. `message` is the API's. */
    otherRefusal: (message: string) => message,
    /** By field and code of a fault, or by its code. */
    faults: {
      'user_code.unknown': 'No device waits with this code. Check it, or begin again on the device.',
      'email.invalid': 'This is no e-mail address. It looks like ada@example.com.',
      'current_password.wrong_password': 'This is not your password.',
      'password.invalid': 'A password has 8 to 128 characters.',
      'password.too_common': 'Attackers know this password: it was stolen elsewhere. Choose another one.',
      'password.too_close':
        'A password must not be your name, your address, or the name of an organisation or of this service. Choose another one.',
      required: 'This is missing.',
      too_small: 'This is missing.',
      too_big: 'This text is too long.',
    } as Record<string, string | undefined>,
    otherFault: (detail: string) => detail,
  },
}

const minutes = (wait: number) => lasts(Math.max(1, Math.ceil(wait / 60)))

export type Texts = typeof en
