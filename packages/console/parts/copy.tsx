import { useState } from 'react'
import { Button } from './button.tsx'
import { texts } from './texts.ts'

/** Copies a text, and says so on the button. */
export function CopyButton({ text, label = texts.copy }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <Button icon={copied ? 'check' : 'copy'} onClick={() => void copy()}>
      {copied ? texts.copied : label}
    </Button>
  )
}

/** Saves a text as a file, without asking the service for it again. */
export function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
