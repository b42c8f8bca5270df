/** The sender, parsed once at start. */
export interface Sender {
  name: string
  address: string
}

/** Parses `Name <address>` or a bare address. The configuration has validated it. */
export function senderOf(from: string): Sender {
  const parts = /^\s*"?([^"<]*?)"?\s*<([^<>]+)>$/.exec(from)
  return { name: parts?.[1] ?? '', address: (parts?.[2] ?? from).trim() }
}

/** The same Message-ID each time a mail is sent (RFC 5322 §3.6.4), so that mail servers recognise a repetition. */
export const messageIdOf = (mailId: string, { address }: Sender) => `<${mailId}@${address.split('@').at(-1)}>`

/** Tells vacation responders not to answer (RFC 3834 §5). */
export const automatic = { 'Auto-Submitted': 'auto-generated' }
