import { EditorView } from '@codemirror/view'

const note = {
  padding: '0.125rem 0.75rem 0.1875rem',
  whiteSpace: 'pre-wrap',
  font: 'var(--text-s)/1.5 var(--font)',
}

/** The colours of the console: custom properties reach into the shadow root. */
export const theme = EditorView.theme({
  '&': { color: 'var(--text)', font: 'var(--text-s)/1.65 var(--mono)', height: '100%' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { font: 'inherit', overflow: 'auto' },
  '.cm-content': { padding: '0.625rem 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 0.75rem 0 0.375rem' },
  '.cm-gutters': { background: 'none', border: '0', color: 'var(--muted)', paddingLeft: '0.375rem' },
  '.cm-lineNumbers .cm-gutterElement': { fontSize: '0.6875rem', lineHeight: '1.95', minWidth: '1.5rem' },
  '::selection': { background: 'color-mix(in oklch, var(--ring) 30%, transparent)' },
  '.cm-specialChar': { color: 'var(--danger)' },
  '.marked': { textDecoration: 'underline wavy 1px', textUnderlineOffset: '0.25em' },
  '.marked.fault': { textDecorationColor: 'var(--danger)' },
  '.marked.warning': { textDecorationColor: 'var(--warn-ink)' },
  '.remark': note,
  '.remark.fault': { background: 'var(--danger-soft)', color: 'var(--danger-ink)' },
  '.remark.warning': { background: 'var(--warn-soft)', color: 'var(--warn-ink)' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    background: 'var(--surface)',
    boxShadow: 'var(--shadow-2)',
    zIndex: '30',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    maxHeight: '14rem',
    minWidth: '12rem',
    maxWidth: 'min(30rem, 90vw)',
    padding: '0.25rem',
    fontFamily: 'inherit',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[role=option]': {
    display: 'flex',
    gap: '1rem',
    justifyContent: 'space-between',
    padding: '0.1875rem 0.5rem',
    borderRadius: 'var(--radius-s)',
    lineHeight: '1.65',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[role=option][aria-selected]': {
    background: 'var(--accent-soft)',
    color: 'var(--accent-ink)',
  },
  '.cm-completionLabel': { overflow: 'hidden', textOverflow: 'ellipsis' },
  '.cm-completionMatchedText': { fontWeight: '600', textDecoration: 'none' },
  '.cm-completionDetail': {
    flex: 'none',
    marginLeft: '0',
    color: 'var(--muted)',
    font: 'var(--text-xs)/1.9 var(--font)',
  },
})
