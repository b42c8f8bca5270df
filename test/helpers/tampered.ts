/** The token with another first character, which its seal or signature must notice. */
export const tampered = (token: string): string => (token.startsWith('A') ? 'B' : 'A') + token.slice(1)
