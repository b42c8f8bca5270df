import { z } from 'zod'

// Who a person is at a provider must not change hands. An address goes to the next employee of that name, and a name or a telephone
// number is what people edit: then the identity of one person would become that of another (nOAuth).

const changing = [
  /e-?mail/,
  /^upn$/,
  /principal_?name$/,
  /^(preferred|unique|user|given|family|middle|first|last|display|common|full|nick|sam_?account)?_?(user)?_?name$/,
  /^(login|nickname|alias|proxy_?addresses|phone(_?number)?|mobile|telephone(_?number)?|cn|sn|uid|mail)$/,
]

/** The last part of the URI of an attribute: `emailaddress` of `http://schemas.xmlsoap.org/…/claims/emailaddress`. */
const shortNameOf = (name: string) => name.toLowerCase().split(/[/:#]/).at(-1)!.replaceAll('-', '_')

const saysWho = (name: string) => !changing.some((pattern) => pattern.test(shortNameOf(name)))

/** The claim or attribute whose value says who a person is. 400 for one that holds an address, or what people edit. */
export const subjectAttribute = z
  .string('Give the name of a claim as text.')
  .trim()
  .min(1, 'Give the name of a claim, such as sub.')
  .max(200, 'The name of a claim can have at most 200 characters.')
  .refine(
    saysWho,
    'The value of this claim can go to another person. Name one that never does, such as sub or oid.',
  )
  .meta({ description: 'The claim that says who a person is there, for good', example: 'sub' })
