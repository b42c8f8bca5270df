/**
 * The links in mails, by name. `page` is the path below EMAIL_LINK_BASE, and of the service's own page, which
 * pages/links makes; `setting` is the setting that replaces it by another address. The name is the purpose in link_tokens
 * (one-time-link.ts), with two exceptions: invitations store their tokens themselves, and `email_rejection` carries the
 * token of `email_verification`, which either link uses up.
 */
export const mailedLinks = {
  email_verification: { page: '/verify-email', setting: 'EMAIL_LINK_VERIFY' },
  email_rejection: { page: '/reject-email', setting: 'EMAIL_LINK_REJECT' },
  password_reset: { page: '/reset-password', setting: 'EMAIL_LINK_RESET' },
  email_undo: { page: '/undo-email-change', setting: 'EMAIL_LINK_UNDO_EMAIL' },
  factor_undo: { page: '/undo-second-factor', setting: 'EMAIL_LINK_UNDO_FACTOR' },
  identity_undo: { page: '/undo-identity', setting: 'EMAIL_LINK_UNDO_IDENTITY' },
  magic_link: { page: '/log-in', setting: 'EMAIL_LINK_MAGIC' },
  tenant_leave: { page: '/leave-tenant', setting: 'EMAIL_LINK_LEAVE' },
  invitation: { page: '/accept-invitation', setting: 'EMAIL_LINK_INVITATION' },
} as const satisfies Record<string, { page: string; setting?: string }>

export type MailedLink = keyof typeof mailedLinks
/** Links whose token is in link_tokens. */
export type LinkPurpose = Exclude<MailedLink, 'invitation' | 'email_rejection'>
type LinkSetting = 'EMAIL_LINK_BASE' | { [N in MailedLink]: (typeof mailedLinks)[N]['setting'] }[MailedLink]

/** What a link is made from: the settings, and the base of the service's own pages without a trailing slash. */
export interface LinkDeps {
  config: { readonly [S in LinkSetting]: string | undefined }
  publicUrl: () => string
}

/** The address for a mail, with its token. `parameters` are further query parameters of `page`. */
export function linkUrl(
  { config, publicUrl }: LinkDeps,
  name: MailedLink,
  token: string,
  parameters: Record<string, string> = {},
): string {
  const { page, setting } = mailedLinks[name]
  return (
    config[setting]?.replace('{token}', token) ??
    `${config.EMAIL_LINK_BASE ?? publicUrl()}${page}?${new URLSearchParams({ token, ...parameters })}`
  )
}

/** Whether the link leads to a page of the service. */
export const leadsHere = (config: LinkDeps['config'], name: MailedLink): boolean =>
  (config.EMAIL_LINK_BASE ?? config[mailedLinks[name].setting]) === undefined
