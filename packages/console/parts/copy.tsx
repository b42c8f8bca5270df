import { useState } from 'react'
import { Button } from './button.tsx'
import { texts } from './texts.ts'

/** Copies a text, and says so on the button. With `of`, which names the text, the button is an icon. */
export function CopyButton({ text, label = texts.copy, of }: { text: string; label?: string; of?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <Button
      icon={copied ? 'check' : 'copy'}
      {...(of && { kind: 'quiet', 'aria-label': `${copied ? texts.copied : label} ${of}` })}
      onClick={() => void copy()}
    >
      {!of && (copied ? texts.copied : label)}
    </Button>
  )
}

/** A text to copy; `of` names it. */
export const CopyValue = ({ text, of }: { text: string; of: string }) => (
  <span className="value">
    <code>{text}</code>
    <CopyButton text={text} of={of} />
  </span>
)

/** Saves a text as a file, without asking the service for it again. */
export function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
