import type { XmlElement } from '../xml.ts'

// The types of these libraries bring those of browsers into every file of the project. tsconfig.json names these instead:
// the part that is used.

export class DOMParser {
  constructor(options: {
    errorHandler: Record<'warning' | 'error' | 'fatalError', (message: string) => void>
  })
  parseFromString(source: string, mimeType: string): { documentElement: XmlElement | null }
}
