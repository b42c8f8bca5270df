import type { IconName } from '../parts/icon.tsx'
import { texts } from './texts.ts'

interface AreaLink {
  to: string
  label: string
  icon: IconName
  /** The permission without which the page would be empty. */
  needs?: string
  /** Only the person themselves may see the page, not one who acts as them. */
  own?: boolean
}

/** The navigation, in order. */
export const areas: { title: string; links: AreaLink[] }[] = [
  {
    title: texts.nav.organisation,
    links: [
      { to: '/', label: texts.nav.overview, icon: 'home', needs: 'audit:list' },
      { to: '/organisation', label: texts.nav.settings, icon: 'building', needs: 'tenant:update' },
      { to: '/connections', label: texts.nav.connections, icon: 'link', needs: 'connection:list' },
      { to: '/directory', label: texts.nav.directory, icon: 'people', needs: 'directory:read' },
      { to: '/domains', label: texts.nav.domains, icon: 'globe', needs: 'domain:list' },
    ],
  },
  {
    title: texts.nav.people,
    links: [
      { to: '/members', label: texts.nav.members, icon: 'people', needs: 'member:list' },
      { to: '/invitations', label: texts.nav.invitations, icon: 'mail', needs: 'invitation:list' },
      { to: '/roles', label: texts.nav.roles, icon: 'badge', needs: 'role:list' },
      { to: '/departments', label: texts.nav.departments, icon: 'tree', needs: 'department:list' },
    ],
  },
  {
    title: texts.nav.rules,
    links: [
      { to: '/policies', label: texts.nav.policies, icon: 'rules', needs: 'policy:list' },
      { to: '/playground', label: texts.nav.playground, icon: 'play', needs: 'policy:test' },
      { to: '/attributes', label: texts.nav.attributes, icon: 'tag', needs: 'attribute_definition:list' },
      { to: '/access', label: texts.nav.access, icon: 'lock', needs: 'access:evaluate' },
    ],
  },
  {
    title: texts.nav.oversight,
    links: [
      { to: '/approvals', label: texts.nav.approvals, icon: 'approve' },
      { to: '/decisions', label: texts.nav.decisions, icon: 'question' },
      { to: '/audit', label: texts.nav.audit, icon: 'scroll', needs: 'audit:list' },
    ],
  },
  {
    title: texts.nav.integrations,
    links: [
      { to: '/applications', label: texts.nav.applications, icon: 'grid', needs: 'oauth_client:list' },
      { to: '/service-accounts', label: texts.nav.accounts, icon: 'robot', needs: 'service_account:list' },
      { to: '/webhooks', label: texts.nav.webhooks, icon: 'send', needs: 'webhook:list' },
      { to: '/events', label: texts.nav.events, icon: 'pulse', needs: 'event:list' },
    ],
  },
  {
    title: texts.nav.account,
    links: [
      { to: '/account', label: texts.nav.profile, icon: 'person' },
      { to: '/account/security', label: texts.nav.security, icon: 'shield', own: true },
      { to: '/account/keys', label: texts.nav.keys, icon: 'key', own: true },
      { to: '/account/sessions', label: texts.nav.sessions, icon: 'laptop', own: true },
    ],
  },
]
