import { withContrast } from '../../text/contrast.ts'

/** In whose name a mail or a page is. */
export interface Brand {
  name: string
  /** Its address, and the size of the image in pixels; null shows the name. */
  logo: { url: string; width: number; height: number } | null
  /** The colour of buttons, `#rrggbb`, with a contrast of 4.5 to 1 or more against white. */
  accent: string
  /** Where the reader finds more. */
  links: readonly { to: 'terms' | 'privacy' | 'support'; url: string }[]
}

/** The accent of the console, where there is no other. */
export const serviceAccent = '#006561'

/** The accent in the dark, where it stands on #12181b and has dark text. */
export const accentInDark = (accent: string): string =>
  withContrast(accent, { ground: '#12181b', min: 6.5, become: 'lighter' })

/** The size in which a logo is shown: as high as `height`, unless it is too wide for that. */
export function shownSize(
  { width, height }: { width: number; height: number },
  most: { width: number; height: number },
) {
  const scale = Math.min(most.height / height, most.width / width)
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}
