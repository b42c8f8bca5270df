import { RefusedError } from '../../src/federation/saml/refusal.ts'
import { verifyResponse } from '../../src/federation/saml/verify-response.ts'
import { idp } from '../federation/saml/certificates.ts'
import { forgeries } from '../federation/saml/forgeries/all.ts'
import { acsUrl, entityId, idpEntityId, now, requestId } from '../federation/saml/identity-provider.ts'
import type { Attack } from './attack.ts'

export const samlForgeries: Attack = {
  name: 'saml-forgeries',
  about: 'forged responses of SAML: wrapped, doubled, altered, replayed, of others',
  async run(_stage, tally) {
    const expected = {
      ...{ entityId, acsUrl, idpEntityId, requestId, now, certificates: [idp.certificate] },
      subjectAttribute: null,
    }
    for (const { what, code, field } of forgeries) {
      const verified = await verifyResponse(field, expected).catch((error: unknown) => error)
      const is = verified instanceof RefusedError ? verified.refusal.code : 'accepted'
      tally.count(what, is === code ? null : `${is}, not ${code}`)
    }
  },
}
