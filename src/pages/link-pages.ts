import { readFileSync } from 'node:fs'
import type { Middleware } from 'koa'
import { type MailedLink, mailedLinks } from '../messages/links/mailed-links.ts'
import { type Asset, asset } from './asset.ts'

/** A page for a link in a mail. Its button posts the token of the link to the API. */
interface LinkPage {
  title: string
  lead: string
  button: string
  /** The path of the API that takes the token. */
  post: string
  /** The message after success. */
  done: string
  /** What to do when the link has expired or was used. */
  dead: string
  /** Whether people go on to the console after success, where it is on. */
  signIn?: boolean
  /** Whether the person has to choose a password. */
  newPassword?: boolean
  /** Whether the person is asked for names, for a new account. */
  names?: boolean
  /** The message for people who log in on the page, with an existing account, to use the link. */
  accountDone?: string
  /** Whether the page says when the account was created, or its address changed; the link contains the time. */
  origin?: boolean
  /** Whether the link works only in the browser that asked for it, which then gets the tokens of the answer. */
  asked?: boolean
  /** A second form on the page, which uses the same token for the opposite. */
  other?: LinkPage
}

const rejection: LinkPage = {
  title: 'This was not me',
  lead: 'Did you not create this account, or not give it your address? Then remove the address from it. An account whose address was never confirmed is deleted. An account that had another address before gets that address back.',
  button: 'Remove my address from the account',
  post: '/api/v1/auth/email/verify/reject/',
  done: 'Your address is removed. You can close this page.',
  dead: 'The address may be removed already. If mails about the account still come, ask for a new password with this address, and the account is yours to close.',
  origin: true,
}

// A GET changes nothing, because mail scanners open every link and would use up the token.
const pages: Record<MailedLink, LinkPage> = {
  email_verification: {
    title: 'Confirm your e-mail address',
    lead: 'Press the button to confirm that this address is yours.',
    button: 'Confirm address',
    post: '/api/v1/auth/email/verify/confirm/',
    done: 'Your e-mail address is confirmed. You can close this page.',
    dead: 'Links work once, and for a limited time. If your address is not confirmed yet, log in and ask for a new link in your account.',
    signIn: true,
    origin: true,
    other: rejection,
  },
  email_rejection: rejection,
  password_reset: {
    title: 'Reset your password',
    lead: 'Choose a new password of 8 characters or more. This ends all your sessions.',
    button: 'Set password',
    post: '/api/v1/auth/password/reset/confirm/',
    done: 'Your password is changed. Log in with it.',
    dead: 'Links work once, and for a short time. Ask for a new one where you log in: choose “Forgot password?”.',
    signIn: true,
    newPassword: true,
  },
  magic_link: {
    title: 'Log in',
    lead: 'Press the button to log in. The link works once, and only in the browser in which you asked for it.',
    button: 'Log in',
    post: '/api/v1/auth/magic-link/confirm/',
    done: 'You are logged in. Go back to the window in which you asked for the link.',
    dead: 'Links work once, and for a few minutes. Ask for a new one where you wanted to log in.',
    asked: true,
  },
  tenant_leave: {
    title: 'Leave the organisation',
    lead: 'You were added as a member. Press the button to leave. Your account does not change.',
    button: 'Leave',
    post: '/api/v1/tenants/leave/',
    done: 'You have left the organisation. You can close this page.',
    dead: 'You may have left already. If not, log in and leave the organisation there.',
  },
  email_undo: {
    title: 'Undo the change of address',
    lead: 'Did you not change the e-mail address of your account? Then restore this address. This also ends all sessions, including yours.',
    button: 'Restore this address',
    post: '/api/v1/auth/email/undo/',
    dead: 'The address may be restored already. If it is not, ask the people who manage your organisation to secure your account.',
    signIn: true,
    done: 'This is the address of your account again, and all sessions are ended. Now reset your password, because the person who changed the address may know it.',
  },
  factor_undo: {
    title: 'Remove the second factor',
    lead: 'Did you not add this second factor? Then remove it. This also ends all sessions of your account, including yours.',
    button: 'Remove it',
    post: '/api/v1/auth/otp/undo/',
    dead: 'The second factor may be removed already. If it is not, ask the people who manage your organisation to secure your account.',
    signIn: true,
    done: 'The second factor is removed, and all sessions are ended. Now reset your password, because the person who added it knows it.',
  },
  invitation: {
    title: 'Accept the invitation',
    lead: 'To create an account, choose a password of 8 characters or more. If you already have an account, log in below.',
    button: 'Join',
    post: '/api/v1/invitations/accept/',
    dead: 'The invitation was used, cancelled, or has expired. Ask the person who invited you to send it again.',
    signIn: true,
    done: 'Welcome! Your account is created. Log in with your address and password.',
    newPassword: true,
    names: true,
    accountDone: 'You have joined. Log in to your application as usual and switch to the organisation.',
  },
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

/** Handlers of GET by path, for the pages of mailed links and the files that these load. With the console, they lead there. */
export function linkPages({ consoleEnabled = false } = {}): Record<string, Middleware> {
  const style = fromBrowser('link-page.css')
  const script = fromBrowser('link-page.js')
  const served = Object.entries(pages).map(
    ([name, page]) =>
      [mailedLinks[name as MailedLink].page, serve(html(page, { style, script, consoleEnabled }))] as const,
  )
  return { ...Object.fromEntries(served), [style.path]: style.serve, [script.path]: script.serve }
}

const fromBrowser = (name: string) =>
  asset(`/link-page/${name}`, readFileSync(new URL(`browser/${name}`, import.meta.url)))

/** The page contains nothing of the request: the script reads the token from the address. */
const serve =
  (body: string): Middleware =>
  (ctx) => {
    ctx.set({
      'Content-Security-Policy': policy,
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'no-store',
    })
    ctx.type = 'html'
    ctx.body = body
  }

const passwordField = `<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="8" maxlength="128" required autofocus>
`

const nameFields = `<label for="first_name">First name</label>
<input id="first_name" name="first_name" autocomplete="given-name" maxlength="150">
<label for="last_name">Last name</label>
<input id="last_name" name="last_name" autocomplete="family-name" maxlength="150">
`

const logInForm = (post: string, done: string) => `<details>
<summary>I already have an account</summary>
<form data-log-in data-post="${post}" data-done="${done}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="username" maxlength="254" required>
<label for="own_password">Password</label>
<input id="own_password" name="password" type="password" autocomplete="current-password" maxlength="1024" required>
<div data-second-factor hidden>
<label for="code">Code of your second factor</label>
<input id="code" name="code" autocomplete="one-time-code" maxlength="64">
</div>
<button disabled>Log in and join</button>
<p role="status" aria-live="polite"></p>
</form>
</details>
`

// Hidden until the script finds the time in the address.
const originLines = `<p data-told="made" hidden>An account with this address was created on {at}.</p>
<p data-told="changed" hidden>Someone asked on {at} to change the address of an account to this one.</p>
`

// Relative, because the service can stand below a path of its host.
const nextLine = `<p data-next hidden><a href="console/">Go to sign-in</a></p>
`

const mark = `<svg class="mark" viewBox="-9 -9 40 40" fill="currentColor" aria-hidden="true"><path d="M2.5 19v-8A8.5 8.5 0 0 1 7.9 3.1l1.9 4.4A3.7 3.7 0 0 0 7.3 11v8H2.5Zm12.2 0v-8a3.7 3.7 0 0 0-2.5-3.5l1.9-4.4a8.5 8.5 0 0 1 5.4 7.9v8h-4.8Z"/><path d="M9.3 1.2h3.4l-1 5.1h-1.4l-1-5.1Z"/></svg>
`

const otherForm = ({ title, lead, button, post, done }: LinkPage) => `<details>
<summary>${title}</summary>
<p>${lead}</p>
<form data-post="${post}" data-done="${done}">
<button disabled>${button}</button>
<p role="status" aria-live="polite"></p>
</form>
</details>
`

const html = (
  {
    title,
    lead,
    button,
    post,
    done,
    dead,
    signIn,
    newPassword,
    names,
    accountDone,
    origin,
    asked,
    other,
  }: LinkPage,
  { style, script, consoleEnabled }: { style: Asset; script: Asset; consoleEnabled: boolean },
) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style.href}">
<script src="${script.href}" defer></script>
</head>
<body>
<main>
${mark}<h1>${title}</h1>
${origin ? originLines : ''}<p>${lead}</p>
<form data-post="${post}" data-done="${done}"${asked ? ' data-asked' : ''}>
${newPassword ? passwordField : ''}${names ? nameFields : ''}<button disabled>${button}</button>
<p role="status" aria-live="polite"></p>
</form>
<p data-dead hidden>${dead}</p>
${signIn && consoleEnabled ? nextLine : ''}${accountDone ? logInForm(post, accountDone) : ''}${other ? otherForm(other) : ''}<noscript><p>This page needs JavaScript to send your answer.</p></noscript>
</main>
</body>
</html>
`
