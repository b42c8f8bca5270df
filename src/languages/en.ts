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
  pages: {},
}

export type Texts = typeof en
