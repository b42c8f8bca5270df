import { normaliseEmail } from '../messages/mail/email-address.ts'
import { UpstreamError } from './upstream.ts'

/** Who a person is at a provider. Throws {@link UpstreamError} for an address: it can go to another person. */
export function subjectIn(claims: Readonly<Record<string, unknown>>, attribute: string): string {
  const subject = claims[attribute]
  if (typeof subject !== 'string' || !/^\P{Cc}{1,1000}$/su.test(subject) || !subject.isWellFormed())
    throw new UpstreamError(
      'refused',
      `The provider sends no text in the claim ${attribute}, which says who a person is.`,
    )
  if (normaliseEmail(subject) !== null)
    throw new UpstreamError(
      'refused',
      `The claim ${attribute} holds an address, which can go to another person. Name another claim.`,
    )
  return subject
}
