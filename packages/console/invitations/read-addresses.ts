/** The addresses in a pasted text, each once, and what is none. */
export function readAddresses(text: string): { emails: string[]; wrong: string[] } {
  const parts = text
    .split(/[\s,;]+/)
    .map((part) => part.replace(/^["'<]+|[>"']+$/g, ''))
    .filter((part) => part !== '')
  const unique = [...new Map(parts.map((part) => [part.toLowerCase(), part])).values()]
  const isAddress = (part: string) => /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(part)
  return { emails: unique.filter(isAddress), wrong: unique.filter((part) => !isAddress(part)) }
}
