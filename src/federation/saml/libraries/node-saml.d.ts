export interface ServiceProviderOptions {
  issuer: string
  callbackUrl: string
  identifierFormat?: string | null
  wantAssertionsSigned?: boolean
  generateUniqueId?: () => string
}

export interface SamlOptions extends ServiceProviderOptions {
  /** PEM. */
  idpCert: string | string[]
  entryPoint?: string
  forceAuthn?: boolean
  disableRequestedAuthnContext?: boolean
  wantAuthnResponseSigned?: boolean
}

export interface Validated {
  profile: { getAssertionXml(): string } | null
}

export class SAML {
  constructor(options: SamlOptions)
  getAuthorizeUrlAsync(relayState: string, host: string | undefined, options: object): Promise<string>
  /** Rejects unless the assertion, and the response if that is asked for, has a valid signature. */
  validatePostResponseAsync(form: { SAMLResponse: string }): Promise<Validated>
  /** `xml` is the assertion, from the bytes that were signed. */
  protected processValidlySignedAssertionAsync(xml: string): Promise<Validated>
}

export function generateServiceProviderMetadata(options: ServiceProviderOptions): string
