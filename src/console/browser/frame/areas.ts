import type { IconName } from '../parts/icon.tsx'
import { texts } from './texts.ts'

interface AreaLink {
  to: string
  label: string
  icon: IconName
  /** The permission without which the page would be empty. */
  needs?: string
}

/** The navigation, in order. */
export const areas: { title: string; links: AreaLink[] }[] = [
  {
    title: texts.nav.account,
    links: [
      { to: '/account', label: 'Profile', icon: 'person' },
      { to: '/account/security', label: 'Security', icon: 'shield' },
      { to: '/account/sessions', label: 'Sessions', icon: 'laptop' },
    ],
  },
]
