import { z } from 'zod'

/** A text without line breaks, runs of spaces, and characters that only steer how a line is shown. */
export const oneLine = (words: string): string => words.replace(steering, ' ').replace(/\s+/g, ' ').trim()

// Control characters, and those that turn the direction of what follows.
const steering = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * Words that people chose freely, as a mail to somebody else may carry them: in one line, so that they cannot pose as
 * a line of ours, and cut to `most` characters, so that they cannot be the letter. Never part of a subject.
 */
export function freeText(words: string, most: number): string {
  const characters = [...oneLine(words)]
  return characters.length <= most ? characters.join('') : `${characters.slice(0, most - 1).join('')}…`
}

const freeTextOf = (most: number) => z.string().transform((words) => freeText(words, most))

/** Variables of mails: the name of a person or an organisation, and what somebody writes to the recipient. */
export const name = freeTextOf(64)
export const longestMessage = 500
export const message = freeTextOf(longestMessage)

/** How a mail names a person: by their names, where they gave any, and by their address. */
export function signature(person: { firstName: string; lastName: string; email: string }): string {
  const { firstName, lastName, email } = person
  const names = freeText(`${firstName} ${lastName}`, 64)
  return names ? `${names} (${email})` : email
}
