import { languages } from '../languages/choose-language.ts'
import {
  boolean,
  domainName,
  linkTemplate,
  list,
  oneOf,
  originList,
  seconds,
  setting,
  text,
  wholeNumber,
} from './forms.ts'
import { socialProviders } from './social-providers.ts'

const week = 7 * 86_400
const upTo = (most: number) => wholeNumber(0, most)

/** Settings of signing keys and tokens. */
export const tokenSettings = {
  JWT_ALGORITHM: setting(oneOf('ES256', 'EdDSA', 'RS256'), 'ES256', 'Algorithm of new signing keys'),
  JWT_PRIVATE_KEYS: setting(
    text,
    undefined,
    'Your own signing keys (a JWK set or PKCS#8 PEM; the first signs; RSA of 3,072 bits or more) instead of those in Postgres',
    { secret: true },
  ),
  JWT_ISSUER: setting(text, undefined, 'Claim `iss`', { shown: 'PUBLIC_URL, else http://localhost:<port>' }),
  ACCESS_TOKEN_VALIDITY_SECONDS: setting(seconds, 900, 'Lifetime of an access token'),
  REFRESH_TOKEN_VALIDITY_SECONDS: setting(seconds, week, 'Lifetime of a refresh token, renewed by each use'),
  REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS: setting(seconds, 30 * 86_400, 'Longest lifetime of a session'),
  REFRESH_TOKEN_SWITCHED_VALIDITY_SECONDS: setting(
    seconds,
    12 * 3_600,
    'Longest lifetime of the tokens of a tenant switch without a refresh token',
  ),
  REFRESH_TOKEN_ROTATION: setting(
    boolean,
    true,
    'Each refresh returns a new refresh token, and ends the old',
  ),
  REFRESH_TOKEN_REUSE_GRACE_SECONDS: setting(
    upTo(300),
    10,
    'How long a used one still returns its successor',
  ),
}

/** Settings of ways to sign in. */
export const signInSettings = {
  REGISTRATION_HIDE_EXISTING: setting(
    boolean,
    false,
    'Registering a used address answers 201, and changing to one answers 200, instead of 400; the owner of the address gets a mail. A new account can then sign in only when its address is proven',
  ),
  PASSWORD_BLOCKED_WORDS: setting(
    list,
    [],
    'Words that passwords must not be, comma-separated, such as the names of your products',
    { shown: 'none' },
  ),
  OTP_REQUIRED_FOR_LOGIN: setting(boolean, false, 'All users need a second factor at login'),
  OTP_REQUIRED_WHEN_ENROLLED: setting(
    boolean,
    true,
    'Users with TOTP or a passkey need a second factor, too',
  ),
  OTP_ENABLED: setting(boolean, true, 'One-time passwords on or off'),
  OTP_EMAIL_ENABLED: setting(boolean, true, 'Codes by e-mail on or off'),
  OTP_TOTP_ENABLED: setting(boolean, true, 'TOTP on or off'),
  OTP_STATIC_ENABLED: setting(boolean, true, 'Recovery codes on or off'),
  OTP_EMAIL_TOKEN_VALIDITY_SECONDS: setting(seconds, 300, 'Lifetime of a code sent by e-mail'),
  OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS: setting(seconds, 300, 'Longest time between password and code'),
  OTP_TOTP_DRIFT_STEPS: setting(
    upTo(1),
    1,
    'How many steps of 30 s the clock of an authenticator app may be early or late; `0` accepts only the present code',
  ),
  OTP_TOTP_ISSUER_NAME: setting(
    text,
    'Bailiwick',
    'Name of the service in mails, authenticator apps and passkeys',
  ),
  DEFAULT_LANGUAGE: setting(
    oneOf(...languages.map(({ code }) => code)),
    'en',
    'Language of mails and pages for a reader whose own is not known: `en` or `de`',
  ),
  OTP_STATIC_TOKEN_COUNT: setting(wholeNumber(1, 100), 10, 'Recovery codes per set'),
  PASSKEYS_ENABLED: setting(boolean, true, 'Passkeys on or off'),
  PASSKEY_RP_ID: setting(
    domainName,
    undefined,
    'Domain that passkeys belong to (the relying party id); a change makes all registered passkeys useless',
    { shown: 'host of `PUBLIC_URL`, `localhost` in development' },
  ),
  PASSKEY_ORIGINS: setting(
    originList,
    undefined,
    'Comma-separated origins of the pages that can use passkeys, at that domain or below it',
    { shown: 'origin of `PUBLIC_URL`' },
  ),
  MAGIC_LINK_ENABLED: setting(boolean, false, 'People can sign in by a link in a mail'),
  SOCIAL_PROVIDERS: setting(
    socialProviders,
    [],
    'Providers with which people sign in, such as Google, as a JSON list: [how](../how-to/sign-in-with-social-providers.md)',
    { shown: 'none', secret: true },
  ),
}

/** A page of `EMAIL_LINK_BASE`, or another one by a setting of its own. */
const linkTo = (page: string, about: string) =>
  setting(linkTemplate('{token}'), undefined, `${about}, with \`{token}\``, { shown: `\`${page}\`` })

/** Settings of links in mails. */
export const linkSettings = {
  EMAIL_LINK_VERIFY: linkTo('/verify-email', 'Page that verifies an address'),
  EMAIL_LINK_REJECT: linkTo('/reject-email', 'Page of “This was not me” in verification mails'),
  EMAIL_LINK_RESET: linkTo('/reset-password', 'Page that resets a password'),
  EMAIL_LINK_UNDO_EMAIL: linkTo('/undo-email-change', 'Page that undoes a change of the e-mail address'),
  EMAIL_LINK_UNDO_FACTOR: linkTo('/undo-second-factor', 'Page that removes a new second factor'),
  EMAIL_LINK_UNDO_IDENTITY: linkTo('/undo-identity', 'Page that unlinks an account at another provider'),
  EMAIL_LINK_INVITATION: linkTo('/accept-invitation', 'Page that accepts an invitation'),
  EMAIL_LINK_MAGIC: linkTo('/log-in', 'Page that signs in (`MAGIC_LINK_ENABLED`)'),
  EMAIL_LINK_LEAVE: linkTo('/leave-tenant', 'Page on which an added member leaves the tenant'),
  EMAIL_LINK_APPROVAL: setting(
    linkTemplate('{id}'),
    undefined,
    'Page of an approval request, with its `{id}`, and `{tenant_id}` if the page needs that',
    { shown: 'its page in the console; `EMAIL_LINK_BASE` does not count' },
  ),
  EMAIL_VERIFICATION_VALIDITY_SECONDS: setting(seconds, 86_400, 'Lifetime of a verification link'),
  PASSWORD_RESET_VALIDITY_SECONDS: setting(seconds, 3_600, 'Lifetime of a password reset link'),
  INVITATION_VALIDITY_SECONDS: setting(seconds, week, 'Lifetime of an invitation, and of a link to leave'),
}
