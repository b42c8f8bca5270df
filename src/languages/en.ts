import { lasting } from './format.ts'

/** The texts of pages and mails in English. Each other language has the same: the compiler keeps it complete. */
export const en = {
  /** BCP 47: the attribute `lang` of pages and mails. */
  code: 'en',
  /** How the language calls itself. */
  name: 'English',
  /** BCP 47: how dates and numbers look for a reader whose locale is not known. */
  format: 'en-GB',

  /** By name of the template (src/messages/mail). */
  mails: {},

  /** By page (src/pages/sign-in). */
  pages: {
    email: 'E-mail address',
    continue: 'Continue',
    change: 'Change',
    again: 'Begin again',
    errorTitle: 'This did not work',
    address: {
      title: 'Sign in',
      lead: 'Enter your e-mail address to go on.',
      isNew: 'New here?',
      register: 'Create an account',
    },
    password: { title: 'Enter your password', label: 'Password', forgot: 'Forgot your password?' },
    code: {
      title: 'Confirm that it is you',
      ofApp: 'Enter the code that your authenticator app shows.',
      ofMail: (email: string) => `Enter the code that we mailed to ${email || 'your address'}.`,
      ofList: 'Enter one of your recovery codes.',
      label: 'Code',
      orRecovery: 'One of your recovery codes works too.',
      mail: 'Mail me a code instead',
      again: 'Mail me a new code',
      other: 'Sign in with another address',
      notYet:
        'The code is right, but this factor is too new to be enough here. Show another one, or come back tomorrow.',
      another: 'Show another factor',
    },
    signedIn: { title: 'You are signed in', switch: 'Change the organisation', signOut: 'Sign out' },
    organisation: {
      title: 'Choose an organisation',
      lead: 'You belong to several. Where do you want to go?',
    },
    signedOut: { title: 'You are signed out', lead: 'You can close this page.', again: 'Sign in again' },
    leave: { title: 'You are signed in', lead: 'One moment: you are taken back.' },
    /** By code of a refusal. `wait` is in seconds, 0 for none. */
    refusals: {
      invalid_credentials: () => 'Address and password do not match. Check both, or reset your password.',
      otp_invalid: () => 'This code is not right, or too old. Use the newest one.',
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
      form_not_valid: () => 'This form is of another browser, or too old. Begin again.',
      cross_site_request: () => 'This form came from another site, so it was not taken. Begin again.',
      not_found: () => 'There is no such page.',
      overloaded: () => 'Many people sign in just now. Try again in a moment.',
      dependency_unavailable: () => 'The service is not complete just now. Try again in a moment.',
      internal_error: () => 'The service has failed. The fault is noted. Try again in a moment.',
    } as Record<string, ((wait: number) => string) | undefined>,
    /** By field and code of a fault, or by its code. */
    faults: {} as Record<string, string | undefined>,
  },
}

const minutes = (wait: number) => lasting('en')(Math.max(1, Math.ceil(wait / 60)))

export type Texts = typeof en
