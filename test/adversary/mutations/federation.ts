// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { Mutation } from '../mutation.ts'

const settle = 'src/federation/settle.ts'
const join = 'src/federation/join-by-connection.ts'
const form = 'src/federation/saml/response-form.ts'
const signature = 'src/federation/saml/signature-form.ts'

/** Mistakes in sign-ins with other providers. */
export const federationMutations: readonly Mutation[] = [
  {
    what: 'a provider replaces who is signed in without asking',
    attacks: ['linking'],
    file: settle,
    find: 'if (hereId !== null && hereId !== account?.id)',
    replace: 'if (hereId === account?.id)',
  },
  {
    what: 'each provider proves addresses',
    attacks: ['linking'],
    file: settle,
    find: 'if (email === null || !isAuthority)',
    replace: 'if (email === null)',
  },
  {
    what: 'an account that never proved the address is linked as it is',
    attacks: ['linking'],
    file: settle,
    find: '!isOwn && locked.email_verified_at === null && (await proveByMailbox(tx, proof))?.isFirst === true',
    replace: 'false',
  },
  {
    what: 'suspended members sign in by a connection',
    attacks: ['linking'],
    file: join,
    find: `    if (membership.membership_status !== 'active') throw signInRefused(noMember)
`,
    replace: '',
  },
  {
    what: 'who may do more than the activator is linked before the sign-in refuses them',
    attacks: ['linking'],
    file: join,
    find: `    orThrow(await checkWay(deps, tx, entering))
`,
    replace: `    void orThrow
    void checkWay
    void entering
`,
  },
  {
    what: 'a borrowed domain names accounts that did not prove the address',
    attacks: ['linking'],
    file: join,
    find: "!known && voucher === 'borrower' && account?.email_verified_at === null",
    replace: "!known && voucher === 'borrower' && account?.email === null",
  },
  {
    what: 'a connection names people at every address',
    attacks: ['linking', 'hostile-provider'],
    file: join,
    find: 'voucher && (await findUserByEmail(tx, email!))',
    replace: 'email && (await findUserByEmail(tx, email))',
  },
  {
    what: 'people join by a connection that brings none',
    attacks: ['linking'],
    file: join,
    find: "jit === 'verified_domains' && tenant_status",
    replace: 'jit && tenant_status',
  },
  {
    what: 'people of other domains join by a connection',
    attacks: ['linking'],
    file: join,
    find: `  if (voucher === null)
    return`,
    replace: `  if (voucher === null && !email)
    return`,
  },
  {
    what: 'the subject of a provider can be any text',
    attacks: ['hostile-provider'],
    file: 'src/federation/subject-in.ts',
    find: '!/^\\P{Cc}{1,1000}$/su.test(subject)',
    replace: "subject === ''",
  },
  {
    what: 'a response can have a second assertion',
    attacks: ['saml-forgeries'],
    file: form,
    find: `  if (second) refuse('assertion_several', 'The response contains more than one assertion.')
`,
    replace: `  void second
`,
  },
  {
    what: 'an assertion can be anywhere in a response',
    attacks: ['saml-forgeries'],
    file: form,
    find: 'if (assertion.parentNode !== root ||',
    replace: 'if (',
  },
  {
    what: 'an id can be there twice',
    attacks: ['saml-forgeries'],
    file: form,
    find: 'if (seen.has(value)) refuse',
    replace: "if (value === '' && seen.has(value)) refuse",
  },
  {
    what: 'a signed response is enough',
    attacks: ['saml-forgeries'],
    file: form,
    find: 'if (ofAssertion.length === 0)',
    replace: 'if (all.length === 0)',
  },
  {
    what: 'a signature can be anywhere',
    attacks: ['saml-forgeries'],
    file: form,
    find: 'if (ofAssertion.length + ofResponse.length !== all.length)',
    replace: 'if (all.length > 2)',
  },
  {
    what: 'unknown elements can be in a response',
    attacks: ['saml-forgeries'],
    file: form,
    find: '  if (rest) refuse',
    replace: '  if (rest && !foreign && !rest) refuse',
  },
  {
    what: 'a response for another address is read',
    attacks: ['saml-forgeries'],
    file: form,
    find: 'if (destination !== acsUrl)',
    replace: "if (destination === '')",
  },
  {
    what: 'a response of another identity provider is read',
    attacks: ['saml-forgeries'],
    file: form,
    find: 'if (issuer.textContent !== idpEntityId)',
    replace: "if (idpEntityId === '')",
  },
  {
    what: 'a failure of the identity provider signs in',
    attacks: ['saml-forgeries'],
    file: form,
    find: "codes.length === 1 && codes[0]!.getAttribute('Value') === success",
    replace: 'codes.length > 0 && success',
  },
  {
    what: 'a signature can refer to another element',
    attacks: ['saml-forgeries'],
    file: signature,
    find: "if (id === '' || reference!.getAttribute('URI') !== `#${id}`)",
    replace: "if (id === '' || reference!.getAttribute('URI') === '')",
  },
  {
    what: 'every algorithm signs',
    attacks: ['saml-forgeries'],
    file: signature,
    find: 'if (allowed.includes(algorithm)) return',
    replace: 'if (allowed.length > 0) return',
  },
  {
    what: 'every transform is followed',
    attacks: ['saml-forgeries'],
    file: signature,
    find: '    !isPlain ||\n    names.length !== transforms.length ||',
    replace: '    names.length > 20 ||',
  },
]
