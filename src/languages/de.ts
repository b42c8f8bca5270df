import type { Texts } from './en.ts'

/** The texts of pages and mails in German. */
export const de: Texts = {
  code: 'de',
  name: 'Deutsch',
  format: 'de-DE',

  mails: {},

  pages: {},
}
