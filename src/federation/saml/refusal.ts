/** Why a document of an identity provider is refused: `code` for programs, `detail` for the administrator. */
export interface Refusal {
  code: RefusalCode
  detail: string
}

export type RefusalCode =
  // The document as text, before anything of it is believed.
  | 'too_large'
  | 'not_base64'
  | 'not_utf8'
  | 'xml_malformed'
  | 'xml_document_type'
  | 'xml_comment'
  | 'xml_cdata'
  | 'xml_processing_instruction'
  | 'xml_character'
  | 'xml_too_deep'
  | 'xml_too_many_tags'
  | 'xml_foreign_element'
  // The response around the assertion.
  | 'not_a_response'
  | 'version'
  | 'status'
  | 'duplicate_id'
  | 'unexpected_element'
  | 'assertion_encrypted'
  | 'assertion_missing'
  | 'assertion_several'
  | 'assertion_misplaced'
  | 'destination'
  // Signatures.
  | 'assertion_unsigned'
  | 'signature_several'
  | 'signature_misplaced'
  | 'signature_form'
  | 'signature_algorithm'
  | 'signature_reference'
  | 'signature_invalid'
  // What the signed assertion says.
  | 'issuer'
  | 'audience'
  | 'conditions'
  | 'confirmation'
  | 'recipient'
  | 'in_response_to'
  | 'not_yet_valid'
  | 'expired'
  | 'time_malformed'
  | 'authentication_missing'
  | 'name_id'
  | 'subject'
  // The thread that reads them.
  | 'too_costly'
  // Metadata.
  | 'metadata_unreachable'
  | 'not_metadata'
  | 'metadata_expired'
  | 'entity_id'
  | 'sign_in_url'
  | 'certificate'

/** Of a document; it is not parsed when it is longer. */
export const maxBytes = 256 * 1024

/** Ends the reading of a document. Only the thread that reads it throws and catches this. */
export class RefusedError extends Error {
  readonly refusal: Refusal

  constructor(code: RefusalCode, detail: string) {
    super(`${code}: ${detail}`)
    this.refusal = { code, detail }
  }
}

export function refuse(code: RefusalCode, detail: string): never {
  throw new RefusedError(code, detail)
}

const maxShown = 200

/** A value of a document inside a sentence: in quotes, on one line, and not too long. */
export function quoted(value: string | null | undefined): string {
  if (!value) return 'nothing'
  const line = value.replaceAll(/[\s\p{C}]+/gu, ' ')
  return `"${line.length > maxShown ? `${line.slice(0, maxShown)}…` : line}"`
}
