import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { prefix } from '../api/client.ts'
import { Avatar, nameOf } from '../parts/avatar.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Menu, MenuGroup, MenuItem, MenuLine } from '../parts/menu.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { signOut, useProfile } from '../session/session.ts'
import { type Density, setAppearance, type Theme, useAppearance } from './appearance.ts'
import { texts } from './texts.ts'

const themeIcons: Record<Theme, IconName> = { system: 'screen', light: 'sun', dark: 'moon' }

/** The person who is signed in: appearance, documentation, sign-out. */
export function AccountMenu() {
  const profile = useProfile()
  const client = useQueryClient()
  const navigate = useNavigate()
  const { theme, density } = useAppearance()
  const name = nameOf(profile)
  return (
    <Menu
      align="start"
      trigger={
        <button type="button" className="switcher">
          <Avatar name={name || profile.email} of={profile.email} />
          <span className="names">
            <bdi>{name || profile.email}</bdi>
            {name && <bdi>{profile.email}</bdi>}
          </span>
          <Icon name="dots" />
        </button>
      }
    >
      <MenuItem icon="person" onClick={() => void navigate({ to: '/account' })}>
        {texts.account}
      </MenuItem>
      <MenuItem icon="scroll" onClick={() => void window.open(`${prefix}/docs`, '_blank', 'noopener')}>
        {texts.documentation}
      </MenuItem>
      <MenuLine />
      <MenuGroup label={texts.theme}>
        {(Object.keys(texts.themes) as Theme[]).map((one) => (
          <MenuItem key={one} icon={themeIcons[one]} onClick={() => setAppearance({ theme: one })}>
            <span className="grow">{texts.themes[one]}</span>
            {one === theme && <Icon name="check" />}
          </MenuItem>
        ))}
      </MenuGroup>
      <MenuGroup label={texts.density}>
        {(Object.keys(texts.densities) as Density[]).map((one) => (
          <MenuItem key={one} icon="menu" onClick={() => setAppearance({ density: one })}>
            <span className="grow">{texts.densities[one]}</span>
            {one === density && <Icon name="check" />}
          </MenuItem>
        ))}
      </MenuGroup>
      <MenuLine />
      <MenuItem icon="logout" onClick={() => void signOut(client).catch(sayFault)}>
        {texts.signOut}
      </MenuItem>
    </Menu>
  )
}
