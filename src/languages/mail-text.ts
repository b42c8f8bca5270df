/**
 * What a mail says. Its greeting comes before, its links and its code are added by src/messages/mail/letter.ts, in this
 * order: `says`, `quote`, `facts`, the button or the code, `next`, `otherwise`, the button that undoes.
 */
export interface MailText {
  subject: string
  /** What happened, or who asks for what. Mail clients show the first paragraph beside the subject. */
  says: string[]
  /** The words of another person, in the quotation marks of the language. */
  quote?: { of: string; words: string } | undefined
  /** Names and values, such as when and where. */
  facts?: [name: string, value: string][]
  /** What the button does that opens the link. */
  button?: string
  /** What happens next, and how long the link or the code works. */
  next?: string[]
  /** What to do if it was not the reader. */
  otherwise?: string[]
  /** What the button does that opens the link to undo what happened. */
  undo?: string
}

/** What a text knows of its reader. */
export interface Reader {
  /** The name of the service, which its operator gave. */
  service: string
  /** A moment (ms since 1970) in the reader's form and time zone. */
  moment(at: number): string
}

/** Writes a mail from its variables. A variable that is missing was not known to the release that queued the mail. */
export const mail = <Variables>(write: (variables: Variables, reader: Reader) => MailText) => write

export type Factor = 'passkey' | 'totp' | 'email' | 'static'
export type Outcome = 'approved' | 'rejected' | 'cancelled' | 'executed' | 'failed'
/** What still opens an account besides the password: numbers of passkeys and API keys. */
export interface WaysIn {
  keysRevoked: boolean
  passkeys: number
  keys: number
}

/** The words for an action, if it is one of ours. */
export const wordsOf = (actions: Readonly<Record<string, string>>, action: string): string | undefined =>
  Object.hasOwn(actions, action) ? actions[action] : undefined
