import { z } from 'zod'

/** A text in one line: no line breaks, runs of spaces, or characters that control how text is displayed. */
export const oneLine = (words: string): string => words.replace(control, ' ').replace(/\s+/g, ' ').trim()

// Control characters, and those that change the text direction.
const control = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * Makes a user's text safe for a mail to another person: in one line, so that it cannot imitate our own lines, and cut
 * to `max` characters, so that it cannot replace the mail's text. Never put it into a subject.
 */
function freeText(words: string, max: number): string {
  const characters = [...oneLine(words)]
  return characters.length <= max ? characters.join('') : `${characters.slice(0, max - 1).join('')}…`
}

const freeTextOf = (max: number) => z.string().transform((words) => freeText(words, max))

/** Variables of mails: the name of a person or an organisation, and a user's message to the recipient. */
export const name = freeTextOf(64)
export const longestMessage = 500
export const message = freeTextOf(longestMessage)
/** The reason that a person gives for what they do, in the mail to the person to whom they do it. */
export const reason = freeTextOf(100)

/**
 * The name by which a mail greets its reader. None while the address is not proven: then the reader can be a stranger, and
 * the name any text that another person gave.
 */
export const greeted = ({
  firstName,
  emailVerified,
}: {
  firstName: string
  emailVerified: boolean
}): string => (emailVerified ? firstName : '')

/**
 * How a mail names who acted: a person by their name, when they gave one, and proven address; a service account by its
 * name. A name never shows an address: it could be another person's. Empty for a person with neither.
 */
export function signature(person: {
  firstName: string
  lastName: string
  email: string
  emailVerified: boolean
}): string {
  const { firstName, lastName, email, emailVerified } = person
  const names = freeText(oneLine(`${firstName} ${lastName}`).replace(/\S*@\S*/g, ''), 64)
  if (!emailVerified) return names
  return names ? `${names} (${email})` : email
}
