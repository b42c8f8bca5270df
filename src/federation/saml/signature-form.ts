import { quoted, refuse } from './refusal.ts'
import { childrenOf, is, nameOf, namespace, type XmlElement } from './xml.ts'

const algorithms = {
  CanonicalizationMethod: ['http://www.w3.org/2001/10/xml-exc-c14n#'],
  SignatureMethod: [
    'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
    'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  ],
  DigestMethod: ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'],
}

const transforms = [
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
]

/**
 * Checks that a signature has the one form that SAML gives it (core §5.4): one reference to the element around it, two
 * transforms, no `Object`, and algorithms that are not broken. What verifies the signature finds its parts by name, at any
 * depth, so there must be one of each. Throws `RefusedError`.
 */
export function checkSignatureForm(signature: XmlElement): void {
  const [signedInfo] = partsOf(signature, ['SignedInfo', 'SignatureValue'], ['KeyInfo'])
  const [canonicalization, method, reference] = partsOf(signedInfo!, [
    'CanonicalizationMethod',
    'SignatureMethod',
    'Reference',
  ])
  const [steps, digest] = partsOf(reference!, ['Transforms', 'DigestMethod', 'DigestValue'])
  for (const one of [canonicalization!, method!, digest!]) checkAlgorithm(one)
  checkTransforms(steps!)
  const id = signature.parentNode!.getAttribute('ID')
  if (id === '' || reference!.getAttribute('URI') !== `#${id}`)
    refuse(
      'signature_reference',
      `A signature must refer to the element that contains it, ${quoted(id)}, and refers to ${quoted(reference!.getAttribute('URI'))}.`,
    )
}

/** The children of a part of a signature, which must be these. */
function partsOf(
  element: XmlElement,
  names: readonly string[],
  optional: readonly string[] = [],
): XmlElement[] {
  const parts = childrenOf(element)
  const allowed = [...names, ...optional]
  const fits = parts.every((part, at) => is(part, namespace.signature, allowed[at] ?? ''))
  if (!fits || parts.length < names.length)
    refuse(
      'signature_form',
      `${nameOf(element)} of a signature must contain ${names.join(', ')}, and contains ${parts.map(nameOf).join(', ') || 'nothing'}.`,
    )
  return parts
}

function checkAlgorithm(element: XmlElement): void {
  const algorithm = element.getAttribute('Algorithm')
  const allowed = algorithms[element.localName as keyof typeof algorithms]
  if (childrenOf(element).length > 0)
    refuse('signature_form', `${element.localName} of a signature must have no parameters.`)
  if (allowed.includes(algorithm)) return
  const advice = /sha1$/.test(algorithm)
    ? 'SHA-1 is broken. Choose SHA-256 at the identity provider'
    : `Choose one of ${allowed.join(', ')} at the identity provider`
  refuse('signature_algorithm', `The signature uses ${quoted(algorithm)} as ${element.localName}. ${advice}.`)
}

function checkTransforms(steps: XmlElement): void {
  const found = childrenOf(steps)
  const names = found.map((step) => step.getAttribute('Algorithm'))
  const isPlain = found.every((step, at) =>
    childrenOf(step).every((child) => at === 1 && is(child, namespace.exclusive, 'InclusiveNamespaces')),
  )
  if (
    !isPlain ||
    names.length !== transforms.length ||
    !found.every((step, at) => is(step, namespace.signature, 'Transform') && names[at] === transforms[at])
  )
    refuse(
      'signature_algorithm',
      `A signature must have the transforms ${transforms.join(' and ')}, and has ${names.map(quoted).join(', ') || 'none'}.`,
    )
}
