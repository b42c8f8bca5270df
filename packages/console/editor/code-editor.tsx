import { useEffect, useRef, useState } from 'react'
import type { Remark } from './appearance.ts'
import type { Complete } from './completion.ts'
import type { Editor, Language } from './create-editor.ts'
import { texts } from './texts.ts'

export type { Remark }

interface Shown {
  label: string
  text: string
  onChange: (text: string) => void
  remarks?: readonly Remark[]
  complete?: Complete
  isReadOnly?: boolean
  language?: Language
  /** Gets the way to the place of a remark. */
  onReady?: (goTo: Editor['goTo']) => void
}

/** A text of JSON or Rego. Until the editor is loaded, and if it cannot be, a plain field takes its place. */
export function CodeEditor({
  label,
  text,
  onChange,
  remarks = none,
  complete,
  isReadOnly = false,
  language = 'json',
  onReady,
}: Shown) {
  const host = useRef<HTMLDivElement>(null)
  const plain = useRef<HTMLTextAreaElement>(null)
  /** What the editor told, and did not get back yet. */
  const sent = useRef<string[]>([])
  const [editor, setEditor] = useState<Editor | null>(null)
  const latest = useRef({ text, onChange, complete, onReady })
  latest.current = { text, onChange, complete, onReady }
  useEffect(() => {
    let made: Editor | null = null
    let isGone = false
    const make = async () => {
      const { createEditor } = await import('./create-editor.ts')
      if (isGone || !host.current) return
      const shadow = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' })
      made = createEditor({
        shadow,
        doc: latest.current.text,
        label,
        listLabel: texts.suggestions,
        isReadOnly,
        language,
        onChange: (next) => {
          sent.current.push(next)
          latest.current.onChange(next)
        },
        complete: () => latest.current.complete,
      })
      host.current.hidden = false // an element that is hidden cannot be focused
      if (plain.current && document.activeElement === plain.current) made.takeOver(plain.current)
      if (plain.current) plain.current.hidden = true
      setEditor(made)
      latest.current.onReady?.(made.goTo)
    }
    void make().catch(() => undefined) // the plain field stays
    return () => {
      isGone = true
      made?.destroy()
      setEditor(null)
    }
  }, [label, isReadOnly, language])
  useEffect(() => {
    // A text that comes back late must not replace what was typed since.
    const at = sent.current.lastIndexOf(text)
    sent.current.splice(0, at < 0 ? Number.POSITIVE_INFINITY : at)
    if (at < 0) editor?.setText(text)
  }, [editor, text])
  useEffect(() => editor?.setRemarks(remarks), [editor, remarks])
  return (
    <div className="code">
      {!editor && (
        <textarea
          ref={plain}
          className="code-plain"
          aria-label={label}
          spellCheck={false}
          readOnly={isReadOnly}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      <div ref={host} className="code-host" hidden={!editor} />
    </div>
  )
}

const none: readonly Remark[] = []
