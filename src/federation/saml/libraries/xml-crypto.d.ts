interface Node {
  parentNode: Node
  getElementsByTagNameNS(uri: string, name: string): { item(at: number): Node | null }
  removeChild(child: Node): void
}

/** Only tests sign. */
export class SignedXml {
  constructor(options: {
    privateKey: string
    publicCert: string
    signatureAlgorithm: string
    canonicalizationAlgorithm: string
  })
  addReference(reference: {
    xpath: string
    transforms: string[]
    digestAlgorithm: string
    inclusiveNamespacesPrefixList: string[]
  }): void
  computeSignature(
    xml: string,
    options: { prefix?: string; location: { reference: string; action: 'after' } },
  ): void
  getSignedXml(): string
  protected calculateSignatureValue(doc: unknown): void
  protected signatureNode: Node
}
