import { texts } from './texts.ts'

const nounOf = (object: string) =>
  object
    .replaceAll('_', ' ')
    .replace(/\botp\b/, 'second factor')
    .replace(/\bapi\b/, 'API')
    .replace(/^oauth( client)?$/, 'application')

/** An action as what happened: `member:update` is “Member changed”. */
export function inWords(action: string): string {
  const [object = '', verb = ''] = action.split(':')
  const noun = nounOf(object)
  const words = `${noun} ${texts.verbs[verb] ?? verb.replaceAll('_', ' ')}`
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** An action as what is to happen: `member:update` is “Change member”. */
export function asRequest(action: string): string {
  const [object = '', verb = ''] = action.split(':')
  const words = `${texts.requests[verb] ?? verb.replaceAll('_', ' ')} ${nounOf(object)}`
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A value of a change as text: what is no text or number, as JSON. */
export const shown = (value: unknown): string =>
  value === null || value === undefined
    ? '–'
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value)
