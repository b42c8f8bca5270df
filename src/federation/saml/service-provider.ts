import { SAML } from '@node-saml/node-saml'

/** What we are to the identity provider of one connection. */
export interface ServiceProvider {
  entityId: string
  /** Where it posts its responses. */
  acsUrl: string
}

export interface SignInRequest extends ServiceProvider {
  signInUrl: string
  /** The ID of the request; its response answers to it. */
  requestId: string
  /** Comes back beside the response. Never a URL. */
  relayState: string
  /** The person must authenticate anew there. */
  forceAuthn: boolean
  /** Without one the person is known by the NameID, which we then ask for as a persistent one. */
  subjectAttribute: string | null
}

const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'

/**
 * The URL that takes a browser to the identity provider with an unsigned request (SAML bindings §3.4). It names a format only
 * where we need it, because AD FS refuses one that no rule of its own gives.
 */
export const signInUrl = ({ entityId, acsUrl, relayState, ...request }: SignInRequest): Promise<string> =>
  new SAML({
    issuer: entityId,
    callbackUrl: acsUrl,
    entryPoint: request.signInUrl,
    generateUniqueId: () => request.requestId,
    forceAuthn: request.forceAuthn,
    identifierFormat: request.subjectAttribute === null ? persistent : null,
    disableRequestedAuthnContext: true,
    idpCert: 'none', // asked for, and not used here
  }).getAuthorizeUrlAsync(relayState, undefined, {})
