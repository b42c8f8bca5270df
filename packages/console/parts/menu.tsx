import * as Base from 'base-ui/menu'
import type { ComponentProps, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

/** A menu below `trigger`. */
export function Menu({
  trigger,
  align = 'end',
  children,
}: {
  trigger: ComponentProps<typeof Base.Trigger>['render']
  align?: 'start' | 'end'
  children: ReactNode
}) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={6} collisionPadding={8}>
          <Base.Popup className="menu">{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

export function MenuItem({
  icon,
  danger,
  disabled,
  onClick,
  children,
}: {
  icon?: IconName
  danger?: boolean
  disabled?: boolean
  onClick: () => void
  children: ReactNode
}) {
  return (
    <Base.Item
      className="menu-item"
      data-tone={danger ? 'danger' : undefined}
      disabled={disabled}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </Base.Item>
  )
}

export const MenuLine = () => <Base.Separator className="menu-line" />
export const MenuGroup = ({ label, children }: { label: string; children: ReactNode }) => (
  <Base.Group>
    <Base.GroupLabel className="menu-label">{label}</Base.GroupLabel>
    {children}
  </Base.Group>
)
